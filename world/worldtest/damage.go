// Damage: what is kept of one run is changed behind the world's back. Nothing panics, all others go on, and the run is named.

package worldtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell/internal/spread"
	"github.com/stepwell/stepwell/world"
)

// DamageStore is a world whose storage can be changed behind its back.
type DamageStore interface {
	// Open opens a world on what is kept.
	Open(t testing.TB) world.World
	// Keep notes what is there; Restore brings that back. No world is open then.
	Keep(t testing.TB)
	Restore(t testing.TB)
	// Columns lists all tables and their columns.
	Columns(t testing.TB) [][2]string
	// Spoil changes a column of the rows of a run, of those of the queue that is named as the run's workflow, or of all
	// rows of a table that is of neither. It reports whether it could: no row may be there, or the store may not allow it.
	Spoil(t testing.TB, table, column, how, run string) bool
	// Exec runs a statement on the tables, and tells how many rows it changed; Count runs one that counts.
	Exec(t testing.TB, text string) int64
	Count(t testing.TB, text string) int
	// Orphan deletes the row of a run, and leaves all that hangs on it.
	Orphan(t testing.TB, run string)
}

// Hows are the ways of [DamageStore].Spoil: a bit; what nobody would write; nothing; another type, or the least value; the largest value.
var Hows = []string{"flip", "garbage", "null", "type", "huge"}

// named are the columns of which a flipped bit must be found by whoever reads the row.
var named = map[string][]string{
	"log":    {"head", "body", "seq"},
	"inbox":  {"head", "body"},
	"tasks":  {"input", "options", "workflow"},
	"chunks": {"data"},
	"runs":   {"workflow", "priority", "parent_step", "retention_ns", "output", "output_apart", "error"},

	"apart_pieces":   {"data", "sum"},
	"messages":       {"head", "body", "sum"}, // where they stand in the row of the message
	"message_bodies": {"head", "body", "sum"},
	"publications":   {"topic", "source", "head", "body", "sum"},
	"subscriptions":  {"name", "said", "sum"},
}

