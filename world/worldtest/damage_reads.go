// All that reads what is damaged, and what it may say.

package worldtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stepwell/stepwell/internal/spread"
	"github.com/stepwell/stepwell/world"
)

// limitsWithDamage uses limits. What is damaged of one holds up its own runs at most.
func (r *rig) limitsWithDamage() {
	r.Helper()
	fine := func(err error, what string) {
		r.Helper()
		if err != nil && !errors.Is(err, world.ErrNotFound) {
			r.Errorf("%s: %v", what, err)
		}
	}
	l := &limiting{r, r.w.Limits()}
	_, err := l.l.ListLimits(r.ctx)
	fine(err, "limits")
	_, err = l.l.ListLimitKeys(r.ctx, "damaged", "", 10)
	fine(err, "keys of a limit")
	k := r.worker("limited", "unlimited")
	two := 2
	fine(l.l.SetLimit(r.ctx, "damaged", &two), "a limit that is set")
	claimed := func(id string) (found bool) {
		r.Helper()
		for _, c := range k.claim(10, 0).Runs {
			_, err := l.l.InLine(r.ctx, c.Run, "")
			fine(err, "a place in line")
			(&session{worker: k, run: c.Run, claimed: c.Claim, seq: c.Seq}).end()
			found = found || c.Run == id
		}
		for _, t := range k.claim(0, 10).Tasks {
			_, err := l.l.InLine(r.ctx, t.Run, t.Step)
			fine(err, "a place in line of a task")
			_, _ = r.w.Deliver(r.ctx, k.taskEnd(t, []byte(`1`)))
		}
		return found
	}
	for range 8 {
		claimed("")
	}
	id := r.createRun("unlimited", under("undamaged:1"))
	r.until("a run of another limit", func() bool { return claimed(id) }) // others may be late, and come with it
}

// startsWithDamage uses what keeps runs from beginning.
func (r *rig) startsWithDamage() {
	r.Helper()
	s := r.w.Starts()
	_, err := s.Holds(r.ctx)
	r.must(err, "what is held")
	_, err = s.Settle(r.ctx)
	r.must(err, "settle")
	for range 2 {
		due, err := s.Lapsing(r.ctx)
		r.must(err, "what lapses")
		if due.Next < 0 {
			r.Errorf("the next one lapses after %s", due.Next)
		}
	}
	r.must(s.Release(r.ctx, "held"), "release")
}

// gathersWithDamage starts what gathers, by a key whose row may be damaged, and by one that is left alone.
func (r *rig) gathersWithDamage() {
	r.Helper()
	for _, workflow := range []string{"victim", "undamaged"} {
		named := func(b *world.Birth) { b.Workflow = workflow }
		for _, text := range []string{`1`, `2`} {
			c := start(debounced, text, named)
			done, err := r.w.Commit(r.ctx, c)
			if err == nil && done.Gathering {
				_, err = r.w.Deliver(r.ctx, input(done.Existing, c))
			}
			if err != nil && (workflow == "undamaged" || !told(err)) {
				r.Errorf("a start of workflow %s that gathers: %v", workflow, err)
			}
			if workflow == "undamaged" && done.Gathering != (text == `2`) {
				r.Errorf("start %s of what gathers: %+v", text, done)
			}
		}
	}
}

// topicsWithDamage spreads what is due. Whatever is damaged of one topic, the others' goes out.
func (r *rig) topicsWithDamage(name func(string, error)) {
	r.Helper()
	topics := r.w.Topics()
	all, err := topics.Subscriptions(r.ctx)
	r.must(err, "subscriptions")
	for _, s := range all {
		name(s.Damage, nil)
	}
	page, err := topics.Publications(r.ctx, world.PublicationQuery{})
	r.must(err, "publications")
	for _, p := range page.Publications {
		name(p.Damage, nil)
	}
	ctx, cancel := context.WithTimeout(r.ctx, patience)
	defer cancel()
	_, err = spread.Of(r.w).All(ctx)
	r.must(err, "spread")
	got, err := r.w.Messages().PeekMessages(r.ctx, world.PeekQuery{Queue: "good", State: world.MessageReady})
	r.must(err, "peek")
	if !slices.Contains(textsOf(got.Messages), "due") {
		r.Errorf("what was published under a topic that is left alone did not go out: %q", textsOf(got.Messages))
	}
	sent, err := topics.Publish(r.ctx, []world.Publication{{Topic: "good", Payload: quoted("new"), Dedupe: "new"}, {Topic: "victim", Payload: quoted("new"), Dedupe: "due"}})
	if r.must(err, "publish"); sent[0].Duplicate {
		r.Errorf("published anew: %+v", sent)
	}
}

