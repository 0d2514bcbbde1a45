package engine

import (
	"context"
	"sync"

	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// holdings are the runs and tasks that the worker has in hand.
//
//   - A run has one session here; one that has released or lost its run gives its place to the next, which waits for
//     its end.
//   - Sessions begin only while the holdings are open, and whoever closes them can wait for all that have begun.
//   - A task is here from before its body starts until its end is durable, or its session has it.
type holdings struct {
	pulse *pulse // is stirred when the worker begins to hold something

	mu sync.Mutex
	// work is the context of sessions: kept, as they begin on whatever goroutine has a run for them; nil: none may begin;
	// guarded by mu.
	work     context.Context
	owned    map[string]owner      // guarded by mu
	tasks    map[taskKey]*heldTask // guarded by mu, and so is what they hold
	sessions sync.WaitGroup
}

// owner is a session as the holdings know it.
type owner struct {
	session *session
	heard   uint64 // the heartbeat before which it was known here
	listed  bool   // the world says, or has said, that the run is its own
}

// isOf reports whether there is a session, and it is that of a claim by a worker.
func isOf(s *session, claim int64, worker string) bool {
	return s != nil && s.own.claim == claim && s.own.worker == worker
}

// taskKey names a task that runs on this worker.
type taskKey struct{ run, step string }

// heldTask is a task that runs on this worker.
type heldTask struct {
	attempt int
	worker  string // ID under which it was claimed or created
	cancel  func(cause error)
	ending  bool // the body has returned, and its end is on its way
}

func (h *holdings) init(p *pulse) {
	h.pulse, h.owned, h.tasks = p, map[string]owner{}, map[taskKey]*heldTask{}
}

// open lets sessions begin, with a context for what they do.
func (h *holdings) open(work context.Context) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.work = work
}

// close lets none begin any more.
func (h *holdings) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.work = nil
}

// wait waits until all sessions have ended. It is called when the holdings are closed.
func (h *holdings) wait() { h.sessions.Wait() }

// adopt starts a session's goroutine, which lives when the run's last one has ended, unless no session may begin.
// listed says that the world has given the run to it.
func (h *holdings) adopt(s *session, heartbeat uint64, listed bool, life func(ctx context.Context)) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	work := h.work
	if work == nil {
		return false
	}
	h.stirLocked()
	before := h.owned[s.own.run].session // has released the run, or lost it, and is about to end
	h.owned[s.own.run] = owner{s, heartbeat, listed}
	h.sessions.Go(func() {
		replay.MakeRoom()
		if before != nil {
			<-before.stay.finished()
		}
		life(work)
	})
	return true
}

// goOn lives on with a session whose goroutine ends.
func (h *holdings) goOn(life func()) { h.sessions.Go(life) }

// forget gives the place of a session up.
func (h *holdings) forget(s *session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.owned[s.own.run].session == s {
		delete(h.owned, s.own.run)
	}
}

// stirLocked makes heartbeats as frequent as they are for who owns something, where this worker begins to.
func (h *holdings) stirLocked() {
	if len(h.owned)+len(h.tasks) == 0 {
		h.pulse.stirs()
	}
}

// some reports whether there are any.
func (h *holdings) some() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.owned)+len(h.tasks) > 0
}

// has reports whether a run has a session here.
func (h *holdings) has(run string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, ok := h.owned[run]
	return ok
}

// tell posts a message to every session.
func (h *holdings) tell(kind messageKind) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, o := range h.owned {
		o.session.box.post(message{kind: kind})
	}
}

// wake has every session look at the time anew.
func (h *holdings) wake() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, o := range h.owned {
		nudge(o.session.box.news)
	}
}

// evaluating lists the sessions that have a machine.
func (h *holdings) evaluating() (list []*session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, o := range h.owned {
		if o.session.eval.evaluating() != nil {
			list = append(list, o.session)
		}
	}
	return list
}

// hold notes a task whose body is about to start.
func (h *holdings) hold(k taskKey, t *heldTask) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stirLocked()
	h.tasks[k] = t
}

