package postgres

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/layout"
	"github.com/stepwell/stepwell/world/rules"
)

// Commit writes one atomic change; see [world.Log] and [world.Commit]. Commits that arrive during a
// transaction share the next one. A commit that may have to wait for another process's transaction
// gets its own.
func (w *World) Commit(ctx context.Context, c *world.Commit) (world.Committed, error) {
	if err := world.CheckCommit(c); err != nil {
		return world.Committed{}, err
	}
	if ctx.Err() != nil {
		return world.Committed{}, context.Cause(ctx)
	}
	if w.isClosed() {
		return world.Committed{}, world.ErrClosed
	}
	wk, err := w.find(ctx, c.Worker)
	if err != nil {
		return world.Committed{}, fmt.Errorf("run %s: commit at event %d: %w", c.Run, c.First, err)
	}
	if wk == nil && !c.Birth() {
		return world.Committed{}, lost(c)
	}
	if c.Items > 0 {
		if done, err := gathering(ctx, w, c); err != nil || done.Existing != "" {
			return done, err
		}
	}
	r := w.crew.owned(c.Run)
	if goesAlone(c) || !c.Birth() && !fits(c, r, wk.key) || c.Birth() && c.Worker != "" && wk == nil {
		return w.commitAlone(ctx, c, wk)
	}
	d, err := w.newDraft(ctx, c, wk)
	if err != nil {
		return world.Committed{}, err
	}
	if err := d.all(&plan{Plan: rules.Unasked(c)}, r); err != nil {
		return world.Committed{}, err
	}
	if c.Schedule != nil {
		row, err := scheduleRowOf(c.Schedule)
		if err != nil {
			return world.Committed{}, err
		}
		d.sheet.scheduled = append(d.sheet.scheduled, row)
	}
	done, err := w.send(ctx, d)
	if err == errAlone { //nolint:errorlint // it is never wrapped
		return w.commitAlone(ctx, c, wk)
	}
	return done, err
}

// lost says that a commit comes too late, or from a stranger.
func lost(c *world.Commit) error {
	return fmt.Errorf("run %s: commit at event %d by worker %q: %w", c.Run, c.First, c.Worker, world.ErrLeaseLost)
}

// fits reports whether a commit is the next one of a run that its worker owns, as far as this World knows. Where it is not, the database is asked why.
func fits(c *world.Commit, r *run, worker int64) bool {
	return r != nil && r.owner == worker && r.claim == c.Claim && c.First == r.last+1 && !(c.Release != nil && pausedAfter(r.paused, c.Events))
}

// pausedAfter reports whether a run is paused behind some events. One that is released so looks for a resumption that waits.
func pausedAfter(paused bool, events []world.Event) bool {
	if is, found := world.PausedBy(events); found {
		return is
	}
	return paused
}

// goesAlone reports whether a commit may have to wait for a stranger's transaction, or whether what it writes depends
// on others: it has a condition, an ID or a token that somebody chose, or an idempotency key, or is a singleton's, or a
// rate may refuse it. So does what is long.
func goesAlone(c *world.Commit) bool {
	if len(c.Conditions)+len(c.Anew) > 0 || c.Items > 0 || c.Ack != "" || rules.AnySingle(c) || len(world.MergedStarts(c)) > 0 {
		return true
	}
	if chosenBirth(c) && !scheduled(c) || longBirth(c) || refusable(c) || slices.ContainsFunc(c.Births, chosenBirth) || namesApart(c) || slices.ContainsFunc(c.Births, namesApart) {
		return true
	}
	return slices.ContainsFunc(c.Events, func(e world.Event) bool { return e.Type == world.HookCreated && e.Chosen })
}

// scheduled reports whether a birth is that of a schedule's time: its ID and its key are nobody else's, as a rule,
// as who starts it has locked the schedule. Where they are, it goes alone after all.
func scheduled(c *world.Commit) bool { return c.Schedule != nil && c.Schedule.Change != 0 }

func chosenBirth(c *world.Commit) bool {
	return c.Birth() && (c.Events[0].Birth.Key != "" || !made(c.Run))
}

// longBirth reports whether a client's birth brings a log of several rows, for which no group is to wait.
func longBirth(c *world.Commit) bool {
	return c.Worker == "" && len(c.Events) > 1 && c.Birth() && len(world.Parts(c.Events)) > 1
}

// made reports whether an ID looks like one that nobody chose.
func made(id string) bool {
	const prefix, length = world.PrefixRun + "_", len(world.PrefixRun) + 1 + 26
	return len(id) == length && id[:len(prefix)] == prefix
}

// plan is what a commit will write, decided.
type plan struct {
	rules.Plan
	keys    []int64 // of births whose rows are there already
	awaits  []awaitRow
	claimed bool // the rows of hooks are there already
}

