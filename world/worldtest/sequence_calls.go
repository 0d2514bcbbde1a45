// The calls that sequences are made of.

package worldtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stepwell/stepwell/world"
)

// logTime is the time of an owner's next event: before the sequence, until the world has stamped an event of the log, then behind it.
func (p *pair) logTime(last time.Time) time.Time {
	p.n++
	at := p.began.Add(-time.Hour)
	if !last.Before(p.began.Add(-time.Minute)) {
		at = p.began.Add(time.Hour)
	}
	return at.Add(time.Duration(p.n/3) * time.Millisecond)
}

// birth draws a birth.
func (p *pair) birth() *world.Commit {
	b := &world.Birth{
		Workflow: choose(p, "a", "a", "b", "other"), Version: choose(p, 1, 1, 2, 0), Priority: choose(p, 1, 1, 0, 2, 3), Key: choose(p, "", "", "", "", "k1", "k2"),
		Retention: choose(p, 0, time.Minute, 30*24*time.Hour), Seed: 7,
	}
	if p.oneIn(3) {
		b.NotBefore = p.ago()
	}
	if p.oneIn(3) {
		b.Attributes = map[string]json.RawMessage{"tenant": json.RawMessage(choose(p, `1`, `"x"`))}
	}
	c := &world.Commit{ID: commitID(), Run: newRun(), First: 1, Build: "b1", Events: []world.Event{
		{Type: world.RunCreated, Time: p.logTime(time.Time{}), Payload: json.RawMessage(`{"in":1}`), Birth: b},
	}}
	if len(p.runs) > 0 && p.oneIn(20) {
		c.Run = p.anyRun()
	}
	return c
}

// write commits to both worlds.
func (p *pair) write(c *world.Commit, each func(c *world.Commit, i int)) (world.Committed, error) {
	return both(p, describe(c), func(w world.World, i int) (world.Committed, error) {
		own := *c
		own.Events = slices.Clone(c.Events)
		if each != nil {
			each(&own, i)
		}
		return w.Commit(p.Context(), &own)
	})
}

func describe(c *world.Commit) string {
	s := fmt.Sprintf("commit to %s by %q, take %d, at %d:", c.Run, c.Worker, c.Claim, c.First)
	for i := range c.Events {
		e := &c.Events[i]
		s += fmt.Sprintf(" %s(%s%s%s)", e.Type, e.ID, e.Token, e.Peer)
		if e.Birth != nil {
			s += fmt.Sprintf("%+v", *e.Birth)
		}
	}
	for _, part := range []struct {
		n    int
		what any
	}{{len(c.Tasks), c.Tasks}, {len(c.Held), c.Held}, {len(c.Dropped), c.Dropped}, {len(c.Births), c.Births}, {len(c.Conditions), c.Conditions}, {len(c.Send), c.Send},
		{len(c.Streams), c.Streams}} {
		if part.n > 0 {
			s += fmt.Sprintf(" %T%+v", part.what, part.what)
		}
	}
	if c.Release != nil {
		s += fmt.Sprintf(" %+v", *c.Release)
	}
	return s
}

func (p *pair) created(c *world.Commit, done world.Committed, err error) bool {
	if err != nil || done.Existing != "" {
		return false
	}
	p.runs = append(p.runs, c.Run)
	p.past = append(p.past, c)
	return true
}

// create is a client's birth.
func (p *pair) create() {
	c := p.birth()
	if p.oneIn(3) { // as a fork's
		c.Events = append(c.Events, world.Event{Type: world.RunStarted, Time: c.Events[0].Time})
	}
	done, err := p.write(c, nil)
	p.created(c, done, err)
}

// createOwned is a worker's.
func (p *pair) createOwned() {
	c := p.birth()
	c.Worker, c.Claim = p.anyWorker(), 1
	c.Events = append(c.Events, world.Event{Type: world.RunStarted, Time: c.Events[0].Time, Version: choose(p, 0, 0, 2)})
	if p.oneIn(3) {
		c.Release = p.release()
	}
	done, err := p.write(c, nil)
	if p.created(c, done, err) && c.Release == nil {
		p.owned = append(p.owned, owned{c.Run, c.Worker, 1})
	}
}