// queuesWithDamage uses all queues of the scene. Those of one run may be damaged: the others are as they were.
func (r *rig) queuesWithDamage(name func(string, error)) {
	r.Helper()
	q := r.w.Messages()
	fine := func(queue, what string, err error) {
		r.Helper()
		if name("", err); err != nil && (queue == "good" || !told(err)) {
			r.Errorf("%s of queue %s: %v", what, queue, err)
		}
	}
	_, err := q.Queues(r.ctx)
	fine("good", "what is told", err)
	for _, queue := range []string{"good", "victim", "over"} {
		for _, state := range []world.MessageState{"", world.MessageDead} {
			page, err := q.PeekMessages(r.ctx, world.PeekQuery{Queue: queue, State: state})
			fine(queue, "a look", err)
			for _, m := range page.Messages {
				name(m.Damage, nil)
			}
		}
		got, err := q.ReceiveMessages(r.ctx, world.ReceiveQuery{Queue: queue, Limit: 10})
		fine(queue, "a receive", err)
		if queue == "good" {
			r.same(slices.DeleteFunc(textsOf(got.Messages), func(text string) bool { return text == "due" }), []string{"free 1", "free 2"}, "messages of a queue that is left alone")
		}
		for _, m := range got.Messages {
			name(m.Damage, nil)
			_, err := q.SettleMessages(r.ctx, []world.Settlement{{Receipt: m.Receipt, Kind: world.Ack}})
			fine(queue, "an end", err)
		}
		_, err = q.SendMessages(r.ctx, []world.Message{{Queue: queue, Payload: quoted("new"), Group: "g", Dedupe: "new"}})
		fine(queue, "a send", err)
		_, _, err = q.RedriveMessages(r.ctx, queue)
		fine(queue, "a redrive", err)
		_, _, err = q.PurgeMessages(r.ctx, queue, false)
		fine(queue, "a purge", err)
	}
}