// draft is a commit with all that it writes, encoded, and what it means for this World's memory once it is durable.
type draft struct {
	w       *World
	ctx     context.Context // of the commit, while the draft is made
	tx      txn             // in which it is made; nil: it goes with a group
	c       *world.Commit
	wk      *worker // nil: a birth by a client
	keys    []int64 // for births
	pays    bool    // its birth pays the rates that may refuse it
	sheet   sheet
	done    world.Committed
	own     []*run // runs as they are after it, of workers here
	gone    []*run // runs that were given up, or are over
	freed   int64  // the run that was released, whose inbox is looked at once more
	resumed bool   // a resumption waits: the run, which is paused, is to be claimed for that
	notices []world.Notice
	news    []world.Notice // what the answers of its statements told
	bytes   int            // in the log, about
}

// newDraft begins a draft, with keys for the runs that it creates.
func (w *World) newDraft(ctx context.Context, c *world.Commit, wk *worker) (*draft, error) {
	d := &draft{w: w, ctx: ctx, c: c, wk: wk}
	n := len(c.Births)
	if c.Birth() {
		n++
	}
	if err := w.limits.learn(ctx, c); err != nil {
		return nil, err
	}
	if n == 0 {
		return d, nil
	}
	keys, err := w.keys.fresh(ctx, n)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", c.Run, err)
	}
	d.keys = keys
	return d, nil
}

// all puts what was decided on the sheet: the run's own part, then its children. r is the run as it is, nil for a birth.
func (d *draft) all(p *plan, r *run) (err error) {
	c := d.c
	keys := d.keys
	if p.Changed {
		d.done.Events = c.Written(p.Events)
	}
	if c.Birth() {
		if r, err = d.create(c, keys[0], d.wk, nil, p.Events); err != nil {
			return err
		}
		keys = keys[1:]
	} else {
		next := *r
		r = &next
	}
	for i, child := range p.Births {
		key := keys[i]
		if p.keys != nil {
			key = p.keys[i]
		}
		created, err := d.create(child, key, nil, r, child.Events)
		if err != nil {
			return err
		}
		if err := d.turn(child, created, child.Events, standing{}, nil); err != nil {
			return err
		}
		r.awaits = true // its step
	}
	before := r.standing()
	if c.Birth() {
		before = standing{}
	}
	for i := range p.awaits {
		p.awaits[i].waiter, r.awaits = r.key, true
	}
	return d.turn(c, r, p.Events, before, p)
}

// turn puts one commit to one run on the sheet, and moves r to what it is then. p is nil for a child.
func (d *draft) turn(c *world.Commit, r *run, events []world.Event, before standing, p *plan) error {
	s := &d.sheet
	class, running, paused := r.class, r.running, r.paused
	unsure := r.unsure || d.wk != nil && d.wk.Remote // another server may know better whose the run is
	r.unsure = false
	if len(events) > 0 {
		if err := d.append(r, c, events); err != nil {
			return err
		}
		if err := d.follow(r, events, p == nil || !p.claimed); err != nil {
			return err
		}
	}
	if p != nil {
		s.awaits = append(s.awaits, p.awaits...)
	}
	end := rules.End(events)
	for _, row := range c.Mail {
		s.mail = append(s.mail, mailRow{row, r.key})
	}
	if err := d.tasks(c, r, end != nil); err != nil {
		return err
	}
	for i := range c.Send {
		if err := d.send(&c.Send[i]); err != nil {
			return err
		}
	}
	if len(c.Streams) > 0 {
		if err := d.streams(c, r); err != nil {
			return err
		}
	}
	for i := range c.Messages {
		m := &c.Messages[i]
		s.told.messages = append(s.told.messages, *m)
		d.bytes += len(m.Payload)
		d.notice(world.NoticeMessage, m.Queue)
	}
	for i := range c.Published {
		p := &c.Published[i]
		s.told.published = append(s.told.published, *p)
		d.bytes += len(p.Payload)
		d.notice(world.NoticeTopic, "")
	}
	switch {
	case end != nil:
		if err := d.end(r, end, c.Birth()); err != nil {
			return err
		}
	case c.Birth():
		if err := d.enqueue(c, r); err != nil {
			return err
		}
	case c.Release != nil:
		if err := d.release(c, r); err != nil {
			return err
		}
	case r.class != class || r.running != running || r.paused != paused:
		row, err := d.queueRow(r)
		if err != nil {
			return err
		}
		d.lock(r)
		s.updated = append(s.updated, row)
		d.own = append(d.own, r)
	case len(events) == 0 || unsure:
		d.lock(r) // nothing else would tell that the run is not its worker's any more
		d.own = append(d.own, r)
	default:
		d.own = append(d.own, r)
	}
	d.count(r.workflow, before, r.standing())
	return nil
}

// lock makes the transaction lock the run's queue row, and fail unless it shows what this World believes.
func (d *draft) lock(r *run) {
	d.sheet.locked = append(d.sheet.locked, lockRow{r.key, r.owner, r.claim})
}