func (p *pair) release() *world.Release {
	rel := &world.Release{Waiting: choose(p, "", "something"), Full: p.oneIn(10)}
	if !p.oneIn(3) {
		rel.WakeAt = p.ago()
	}
	if p.oneIn(5) {
		rel.Blocked = &world.Block{Code: world.CodePanic, Message: "no", Since: p.began, Tries: 3}
	}
	return rel
}

// claim is a claim of both worlds.
func (p *pair) claim(q world.ClaimQuery) {
	var next [2]time.Time
	var given world.Claimed
	t, err := both(p, fmt.Sprintf("take %+v", q), func(w world.World, i int) (world.Claimed, error) {
		if i == 1 && p.slow && q.Run == "" {
			return p.claimAlone(w, q, given)
		}
		got, err := w.Claim(p.Context(), q)
		next[i], got.Next = got.Next, time.Time{}
		if p.slow {
			given = got
		}
		if p.slow || q.Runs == 0 { // see Taken.More
			got.More = false
		}
		return got, err
	})
	if !p.slow {
		p.notLater(next, "take")
	}
	if err != nil {
		return
	}
	for _, r := range t.Runs {
		p.owned = append(p.owned, owned{r.Run, q.Worker, r.Claim})
	}
	p.tasks = append(p.tasks, t.Tasks...)
}

// claimAlone takes what another world gave, one by one.
func (p *pair) claimAlone(w world.World, q world.ClaimQuery, given world.Claimed) (all world.Claimed, err error) {
	q.Runs, q.Tasks = 1, 1
	for _, r := range given.Runs {
		q.Run = r.Run
		got, err := w.Claim(p.Context(), q)
		if err != nil {
			return all, err
		}
		all.Runs = append(all.Runs, got.Runs...)
	}
	for _, t := range given.Tasks {
		q.Run, q.Step = t.Run, t.Step
		got, err := w.Claim(p.Context(), q)
		if err != nil {
			return all, err
		}
		all.Tasks = append(all.Tasks, got.Tasks...)
	}
	all.Now = given.Now
	return all, nil
}

func (p *pair) claimSome() {
	p.claim(world.ClaimQuery{Worker: p.anyWorker(), Classes: p.classes(), Runs: choose(p, 1, 1, 2, 3, 0), Steps: []string{"task"}, Tasks: choose(p, 1, 2, 0)})
}

func (p *pair) claimNamed() {
	q := world.ClaimQuery{Worker: p.anyWorker(), Classes: p.classes(), Runs: 1, Steps: []string{"task"}, Tasks: 1, Run: p.anyRun()}
	if len(p.tasks) > 0 && p.oneIn(2) {
		t := choose(p, p.tasks...)
		q.Run, q.Step = t.Run, t.Step
	}
	p.claim(q)
}

// state is the fold of a run's log, as the reference has it; nil: it is over or gone.
func (p *pair) state(run string) *world.State {
	page, err := p.worlds[0].Events(p.Context(), run, world.EventQuery{})
	if err != nil {
		return nil
	}
	s := &world.State{ID: run, EnterAt: page.Trimmed}
	for i := range page.Events {
		if _, err := s.Apply(&page.Events[i], time.Time{}); err != nil {
			p.Fatalf("run %s: %v", run, err)
		}
	}
	if s.Status.Terminal() {
		return nil
	}
	return s
}

// drawing is a commit that is being drawn.
type drawing struct {
	*pair
	c     *world.Commit
	state *world.State
}

// add adds an event, if the fold accepts it as new.
func (d *drawing) add(e world.Event) bool {
	e.Time = d.logTime(d.state.Time)
	folded := e
	if changed, err := d.state.Apply(&folded, time.Time{}); err != nil || !changed {
		return false
	}
	d.c.Events = append(d.c.Events, e)
	return true
}