// damaged looks at a world of which one run is damaged: nothing panics, and all that is not of that run is as it was.
func (r *rig) damaged(k *worker, ids damageIDs, run string, must bool) {
	r.Helper()
	page, err := r.w.Runs(r.ctx, world.RunQuery{})
	r.must(err, "runs")
	if _, err := json.Marshal(page); err != nil {
		r.Fatalf("runs as JSON: %v", err)
	}
	found := false
	name := func(damage string, err error) {
		found = found || damage != "" || errors.Is(err, world.ErrCorrupt)
	}
	for _, other := range []string{ids.victim, ids.over, ids.good} {
		if other != run && !slices.ContainsFunc(page.Runs, func(row world.Run) bool { return row.ID == other }) {
			r.Errorf("run %s is not listed", other)
		}
	}
	for i := range page.Runs {
		id := page.Runs[i].ID
		name(page.Runs[i].Damage, nil)
		fine := func(err error, what string) {
			name("", err)
			if err != nil && (id == ids.good || !errors.Is(err, world.ErrCorrupt) && !errors.Is(err, world.ErrFormat) && !errors.Is(err, world.ErrNotFound)) {
				r.Errorf("%s of run %s: %v", what, id, err)
			}
		}
		row, err := r.w.Run(r.ctx, id)
		fine(err, "the row")
		name(row.Damage, nil)
		_, err = r.w.Events(r.ctx, id, world.EventQuery{})
		fine(err, "events")
		value := map[string]string{ids.good: ids.goodValue, ids.victim: ids.value}[id]
		_, err = r.w.Values().Piece(r.ctx, id, value, 0)
		fine(err, "a value apart")
		_, err = r.w.Chunks(r.ctx, id, "s", world.ChunkQuery{})
		fine(err, "chunks")
		_, err = r.w.StreamsOf(r.ctx, id)
		fine(err, "streams")
		tasks, err := r.w.Tasks(r.ctx, id)
		fine(err, "tasks")
		for i := range tasks {
			name(tasks[i].Damage, nil)
		}
	}
	v, err := world.Verify(r.ctx, r.w, world.VerifyQuery{})
	r.must(err, "verify")
	found = found || len(v.Damaged) > 0
	r.listsWithDamage(ids, run)
	r.limitsWithDamage()
	r.startsWithDamage()
	r.gathersWithDamage()
	r.topicsWithDamage(name)
	r.schedulesWithDamage(name)
	r.queuesWithDamage(name)
	for _, q := range []world.HookQuery{{}, {Run: ids.victim}, {Token: "token"}, {Token: "token_2", Ended: true}} {
		_, err = r.w.Hooks(r.ctx, q)
		r.must(err, "hooks")
	}
	_, err = r.w.BindKey(r.ctx, "key", []byte("print"))
	r.must(err, "bind a key")
	// A start neither fails nor panics for a damaged definition: it is as if nobody had said it.
	_, err = r.w.Defined(r.ctx, []string{"defined", "other"})
	r.must(err, "what is defined")
	_, err = r.w.Schemas(r.ctx, world.Class{Workflow: "defined", Version: 2})
	r.must(err, "schemas")
	r.must(r.w.Define(r.ctx, []world.Definition{{Class: world.Class{Workflow: "defined", Version: 2}, Said: world.Said{Retention: time.Hour}}}), "define again")
	_, _, err = r.w.LimitRetention(r.ctx, 0, false)
	r.must(err, "the limit of retention")
	_, err = r.w.Metrics(r.ctx)
	r.must(err, "metrics")
	if err := r.w.KeepMetrics(r.ctx, counted("damaged", 2, "[]")); err != nil && !errors.Is(err, world.ErrConflict) {
		r.Errorf("keep metrics: %v", err)
	}
	r.deliver(signal(ids.good, "to-good", "a"))
	for _, d := range []*world.Delivery{signal(run, "", "a"), signal(run, "again", "b"), {Token: "token", Events: []world.Event{{Type: world.HookReceived, Payload: jsonText(`1`)}}}} {
		if _, err := r.w.Deliver(r.ctx, d); err != nil && !told(err) {
			r.Errorf("a delivery to run %s%s: %v", d.Run, d.Token, err)
		}
	}
	stats, err := r.w.Stats(r.ctx)
	r.must(err, "stats")
	if _, err := json.Marshal(stats); err != nil {
		r.Errorf("stats as JSON: %v", err)
	}
	_, err = r.w.Ready(r.ctx, world.ReadyQuery{Classes: k.classes, Steps: k.steps})
	r.must(err, "what is ready")
	if d := r.able.Doctor; d != nil {
		_, err := world.Findings(r.ctx, d)
		r.must(err, "examine")
	}
	if _, err := r.w.Sweep(r.ctx, 100); err != nil {
		r.Errorf("sweep: %v", err)
	}
	r.claimDamaged(k, ids, name)
	if must && !found {
		r.Errorf("nobody names the damage")
	}
	// What an operator can do. It may find nobody, or one who is over; it neither hangs nor panics.
	_, err = r.w.Deliver(r.ctx, &world.Delivery{Run: run, Act: true, Events: []world.Event{{Type: world.RunCancelled, By: "operator"}}})
	if err != nil && !errors.Is(err, world.ErrNotFound) && !errors.Is(err, world.ErrTerminal) {
		r.Errorf("a forced cancel: %v", err)
	}
	_, err = r.w.Heartbeat(r.ctx, world.HeartbeatQuery{Worker: k.id})
	if err != nil && !errors.Is(err, world.ErrLeaseLost) {
		r.Errorf("a heartbeat: %v", err)
	}
}