// append encodes a commit's row of the log. The log that a client's birth brings may have several.
func (d *draft) append(r *run, c *world.Commit, events []world.Event) error {
	d.notice(world.NoticeLog, r.id)
	if c.Worker != "" || len(events) == 1 || !c.Birth() {
		return d.appendRow(r, c, c.First, events)
	}
	for _, part := range world.Parts(events) {
		if err := d.appendRow(r, c, r.last+1, part); err != nil {
			return err
		}
	}
	return nil
}

func (d *draft) appendRow(r *run, c *world.Commit, first int64, events []world.Event) error {
	head, body, err := encode(c.ID, c.Build, r.created, events)
	if err != nil {
		return fmt.Errorf("run %s: event %d: %w", r.id, first, err)
	}
	sum := layout.RowSum(r.id, first, world.LogFormat, []byte(head), body)
	d.sheet.log = append(d.sheet.log, logRow{run: r.key, seq: first, n: int32(len(events)), head: head, body: body, sum: sum.Value()})
	d.bytes += len(head) + len(body)
	of := c.OriginRun()
	if c != d.c { // the birth of a child has its parent's values
		of = d.c.Run
	}
	d.hold(r.id, of, events)
	r.last = first + int64(len(events)) - 1
	return nil
}

// encode makes the head and the body of a row. The body is never nil, which would be null.
func encode(id [16]byte, build string, birth time.Time, events []world.Event) (string, []byte, error) {
	head, body, err := layout.AppendRow(make([]byte, 0, 128+256*len(events)), make([]byte, 0, 64), id, build, birth, events)
	return string(head), body, err
}

func (d *draft) notice(kind world.NoticeKind, run string) {
	d.notices = append(d.notices, world.Notice{Kind: kind, Run: run})
}

func (d *draft) classKey(class world.Class) (int32, error) {
	if d.tx != nil {
		return d.w.classes.keyIn(d.ctx, d.tx, class)
	}
	return d.w.classes.key(d.ctx, class)
}

// queueRow is what the queue has of a run.
func (d *draft) queueRow(r *run) (queueRow, error) {
	class, err := d.classKey(r.class)
	if err != nil {
		return queueRow{}, err
	}
	q := queueRow{
		run: r.key, class: class, workflow: r.class.Workflow, running: r.running, paused: r.paused, priority: int16(r.priority), claim: r.claim, wake: orNoTime(r.wake),
	}
	if r.owner != 0 {
		owner := r.owner
		q.owner = &owner
	}
	return q, nil
}

// release gives the run back to the queue.
func (d *draft) release(c *world.Commit, r *run) error {
	row, err := d.releaseRow(c.Release, r)
	if err != nil {
		return err
	}
	var id []byte
	if len(c.Events) == 0 {
		id = slices.Clone(c.ID[:])
	}
	d.lock(r)
	d.sheet.released = append(d.sheet.released, releaseRow{queueRow: row, id: id, resumed: r.paused && d.resumed, last: r.last})
	d.freed = r.key
	rest(d, r)
	return nil
}

// rest has a run that is not to be claimed now give back the places that it does not keep.
func rest(d *draft, r *run) {
	if r.limited {
		d.sheet.limits.rested = append(d.sheet.limits.rested, r.key)
		d.notice(world.NoticeWork, r.id)
	}
}

// releaseRow is the queue row of a run that is given up.
func (d *draft) releaseRow(rel *world.Release, r *run) (queueRow, error) {
	r.wake, r.full, r.blocked = rel.WakeAt, rel.Full, rel.Blocked != nil
	row, err := d.queueRow(r)
	if err != nil {
		return row, err
	}
	if row.blocked, err = blockText(rel.Blocked); err != nil {
		return row, fmt.Errorf("run %s: blocked: %w", r.id, err)
	}
	row.waiting, row.full, row.owner = orNull(clean(rel.Waiting)), rel.Full, nil
	d.gone = append(d.gone, r)
	if !rel.WakeAt.IsZero() { // else nothing but mail makes it ready, and mail that is there already is told when it is found
		d.notice(world.NoticeWork, r.id)
	}
	return row, nil
}

// count notes how the counts of runs change.
func (d *draft) count(workflow string, from, to standing) {
	add := func(s standing, n int64) {
		if !s.live {
			return
		}
		status := world.Pending
		if s.running {
			status = world.Running
		}
		d.total(workflow, string(status), n)
		if s.paused {
			d.total(workflow, world.CountedPaused, n)
		}
		if s.blocked {
			d.total(workflow, world.CountedBlocked, n)
		}
	}
	if from != to {
		add(from, -1)
		add(to, 1)
	}
}

func (d *draft) total(workflow, status string, n int64) {
	d.sheet.totals = append(d.sheet.totals, totalRow{workflow, status, n})
}