// RunDamage holds a world to what is promised of damage: each column of each table that its schema has, in each way. Each is put before all that reads that
// table: lists by every way, one run, its log, streams, tasks and hooks, counts, what is ready, takes, commits, deliveries, heartbeats, the sweep and the
// doctor. Nothing panics, nothing of others fails, and a flipped bit under a checksum is named. some says which are tried; nil: all. That no column is left out is held whatever is tried:
// the scene has a value in each, or the test fails, as where a migration adds a table that the scene has no row of.
func RunDamage(t *testing.T, s DamageStore, some func(table, column, how string) bool) {
	ids := damageScene(t, s.Open(t))
	s.Exec(t, "INSERT INTO acts (run, delivery) SELECT key, 'act-0' FROM runs WHERE id = '"+ids.victim+"'") // as an earlier release did
	columns := s.Columns(t)
	if slices.Contains(columns, [2]string{"limit_line", "run"}) { // it stands there by mistake: it has no limits
		if slices.Contains(columns, [2]string{"limit_keys", "text"}) {
			s.Exec(t, "INSERT INTO limit_line SELECT k.key, 0, 0, r.key FROM limit_keys k, runs r WHERE k.text = 'key' AND r.id = '"+ids.victim+"'")
		} else {
			at := " SELECT 'damaged/key', 0, now(), r.key FROM runs r WHERE r.id = '" + ids.victim + "'"
			s.Exec(t, "INSERT INTO limit_line (key, urgency, place, run)"+at)
			s.Exec(t, "INSERT INTO limit_news (key, kind, urgency, place, run)"+strings.Replace(at, ", 0,", ", 2, 0,", 1))
			s.Exec(t, "INSERT INTO limit_keys VALUES ('damaged/key', 1)")
		}
	}
	s.Keep(t)
	if len(columns) < 80 {
		t.Fatalf("the schema has %d columns", len(columns))
	}
	tried := 0
	for _, at := range columns {
		for _, how := range Hows {
			if some != nil && !some(at[0], at[1], how) {
				continue
			}
			for _, run := range []string{ids.victim, ids.over} {
				name := fmt.Sprintf("%s.%s/%s/%s", at[0], at[1], how, map[bool]string{true: "over", false: "alive"}[run == ids.over])
				t.Run(name, func(t *testing.T) {
					s.Restore(t)
					w := s.Open(t)
					r := newRig(t, w)
					k := r.worker("victim", "good", "over")
					if !s.Spoil(t, at[0], at[1], how, run) {
						return
					}
					tried++
					r.damaged(k, ids, run, how == "flip" && slices.Contains(named[at[0]], at[1]))
				})
			}
		}
	}
	if some == nil && tried == 0 {
		t.Errorf("%d kinds of damage were tried", tried)
	}
	t.Run("every column", func(t *testing.T) {
		for _, at := range columns {
			s.Restore(t)
			if !slices.ContainsFunc(Hows, func(how string) bool {
				return s.Spoil(t, at[0], at[1], how, ids.victim) || s.Spoil(t, at[0], at[1], how, ids.over)
			}) {
				t.Errorf("%s.%s is not in the scene: no test has seen it damaged", at[0], at[1])
			}
		}
	})
	t.Run("a piece", func(t *testing.T) {
		s.Restore(t)
		r := newRig(t, s.Open(t))
		if !s.Spoil(t, "apart_pieces", "data", "flip", ids.victim) {
			t.Fatal("the run holds no value apart")
		}
		_, err := r.able.ApartKeeper.Values().Piece(r.ctx, ids.victim, ids.value, 0)
		if c, ok := errors.AsType[*world.CorruptError](err); !ok || c.Run != ids.victim || !strings.Contains(err.Error(), ids.value) {
			t.Errorf("a damaged piece: %v; want an ErrCorrupt that names the run and the value", err)
		}
		v, err := world.Verify(r.ctx, r.w, world.VerifyQuery{})
		r.must(err, "verify")
		if len(v.Damaged) != 1 || v.Damaged[0].Run != ids.victim || !strings.Contains(v.Damaged[0].What, ids.value) {
			t.Errorf("verified: %+v; want the run and the value", v.Damaged)
		}
		r.same(r.kept(ids.good, ids.goodValue), []string{"good"}, "pieces of another run")
	})
	t.Run("a message", func(t *testing.T) { damagedMessage(t, s) })
	t.Run("without its row", func(t *testing.T) {
		s.Restore(t)
		w := s.Open(t)
		r := newRig(t, w)
		k := r.worker("victim", "good", "over")
		s.Orphan(t, ids.victim)
		r.damaged(k, ids, ids.victim, false)
		if d := r.able.Doctor; d != nil {
			all, err := world.Findings(r.ctx, d)
			r.must(err, "examine")
			if !slices.ContainsFunc(all, func(f world.Finding) bool { return f.Check == "rows of no run" && f.Health == world.HealthBad }) {
				t.Errorf("doctor does not name rows of no run: %+v", all)
			}
		}
	})
}

type damageIDs struct{ victim, over, good, value, goodValue string }

// damagedMessage damages one message of a queue, head or body: it comes as the others do, with what is wrong,
// and can be ended.
func damagedMessage(t *testing.T, s DamageStore) {
	table := "messages"
	if slices.ContainsFunc(s.Columns(t), func(at [2]string) bool { return at[0] == "message_bodies" }) {
		table = "message_bodies"
	}
	for column, to := range map[string]string{"head": `'{"h":{"a":"b"}}'`, "body": "'7'"} {
		t.Run(column, func(t *testing.T) {
			s.Restore(t)
			r := newRig(t, s.Open(t))
			first := "(SELECT min(m.key) FROM messages m JOIN queues q ON q.key = m.queue WHERE q.name = 'victim' AND m.grp IS NULL AND NOT m.dead)"
			if n := s.Exec(t, "UPDATE "+table+" SET "+column+" = "+to+" WHERE key = "+first); n != 1 {
				t.Fatalf("%d messages changed", n)
			}
			q := r.able.MessageKeeper.Messages()
			got, err := q.ReceiveMessages(r.ctx, world.ReceiveQuery{Queue: "victim", Limit: 10})
			r.must(err, "receive")
			r.same(textsOf(got.Messages)[:2], []string{"", "free 2"}, "messages of no group that come first")
			if m := got.Messages[0]; !strings.Contains(m.Damage, m.ID) || m.Payload != nil || m.Headers != nil || got.Messages[1].Damage != "" {
				t.Errorf("received %+v; want the first with what is wrong, and nothing of what it says", got.Messages)
			}
			ended, err := q.SettleMessages(r.ctx, []world.Settlement{{Receipt: got.Messages[0].Receipt, Kind: world.Ack}, {Receipt: got.Messages[1].Receipt, Kind: world.Ack}})
			r.must(err, "settle")
			r.same(ended, []bool{true, true}, "what was ended")
		})
	}
}