// told reports whether an error is one that the rules foresee, and not that the storage failed.
func told(err error) bool {
	return errors.Is(err, world.ErrCorrupt) || errors.Is(err, world.ErrFormat) || errors.Is(err, world.ErrNotFound) || errors.Is(err, world.ErrTerminal) ||
		errors.Is(err, world.ErrConflict) || errors.Is(err, world.ErrInboxFull) || errors.Is(err, world.ErrDeliveryUsed) || errors.Is(err, world.ErrInvalid) ||
		errors.Is(err, world.ErrLeaseLost) || errors.Is(err, world.ErrNoKey)
}

// listsWithDamage lists runs by every way, page by page. No way ends at the damaged run, or goes in circles.
func (r *rig) listsWithDamage(ids damageIDs, run string) {
	r.Helper()
	live := []world.Status{world.Pending, world.Running}
	for _, way := range []struct {
		q    world.RunQuery
		want string // unless it is the damaged one
	}{
		{world.RunQuery{}, ids.good},
		{world.RunQuery{Workflow: "good"}, ids.good},
		{world.RunQuery{Workflow: "victim", Input: []json.RawMessage{jsonText(`{"in":1}`)}}, ids.victim},
		{world.RunQuery{Status: live}, ids.good},
		{world.RunQuery{Status: live, Workflow: "good"}, ids.good},
		{world.RunQuery{Status: []world.Status{world.Completed}}, ids.over},
		{world.RunQuery{Since: world.Now().Add(-time.Hour), Until: world.Now().Add(time.Hour)}, ids.good},
		{world.RunQuery{Input: []json.RawMessage{jsonText(`{"in":1}`)}}, ids.good},
		{world.RunQuery{Attributes: map[string]json.RawMessage{"city": jsonText(`"Ulm"`)}}, ids.victim},
		{world.RunQuery{Parent: "elsewhere"}, ids.victim},
		{world.RunQuery{Origin: "before"}, ids.victim},
	} {
		q, found := way.q, false
		q.Limit = 1
		for pages := 0; ; pages++ {
			page, err := r.w.Runs(r.ctx, q)
			r.must(err, fmt.Sprintf("runs %+v", q))
			found = found || slices.ContainsFunc(page.Runs, func(row world.Run) bool { return row.ID == way.want })
			if q.Cursor = page.Cursor; q.Cursor == "" {
				break
			}
			if pages > 10 {
				r.Fatalf("runs %+v: no end", q)
			}
		}
		if !found && way.want != run {
			r.Errorf("runs %+v: run %s is not listed", way.q, way.want)
		}
	}
}

// claimDamaged takes all that there is, and works on the run that is left alone.
func (r *rig) claimDamaged(k *worker, ids damageIDs, name func(string, error)) {
	r.Helper()
	good := false
	for range 3 {
		claimed, err := r.w.Claim(r.ctx, world.ClaimQuery{Worker: k.id, Classes: k.classes, Steps: k.steps, Runs: 10, Tasks: 10})
		if errors.Is(err, world.ErrLeaseLost) { // its own row is damaged
			k = r.worker("victim", "good", "over")
			continue
		}
		r.must(err, "take")
		for _, t := range claimed.Tasks {
			name(t.Damage, nil)
			_, _ = r.w.Deliver(r.ctx, k.taskEnd(t, jsonText(`1`)))
		}
		for _, t := range claimed.Runs {
			name(t.Damage, nil)
			for _, m := range t.Mail {
				name(m.Damage, nil)
			}
			if t.Run != ids.good { // whatever becomes of it
				c := (&session{worker: k, run: t.Run, claimed: t.Claim, seq: t.Seq}).next(signalEvent("more"))
				c.Mail, c.Release = rows(t.Mail), &world.Release{}
				_, _ = r.w.Commit(r.ctx, c)
				continue
			}
			good = true
			s := &session{worker: k, run: t.Run, claimed: t.Claim, seq: t.Seq}
			s.append(world.Event{Type: world.RunStarted, Time: world.Now()})
			s.end()
		}
	}
	if !good {
		r.Errorf("the run that is left alone was not given")
	}
}
