package sqlite

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

var (
	insertQueue  = load("insert_queue")
	updateQueue  = load("update_queue")
	releaseQueue = load("release_queue")
	actQueue     = load("act_queue")
	tryBlocked   = load("try_blocked")
	rightQueue   = load("right_queue")
	deleteQueue  = load("delete_queue")
	claimRun     = load("claim_run")
	claimedRun   = load("claimed_run")
	putRunAside  = load("put_run_aside")
)

// queue has a row for each run that is not over: who owns it, or when it is due.
//
//   - run.live says that there is a row, and what follows in the run is the row's. Whatever changes it is counted.
//   - A run has one owner, who is alive, or is due at some time, by mail or by nothing at all.
//   - A claim is one more than the one before it: who owned the run earlier can be told from who owns it now.
type queue struct {
	tx       *txn
	runs     *runs
	classes  *classes
	totals   *totals
	workers  *workers
	inbox    *inbox
	limits   limits
	holds    holds
	news     rules.LapseNews
	fairness rules.Fairness
}

// queued is what events say about the queue row.
type queued struct {
	class           int64
	running, paused bool
}

func (r *run) queued() queued { return queued{class: r.class, running: r.running, paused: r.paused} }

// add gives a new run its row. One that its worker gives up at once is never seen as owned; where the commit has sent
// mail to it as well, it is released in the usual way.
func (qu *queue) add(r *run, rel *world.Release) error {
	if rel != nil && !qu.inbox.mayWait(r) {
		return qu.addReleased(r, rel)
	}
	held, err := qu.holds.has(r.workflow)
	if held = held && r.owner == 0; err != nil {
		return err
	}
	if !held { // else it asks for its places when it is claimed
		if err := qu.limits.enter(r); err != nil {
			return err
		}
	}
	places, keeps, has, parked, rates := r.placed.columns()
	if err := qu.tx.exec(insertQueue, r.key, r.class, bit(r.running), r.priority, key(r.owner), r.claim, micros(r.wake), bit(r.paused), nil, int64(0), nil,
		places, keeps, has, parked, bit(held), rates); err != nil {
		return err
	}
	qu.totals.recount(r, r.standing())
	if r.owner == 0 {
		qu.tx.notice(world.NoticeWork, r.id)
	} else {
		qu.workers.own(r.owner, r, true)
	}
	return nil
}

// lapses notes by when a new run is to begin.
func (qu *queue) lapses(r *run, events []world.Event) error {
	at := world.Lapses(r.created, events)
	if at.IsZero() || r.owner != 0 && r.running {
		return nil
	}
	if qu.news.Tells(at, qu.tx.now()) {
		qu.tx.notice(world.NoticeSchedule, "")
	}
	return qu.tx.exec(insertLapse, at.UnixMicro(), r.key, int64(events[0].Birth.StartTTL))
}

func (qu *queue) addReleased(r *run, rel *world.Release) error {
	blocked, err := blockText(r, rel.Blocked)
	if err != nil {
		return err
	}
	r.owner = 0
	if err := qu.tx.exec(insertQueue, r.key, r.class, bit(r.running), r.priority, nil, r.claim, micros(rel.WakeAt), bit(r.paused), blocked, bit(rel.Full),
		orNull(rel.Waiting), nil, int64(0), int64(0), nil, int64(0), int64(0)); err != nil {
		return err
	}
	qu.released(r, r.queued(), rel)
	return nil
}

// key keeps 0 as null.
func key(k int64) any {
	if k == 0 {
		return nil
	}
	return k
}

// update makes the row of a run say what its events say.
func (qu *queue) update(r *run, q queued) error {
	if q == r.queued() {
		return nil
	}
	r.class, r.running, r.paused = q.class, q.running, q.paused
	qu.totals.recount(r, r.standing())
	return qu.tx.exec(updateQueue, r.key, r.class, bit(r.running), bit(r.paused))
}

// release gives the run back to the queue, and tells whether mail waits.
func (qu *queue) release(c *world.Commit, r *run, q queued) (mail bool, err error) {
	rel := c.Release
	blocked, err := blockText(r, rel.Blocked)
	if err != nil {
		return false, err
	}
	resumed := false
	if q.paused { // what waits may end the pause: then the run is to be claimed for that
		if resumed, err = qu.inbox.actWaits(r, world.RunResumed, world.RunResumed); err != nil {
			return false, err
		}
	}
	var id any // of a commit with events, the log has it
	if len(c.Events) == 0 {
		id = c.ID[:]
	}
	if err := qu.tx.exec(releaseQueue, r.key, q.class, bit(q.running), bit(q.paused), micros(rel.WakeAt), blocked, bit(rel.Full), orNull(rel.Waiting), id, bit(resumed), r.last); err != nil {
		return false, err
	}
	qu.workers.own(r.owner, r, false)
	r.running = q.running
	if err := qu.limits.rest(r, false); err != nil {
		return false, err
	}
	if mail, err = qu.inbox.waits(r); err != nil {
		return false, err
	}
	qu.released(r, q, rel)
	return mail, nil
}