// ending notes that the body of an attempt of a task has returned. ended is to be called when its end is durable, or its
// session has it. The next attempt may have begun here by either.
func (h *holdings) ending(k taskKey, attempt int) (ended func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	held := h.tasks[k]
	if held == nil || held.attempt != attempt {
		return func() {}
	}
	held.ending = true
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.tasks[k] == held {
			delete(h.tasks, k)
		}
	}
}

// runs reports whether an attempt of a task is here.
func (h *holdings) runs(k taskKey, attempt int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.tasks[k]
	return t != nil && t.attempt == attempt
}

// taskKeys lists the tasks whose bodies have not returned.
func (h *holdings) taskKeys() []world.TaskKey {
	h.mu.Lock()
	defer h.mu.Unlock()
	keys := make([]world.TaskKey, 0, len(h.tasks))
	for k, t := range h.tasks {
		if !t.ending {
			keys = append(keys, world.TaskKey{Run: k.run, Step: k.step, Attempt: t.attempt})
		}
	}
	return keys
}

// cancelTask cancels a task and reports whether it is here.
func (h *holdings) cancelTask(k taskKey, cause error) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.tasks[k]
	if t != nil {
		t.cancel(cause)
	}
	return t != nil
}

// lose ends everything: the lease was ended by somebody else. It returns how many runs and tasks that were.
func (h *holdings) lose() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, o := range h.owned {
		o.session.box.post(message{kind: msgLost})
	}
	for _, t := range h.tasks {
		t.cancel(world.ErrLeaseLost)
	}
	return len(h.owned) + len(h.tasks)
}

// dispatch gives what a heartbeat told to whom it concerns.
func (h *holdings) dispatch(b world.Heartbeat) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range b.Mail {
		m := &b.Mail[i]
		if o, ok := h.owned[m.Run]; ok {
			o.session.box.postMail(m)
		}
	}
	for _, k := range b.Ended {
		if t := h.tasks[taskKey{k.Run, k.Step}]; t != nil && t.attempt == k.Attempt {
			t.cancel(ErrRunOver)
		}
	}
	for _, run := range b.Lost {
		if o, ok := h.owned[run]; ok {
			o.session.box.post(message{kind: msgLost})
		}
	}
}

// hasAll reports whether all is here that a worker holds. What was held as another worker, before it joined anew, or under an earlier take or as an earlier
// attempt, is not that: a session that has lost its run, or has released it, may be there still.
func (h *holdings) hasAll(worker string, account *world.Account) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range account.Runs {
		if !isOf(h.owned[r.Run].session, r.Claim, worker) {
			return false
		}
	}
	for _, k := range account.Tasks {
		if t := h.tasks[taskKey{k.Run, k.Step}]; t == nil || t.attempt != k.Attempt || t.worker != worker {
			return false
		}
	}
	return true
}

// compare lists what an account has that is not here. A session whose run it has not, though an earlier one had it,
// or its session was known before the heartbeat, has lost it.
func (h *holdings) compare(worker string, heartbeat uint64, account *world.Account) (unknown []stranger) {
	h.mu.Lock()
	defer h.mu.Unlock()
	mine := make(map[string]int64, len(account.Runs))
	for _, r := range account.Runs {
		mine[r.Run] = r.Claim
		if o := h.owned[r.Run]; !isOf(o.session, r.Claim, worker) {
			unknown = append(unknown, stranger{holding{r.Run, "", r.Claim}, r.Last, o.session})
		} else {
			o.listed = true
			h.owned[r.Run] = o
		}
	}
	for _, k := range account.Tasks {
		if t := h.tasks[taskKey{k.Run, k.Step}]; t == nil || t.attempt != k.Attempt {
			unknown = append(unknown, stranger{holding{k.Run, k.Step, int64(k.Attempt)}, 0, h.owned[k.Run].session})
		}
	}
	for run, o := range h.owned {
		s := o.session
		if claim, ok := mine[run]; o.listed && o.heard < heartbeat && s.own.worker == worker && (!ok || claim != s.own.claim) {
			s.box.post(message{kind: msgLost})
		}
	}
	return unknown
}