// commitOwned is a turn of an owner.
func (p *pair) commitOwned() {
	if len(p.owned) == 0 {
		return
	}
	at := p.rng.IntN(len(p.owned))
	o := p.owned[at]
	state := p.state(o.run)
	if state == nil {
		p.owned = slices.Delete(p.owned, at, at+1)
		return
	}
	c := &world.Commit{ID: commitID(), Run: o.run, Worker: o.worker, Claim: o.claim, Build: "b1", First: state.Seq + 1, Unread: p.rng.IntN(3)}
	d := &drawing{p, c, state}
	mail := d.mail()
	if state.Status == world.Pending {
		d.add(world.Event{Type: world.RunStarted, Version: choose(p, 0, 0, 1, 2)})
	}
	for range p.rng.IntN(4) {
		choose(p, d.step, d.step, d.task, d.hook, d.hook, d.attribute, d.child, d.await, d.wait, d.note, d.sendMail, d.chunk, d.goOn)()
	}
	switch {
	case !d.asks() && p.oneIn(6):
		d.add(choose(p, world.Event{Type: world.RunCompleted, Payload: json.RawMessage(`1`)}, world.Event{Type: world.RunCancelled},
			world.Event{Type: world.RunFailed, Error: &world.Error{Message: "broken", Code: "MINE"}}))
	case p.oneIn(2):
		c.Release = p.release()
	}
	if _, err := p.write(c, func(c *world.Commit, i int) { c.Mail = mail[i] }); err != nil {
		p.owned = slices.Delete(p.owned, at, at+1)
		return
	}
	p.past = append(p.past, c)
	for _, b := range c.Births {
		p.runs = append(p.runs, b.Run)
	}
	p.runs = slices.Compact(p.runs)
	for _, t := range c.Tasks {
		if t.Worker != "" {
			t.Run, t.Attempt = c.Run, 1
			p.tasks = append(p.tasks, t)
		}
	}
	if c.End() != nil || c.Release != nil {
		p.owned = slices.Delete(p.owned, at, at+1)
	}
}

// mail appends some of what waits for the run, and tells which rows that are in each world.
func (d *drawing) mail() (rows [2][]int64) {
	var own [2][]world.Mail
	_, _ = both(d.pair, "heartbeat of "+d.c.Worker, func(w world.World, i int) (world.Heartbeat, error) {
		b, err := d.heartbeatOf(w, world.HeartbeatQuery{Worker: d.c.Worker})
		for _, m := range b.Mail {
			if m.Run == d.c.Run {
				own[i] = append(own[i], m)
			}
		}
		slices.Sort(b.Lost)
		return b, err
	})
	n := min(len(own[0]), len(own[1]))
	if n == 0 {
		return rows
	}
	n = d.rng.IntN(n + 1)
	for _, m := range own[0][:n] {
		for _, e := range m.Events {
			e.Delivery = m.ID
			d.add(e)
		}
	}
	for i := range rows {
		for _, m := range own[i][:n] {
			rows[i] = append(rows[i], m.Row)
		}
	}
	return rows
}

// heartbeatOf heartbeats, and sorts the mail: that of each run is in order.
func (p *pair) heartbeatOf(w world.World, q world.HeartbeatQuery) (world.Heartbeat, error) {
	b, err := w.Heartbeat(p.Context(), q)
	slices.SortStableFunc(b.Mail, func(a, b world.Mail) int { return strings.Compare(a.Run, b.Run) })
	return b, err
}

func (d *drawing) step() {
	for _, s := range sorted(d.state.Steps(), func(s *world.Step) string { return s.ID }) {
		if s.Kind == world.KindClosure {
			if s.Status == world.StepPending {
				d.add(world.Event{Type: world.StepStarted, ID: s.ID, Attempt: s.Attempts + 1})
			} else {
				d.add(world.Event{Type: world.StepCompleted, ID: s.ID, Attempt: s.Attempts, Payload: json.RawMessage(`2`)})
			}
			return
		}
	}
	d.add(stepCreated(d.fresh("step"), world.KindClosure))
}