// damageQueues makes queues that are named as the workflows of the scene's runs, with something in every column.
func damageQueues(r *rig) {
	if r.able.MessageKeeper == nil {
		return
	}
	q := r.able.MessageKeeper.Messages()
	for _, name := range []string{"good", "victim", "over"} {
		r.must(q.DeclareQueue(r.ctx, world.MessageQueue{Name: name, MaxReceives: 3}), "declare a queue")
		send := func(text, group string) {
			_, err := q.SendMessages(r.ctx, []world.Message{{Queue: name, Payload: quoted(text), Group: group, Dedupe: text, Priority: 1}})
			r.must(err, "send")
		}
		receive := func() world.Settlement {
			got, err := q.ReceiveMessages(r.ctx, world.ReceiveQuery{Queue: name, Limit: 1, Visibility: time.Hour})
			r.must(err, "receive")
			if len(got.Messages) != 1 {
				r.Fatalf("received %+v, want one message", got.Messages)
			}
			return world.Settlement{Receipt: got.Messages[0].Receipt}
		}
		send("grouped", "g")
		receive() // it is out
		send("behind it", "g")
		send("dead", "")
		dead := receive()
		dead.Kind, dead.Error = world.Bury, "no luck"
		_, err := q.SettleMessages(r.ctx, []world.Settlement{dead})
		r.must(err, "bury")
		send("free 1", "")
		send("free 2", "")
	}
	r.must(q.PauseQueue(r.ctx, "over", &world.QueuePause{By: "ann", Reason: "a test"}), "pause a queue")
}

// damageLimits has runs of a key of their own stand in line, with something in every column.
func damageLimits(r *rig) {
	if r.able.LimitKeeper == nil {
		return
	}
	l := &limiting{r, r.able.LimitKeeper.Limits()}
	l.line(3, "limited", under("damaged/key:5"))
	one := 1
	r.must(l.l.SetLimit(r.ctx, "damaged", &one), "set a limit")
	l.line(2, "limited", under("damaged/other:5"))
}

// limitsWithDamage uses limits. What is damaged of one holds up its own runs at most.
func (r *rig) limitsWithDamage() {
	r.Helper()
	fine := func(err error, what string) {
		r.Helper()
		if err != nil && !errors.Is(err, world.ErrNotFound) {
			r.Errorf("%s: %v", what, err)
		}
	}
	l := &limiting{r, r.able.LimitKeeper.Limits()}
	_, err := l.l.ListLimits(r.ctx)
	fine(err, "limits")
	_, err = l.l.ListLimitKeys(r.ctx, "damaged", "", 10)
	fine(err, "keys of a limit")
	k := r.worker("limited", "unlimited")
	two := 2
	fine(l.l.SetLimit(r.ctx, "damaged", &two), "a limit that is set")
	for range 8 {
		for _, c := range k.claim(10, 0).Runs {
			_, err := l.l.InLine(r.ctx, c.Run)
			fine(err, "a place in line")
			(&session{worker: k, run: c.Run, claimed: c.Claim, seq: c.Seq}).end()
		}
	}
	id := r.createRun("unlimited", under("undamaged:1"))
	l.gets(k, "a run of another limit", id)[0].end()
}