// released follows what gave the run up.
func (qu *queue) released(r *run, q queued, rel *world.Release) {
	qu.totals.recount(r, standing{live: true, running: q.running, paused: q.paused, blocked: rel.Blocked != nil})
	qu.runs.reread(r.id) // its row is, when somebody takes it
	qu.tx.notice(world.NoticeWork, r.id)
}

// blockText is how the queue keeps why a run cannot go on.
func blockText(r *run, b *world.Block) (any, error) {
	if b == nil {
		return nil, nil
	}
	text, err := json.Marshal(b)
	if err != nil {
		return nil, fmt.Errorf("run %s: blocked: %w", r.id, err)
	}
	return string(text), nil
}

// retry makes a run that is blocked due at once.
func (qu *queue) retry(r *run) error {
	r.wake = qu.tx.now()
	if err := qu.tx.exec(tryBlocked, r.key, micros(r.wake)); err != nil {
		return err
	}
	qu.tx.notice(world.NoticeWork, r.id)
	return nil
}

// resumes has a run that is paused claimed for the resumption that waits.
func (qu *queue) resumes(r *run) error {
	qu.tx.notice(world.NoticeWork, r.id)
	return qu.tx.exec(actQueue, r.key, bit(true), micros(r.wake), bit(true), r.last)
}

// pause says that an act has paused a run, or resumed it.
func (qu *queue) pause(r *run, paused bool) error {
	r.paused = paused
	qu.totals.recount(r, r.standing())
	if !paused {
		r.wake = rules.WakeAfter(r.running, r.wake, qu.tx.now())
		qu.tx.notice(world.NoticeWork, r.id)
	}
	if err := qu.tx.exec(actQueue, r.key, bit(paused), micros(r.wake), bit(false), r.last); err != nil || !paused {
		return err
	}
	return qu.limits.rest(r, false)
}

// right makes the row of a run say what its log says. Counts are not changed: they are made anew.
func (qu *queue) right(r *run, running, paused bool) (err error) {
	resumes := false
	if paused && r.owner == 0 {
		if resumes, err = qu.inbox.actWaits(r, world.RunResumed, world.RunResumed); err != nil {
			return err
		}
	}
	if err := qu.tx.exec(rightQueue, r.key, bit(running), bit(paused), bit(resumes)); err != nil {
		return err
	}
	r.running, r.paused = running, paused
	r.isCounted()
	if paused && r.owner == 0 {
		if err := qu.limits.rest(r, false); err != nil {
			return err
		}
	}
	qu.tx.notice(world.NoticeWork, r.id)
	return nil
}

// drop takes a run that is over out of the queue.
func (qu *queue) drop(r *run) error {
	if err := qu.limits.rest(r, true); err != nil {
		return err
	}
	return qu.tx.exec(deleteQueue, r.key)
}

// give makes the worker the run's owner. What is in the queue and is no run is put aside, and nothing is given; nor is a
// run for which there is no place: it stands in line from then on.
func (qu *queue) give(key int64, wk *worker) (t world.ClaimedRun, err error) {
	if whole, err := qu.limits.seek(key, wk, qu.classes); err != nil || !whole {
		return t, err
	}
	if err := qu.tx.exec(claimRun, key, wk.key); err != nil {
		return t, err
	}
	var class, had int64
	var blocked []byte
	found, err := qu.tx.one(claimedRun, func(r row) error {
		t.Run, t.Claim, class = r.text(0), r.int(1), r.int(2)
		t.Status = world.Pending
		if r.bool(3) {
			t.Status = world.Running
		}
		t.Priority, t.Paused, blocked, t.Seq = int(r.int(4)), r.bool(5), r.bytes(6), r.int(7)
		t.Strikes, t.Segment, had = int(r.int(8)), r.int(9), r.int(10)
		return nil
	}, key)
	if err == nil && !found {
		err = qu.tx.exec(putRunAside, key)
	}
	if err != nil || !found {
		return world.ClaimedRun{}, err
	}
	if t.Class, err = qu.classes.name(class); err != nil {
		return t, err
	}
	t.Blocked = world.ReadBlock(blocked)
	qu.runs.reread(t.Run)
	r, err := qu.runs.get(t.Run)
	if err == nil && (r == nil || r.key != key) { // its ID is another's, or damaged
		err, t = qu.tx.exec(putRunAside, key), world.ClaimedRun{}
		return t, err
	}
	if err != nil {
		return t, err
	}
	kept := world.Run{Damage: r.damage}
	kept.CheckEnd(t.Seq, had)
	if t.Class.Workflow == "" || t.Class.Workflow != r.workflow && r.damage == "" {
		kept.CheckClass(&t.Class, r.workflow, class)
	}
	r.last, t.Damage = t.Seq, kept.Damage
	if t.Mail, err = qu.inbox.of(r); err != nil {
		return t, err
	}
	t.Paused = t.Paused && !slices.ContainsFunc(t.Mail, world.Mail.Resumes)
	qu.tx.count().claims++
	qu.workers.own(wk.key, r, true)
	return t, nil
}