func (d *drawing) task() {
	for i, t := range d.tasks {
		if t.Run == d.c.Run && !slices.ContainsFunc(d.c.Tasks, func(n world.Task) bool { return n.Step == t.Step }) {
			key := world.TaskKey{Run: t.Run, Step: t.Step, Attempt: t.Attempt}
			if d.tasks = slices.Delete(d.tasks, i, i+1); t.Worker == d.c.Worker && d.add(world.Event{Type: world.StepCompleted, ID: t.Step, Attempt: t.Attempt}) {
				d.c.Held = append(d.c.Held, key)
			} else {
				d.c.Dropped = append(d.c.Dropped, key)
			}
			return
		}
	}
	e := stepCreated(d.fresh("step"), world.KindTask)
	e.Queued = true
	if !d.add(e) {
		return
	}
	t := world.Task{Step: e.ID, Name: "task", Workflow: choose(d.pair, "", "a", "b"), Input: []byte(`{"in":1}`), Priority: choose(d.pair, 1, 1, 0, 3)}
	if d.oneIn(3) {
		t.Worker = d.c.Worker
	} else if d.oneIn(3) {
		t.Visible = d.ago()
	}
	d.c.Tasks = append(d.c.Tasks, t)
}

func (d *drawing) hook() {
	for _, h := range d.open() {
		if d.oneIn(2) && !d.asked(h.ID) {
			d.add(world.Event{Type: world.HookDisposed, ID: h.ID})
			return
		}
	}
	if d.add(hookCreated(d.fresh("hook"), choose(d.pair, "t1", "t2", "t3"))) && !d.oneIn(8) {
		d.c.Conditions = append(d.c.Conditions, world.Condition{Event: len(d.c.Events) - 1})
	}
}

func (d *drawing) open() []*world.Hook {
	return sorted(d.state.Hooks(), func(h *world.Hook) string { return h.ID })
}

func (d *drawing) attribute() {
	d.add(world.Event{Type: world.AttrSet, ID: d.fresh("attr"), Name: "tenant", Payload: json.RawMessage(choose(d.pair, `1`, `2`, `"x"`))})
}

func (d *drawing) child() {
	if d.over() {
		return
	}
	b := d.birth()
	e := stepCreated(d.fresh("step"), world.KindChild)
	e.Peer = b.Run
	b.Events[0].Birth.Parent = &world.Parent{Run: d.c.Run, Step: e.ID, Detached: d.oneIn(3)}
	if !d.add(e) {
		return
	}
	d.c.Births = append(d.c.Births, b)
	if !d.oneIn(8) {
		d.c.Conditions = append(d.c.Conditions, world.Condition{Event: len(d.c.Events) - 1, Birth: len(d.c.Births) - 1})
	}
}

func (d *drawing) await() {
	if d.over() {
		return
	}
	e := stepCreated(d.fresh("step"), world.KindAwait)
	e.Peer = d.anyRun()
	if d.add(e) {
		d.c.Conditions = append(d.c.Conditions, world.Condition{Event: len(d.c.Events) - 1})
	}
}

func (d *drawing) wait() {
	d.add(world.Event{Type: world.WaitCreated, ID: d.fresh("wait"), Name: "nap", Kind: world.KindSleep, Until: d.ago()})
}

func (d *drawing) note() { d.add(signalEvent("note")) }

func (d *drawing) sendMail() {
	s := world.Delivery{Run: d.anyRun(), ID: choose(d.pair, "s1", "s2", ""), Events: []world.Event{signalEvent("sent")}}
	if d.oneIn(3) {
		s = world.Delivery{Token: choose(d.pair, "t1", "t2"), Events: []world.Event{{Type: world.HookReceived, Payload: json.RawMessage(`3`)}}}
	}
	d.c.Send = append(d.c.Send, s)
}