// damageTopics makes subscriptions that are named as the queues, with something in every column.
func damageTopics(r *rig) {
	if r.able.TopicKeeper == nil {
		return
	}
	topics := r.able.TopicKeeper.Topics()
	for _, name := range []string{"good", "victim", "over"} {
		r.must(spread.Of(r.able).Subscribe(r.ctx, world.Subscription{Name: name, Pattern: name + ".#", Queue: name}), "subscribe")
		sent, err := topics.Publish(r.ctx, []world.Publication{
			{Topic: name, Source: "me", Payload: quoted("due"), Dedupe: "due"}, {Topic: name, Payload: quoted("later"), Delay: time.Hour}, {Topic: name, Payload: quoted("aside")},
		})
		r.must(err, "publish")
		due, err := topics.Due(r.ctx, world.DueQuery{Limit: 1})
		r.must(err, "what is due")
		_, err = topics.Spread(r.ctx, world.Spread{Revision: due.Revision, Aside: []world.Aside{{ID: sent[2].ID, Error: "a test"}}})
		r.must(err, "set aside")
	}
}

// topicsWithDamage spreads what is due. Whatever is damaged of one topic, the others' goes out.
func (r *rig) topicsWithDamage(name func(string, error)) {
	r.Helper()
	topics := r.able.TopicKeeper.Topics()
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
	_, err = spread.Of(r.able).All(ctx)
	r.must(err, "spread")
	got, err := r.able.MessageKeeper.Messages().PeekMessages(r.ctx, world.PeekQuery{Queue: "good", State: world.MessageReady})
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
	q := r.able.MessageKeeper.Messages()
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
		_, err = q.SendMessages(r.ctx, []world.Message{{Queue: queue, Payload: quoted("new"), Group: "g", Dedupe: "new", Priority: 1}})
		fine(queue, "a send", err)
		_, _, err = q.RedriveMessages(r.ctx, queue)
		fine(queue, "a redrive", err)
		_, _, err = q.PurgeMessages(r.ctx, queue, false)
		fine(queue, "a purge", err)
	}
}