func (d *drawing) chunk() {
	if len(d.c.Streams) == 0 {
		d.c.Streams = []world.StreamWrite{{Stream: "s", Chunks: []json.RawMessage{json.RawMessage(`"in a commit"`)}, End: choose(d.pair, "", "", "", world.ChunkClose)}}
	}
}

// asks reports whether the commit asks for what only the world can decide: what is answered stands behind all that it writes.
func (d *drawing) asks() bool { return len(d.c.Conditions) > 0 }

// asked reports whether it is open still whether the commit makes an entity.
func (d *drawing) asked(id string) bool {
	return slices.ContainsFunc(d.c.Conditions, func(c world.Condition) bool { return d.c.Events[c.Event].ID == id })
}

// over reports whether the commit has ended what was open before it.
func (d *drawing) over() bool {
	return slices.ContainsFunc(d.c.Events, func(e world.Event) bool { return e.Type == world.RunContinued })
}

// goOn begins a segment.
func (d *drawing) goOn() {
	if d.oneIn(3) && !d.asks() {
		next := &world.Continuation{Version: choose(d.pair, 0, 1, 2)}
		for _, h := range d.open()[:min(1, len(d.open()))] {
			next.Hooks = []string{h.ID}
		}
		d.add(world.Event{Type: world.RunContinued, Payload: json.RawMessage(`4`), Next: next})
	}
}

// commitStale comes from somebody who does not own the run, or not any more.
func (p *pair) commitStale() {
	if len(p.past) == 0 {
		return
	}
	c := *choose(p, p.past...)
	c.ID = commitID()
	switch p.rng.IntN(3) {
	case 0:
		c.First += int64(p.rng.IntN(4))
	case 1:
		c.Claim--
	default:
		c.Worker = p.anyWorker()
	}
	switch s := p.state(c.Run); {
	case c.Birth(): // of a run that is swept by now, perhaps: it is the newest then
		c.First, c.Events = 1, slices.Clone(c.Events)
		for i := range c.Events {
			c.Events[i].Time = p.logTime(time.Time{})
		}
	case s != nil && c.First == s.Seq+1: // it would be claimed, and is of another log
		c.First++
	}
	_, _ = p.write(&c, nil)
}

func (p *pair) outcome() {
	if len(p.past) == 0 {
		return
	}
	c := *choose(p, p.past...)
	if p.oneIn(3) {
		c.ID = commitID()
	}
	_, _ = both(p, "outcome of "+describe(&c), func(w world.World, _ int) (world.Committed, error) { return w.Outcome(p.Context(), &c) })
}

// send is what anybody sends.
func (p *pair) send() {
	d := signal(p.anyRun(), choose(p, "", "d1", "d2"), choose(p, "go", "stop"))
	switch p.rng.IntN(4) {
	case 0:
		d = cancel(d.Run, choose(p, "", "c1"))
	case 1:
		d = &world.Delivery{Token: choose(p, "t1", "t2", "t3"), ID: d.ID, Events: []world.Event{{Type: world.HookReceived, Payload: json.RawMessage(`5`)}}}
	case 2:
		d.Events[0].Payload = json.RawMessage(choose(p, `1`, `2`))
	}
	p.deliver(d)
}

func (p *pair) deliver(d *world.Delivery) {
	_, _ = both(p, fmt.Sprintf("deliver %s %s to %s%s, ID %q, act %v, task %v by %s", d.Events[0].Type, d.Events[0].Payload, d.Run, d.Token, d.ID, d.Act, d.Task, d.Worker), func(w world.World, _ int) (world.Delivered, error) {
		own := *d
		own.Events = slices.Clone(d.Events)
		return w.Deliver(p.Context(), &own)
	})
}

// operate is what operators do.
func (p *pair) operate() {
	d := act(p.anyRun(), choose(p, "", "", "o1", "o2"), choose(p, pause, pause, resume, resume, resume, world.RunCancelled))
	if d.Events[0].Type == resume && p.oneIn(4) {
		d.Events[0].Outcome = world.OutcomeWoken
	}
	p.deliver(d)
}

// endTask ends an attempt of a task, or puts it back.
func (p *pair) endTask() {
	if len(p.tasks) == 0 {
		return
	}
	at := p.rng.IntN(len(p.tasks))
	t := p.tasks[at]
	if !p.oneIn(5) { // else it is told again
		p.tasks = slices.Delete(p.tasks, at, at+1)
	}
	d := &world.Delivery{Worker: t.Worker, Task: &world.TaskKey{Run: t.Run, Step: t.Step, Attempt: t.Attempt}}
	when := p.logTime(time.Time{})
	if p.oneIn(2) {
		d.Events = []world.Event{
			{Type: world.StepStarted, ID: t.Step, Attempt: t.Attempt, Time: when}, {Type: world.StepCompleted, ID: t.Step, Attempt: t.Attempt, Time: when, Payload: json.RawMessage(`6`)},
		}
	} else {
		d.RetryAt = p.ago()
		d.Events = []world.Event{{Type: world.StepRetrying, ID: t.Step, Attempt: t.Attempt, Time: when, RetryAt: d.RetryAt,
			Error: &world.Error{Message: "again", Code: choose(p, "", world.CodeAbandoned)}}}
	}
	p.deliver(d)
	if p.oneIn(3) {
		p.deliver(wakesTask(t.Run, t.Step, t.Attempt))
	}
}

func (p *pair) join() {
	wk := world.Worker{ID: world.NewID(world.PrefixWorker, world.Now()), Name: "host:1", Build: "b1", Steps: []string{"task"}, Lease: alikeLease,
		Classes: []world.Class{{Workflow: "a", Version: 1}, {Workflow: "b"}}}
	if len(p.workers)%2 == 1 {
		wk.Classes = []world.Class{{Workflow: "a"}, {Workflow: "a", Version: 1}, {Workflow: "a", Version: 2}}
	}
	if _, err := both(p, "join "+wk.ID, func(w world.World, _ int) (world.Heartbeat, error) { return w.Join(p.Context(), wk) }); err == nil {
		p.workers = append(p.workers, wk.ID)
	}
}

// changeWorkers has one leave and another join.
func (p *pair) changeWorkers() {
	at := p.rng.IntN(len(p.workers))
	id := p.workers[at]
	_, _ = both(p, "leave "+id, func(w world.World, _ int) (int, error) { return 0, w.Leave(p.Context(), id) })
	p.workers = slices.Delete(p.workers, at, at+1)
	p.join()
}

func (p *pair) heartbeat() {
	q := world.HeartbeatQuery{Worker: p.anyWorker(), Account: true}
	for _, t := range p.tasks {
		q.Tasks = append(q.Tasks, world.TaskKey{Run: t.Run, Step: t.Step, Attempt: t.Attempt})
	}
	_, _ = both(p, fmt.Sprintf("heartbeat %+v", q), func(w world.World, _ int) (world.Heartbeat, error) { return p.heartbeatOf(w, q) })
}

func (p *pair) sweep() {
	_, _ = both(p, "sweep", func(w world.World, _ int) (int, error) { return w.Sweep(p.Context(), 2) })
}

// stream writes to a stream while its writer goes on.
func (p *pair) stream() {
	a := &world.Append{Run: p.anyRun(), Worker: p.anyWorker(), Claim: 1, StreamWrite: world.StreamWrite{Stream: "s", Chunks: []json.RawMessage{json.RawMessage(`"beside"`)}}}
	if len(p.owned) > 0 && !p.oneIn(4) {
		o := choose(p, p.owned...)
		a.Run, a.Worker, a.Claim = o.run, o.worker, o.claim
	}
	_, _ = both(p, fmt.Sprintf("append %+v", *a), func(w world.World, _ int) (world.Appended, error) { return w.Append(p.Context(), a) })
}