// damageScene makes a run of which something is in every table, one that is over, and one that is left alone.
func damageScene(t *testing.T, w world.World) (ids damageIDs) {
	r := &rig{T: t, w: w, able: world.AbilitiesOf(w), ctx: t.Context()}
	k := r.worker("victim", "over", "good")
	good := r.createRun("good")
	s := k.create("victim", func(b *world.Birth) {
		b.Attributes = map[string]json.RawMessage{"city": jsonText(`"Ulm"`)}
		b.Retention = time.Hour
		b.Key = "victim"
		b.Parent = &world.Parent{Run: "elsewhere", Step: "step_p"}
		b.Origin = &world.Origin{Run: "before"}
	})
	s.append(waitCreated("wait_1", world.Now().Add(time.Hour)), hookCreated("hook_1", "token"), hookCreated("hook_2", "token_2"))
	s.append(world.Event{Type: world.HookDisposed, ID: "hook_2"})
	s.append(listens("wait_2", "never", `{"order":1}`, time.Hour))
	var value, goodValue string
	if r.able.ApartKeeper != nil {
		value, goodValue = r.keep(s.run, "large", "left"), r.keep(good, "good")
		s.append(refer(stepCreated("step_apart", world.KindClosure), value))
	}
	s.await("step_a", good)
	s.queueTask("step_1")
	r.deliver(k.retry(k.getTask(), "BUSY", world.Now()))
	s.write(s.withStream("s", "", 45, 46))
	s.append(world.Event{Type: world.SignalReceived, Name: "sum", Payload: jsonText(`45`), Time: world.Now()})
	s.release(world.Release{WakeAt: world.Now(), Waiting: "a while"})
	r.deliver(act(s.run, "act-1", world.RunPaused))
	r.deliver(act(s.run, "act-2", world.RunResumed))
	again := signal(s.run, "again", "b")
	again.Sender = good
	r.deliver(again)
	o := k.live("over", func(b *world.Birth) { b.Key = "key" })
	o.append(signalEvent("a"))
	o.proceed(o.seq + 1)
	o.write(o.withStream("s", "", 45))
	r.deliver(signal(o.run, "late", "late"))
	end := world.Event{Type: world.RunCompleted, Payload: jsonText(`45`)}
	if r.able.ApartKeeper != nil {
		end = refer(end, r.keep(o.run, "output"))
	}
	o.session.write(o.next(end))
	damageQueues(r)
	damageTopics(r)
	damageSchedules(r)
	damageLimits(r)
	if b := r.able.KeyBook; b != nil {
		_, err := b.BindKey(r.ctx, "key", []byte("print"))
		r.must(err, "bind a key")
	}
	if d := r.able.Definer; d != nil {
		described := says("defined", 2, time.Hour, 0)
		described.Describe(jsonText(`{"input":{"type":"string"}}`))
		r.must(d.Define(r.ctx, []world.Definition{described}), "define")
		_, _, err := d.LimitRetention(r.ctx, time.Hour, false)
		r.must(err, "limit retention")
	}
	if k := r.able.MetricsKeeper; k != nil {
		r.must(k.KeepMetrics(r.ctx, counted("damaged", 1, "[]")), "keep metrics")
	}
	r.must(w.Leave(r.ctx, k.id), "leave")
	r.mortal(shortLease, "good") // it is there, and dead
	r.must(w.Close(), "close")
	return damageIDs{s.run, o.run, good, value, goodValue}
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
		if a := r.able.ApartKeeper; a != nil {
			_, err = a.Values().Piece(r.ctx, id, map[string]string{ids.good: ids.goodValue}[id]+map[string]string{ids.victim: ids.value}[id], 0)
			fine(err, "a value apart")
		}
		_, err = r.w.Chunks(r.ctx, id, "s", world.ChunkQuery{})
		fine(err, "chunks")
		_, err = r.w.StreamsOf(r.ctx, id)
		fine(err, "streams")
		if tr := r.able.TaskReader; tr != nil {
			tasks, err := tr.Tasks(r.ctx, id)
			fine(err, "tasks")
			for i := range tasks {
				name(tasks[i].Damage, nil)
			}
		}
	}
	v, err := world.Verify(r.ctx, r.w, world.VerifyQuery{})
	r.must(err, "verify")
	found = found || len(v.Damaged) > 0
	r.listsWithDamage(ids, run)
	if r.able.LimitKeeper != nil {
		r.limitsWithDamage()
	}
	if r.able.TopicKeeper != nil {
		r.topicsWithDamage(name)
	}
	if r.able.ScheduleKeeper != nil {
		r.schedulesWithDamage(name)
	}
	if r.able.MessageKeeper != nil {
		r.queuesWithDamage(name)
	}
	for _, q := range []world.HookQuery{{}, {Run: ids.victim}, {Token: "token"}, {Token: "token_2", Ended: true}} {
		_, err = r.w.Hooks(r.ctx, q)
		r.must(err, "hooks")
	}
	if b := r.able.KeyBook; b != nil {
		_, err := b.BindKey(r.ctx, "key", []byte("print"))
		r.must(err, "bind a key")
	}
	if d := r.able.Definer; d != nil { // a start neither fails nor panics for what is spoilt here: it is as if nobody had said it
		_, err := d.Defined(r.ctx, []string{"defined", "other"})
		r.must(err, "what is defined")
		_, err = d.Schemas(r.ctx, world.Class{Workflow: "defined", Version: 2})
		r.must(err, "schemas")
		r.must(d.Define(r.ctx, []world.Definition{{Class: world.Class{Workflow: "defined", Version: 2}, Said: world.Said{Retention: time.Hour}}}), "define again")
		_, _, err = d.LimitRetention(r.ctx, 0, false)
		r.must(err, "the limit of retention")
	}
	if k := r.able.MetricsKeeper; k != nil {
		_, err := k.Metrics(r.ctx)
		r.must(err, "metrics")
		if err := k.KeepMetrics(r.ctx, counted("damaged", 2, "[]")); err != nil && !errors.Is(err, world.ErrConflict) {
			r.Errorf("keep metrics: %v", err)
		}
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
	if rr := r.able.ReadyReader; rr != nil {
		_, err := rr.Ready(r.ctx, world.ReadyQuery{Classes: k.classes, Steps: k.steps})
		r.must(err, "what is ready")
	}
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
