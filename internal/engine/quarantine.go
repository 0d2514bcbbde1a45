package engine

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// quarantine are what may have ended a process before, and what the worker knows of them: see crash_loop.go.
//
//   - One of them has the place at a time; a worker that has not lived for a while gives none.
//   - The place may be kept for a run that was released to be claimed again, for callPatience at most: nobody else has
//     it meanwhile.
//   - While one in quarantine is about to begin no tasks are asked for.
type quarantine struct {
	line  *slots // one, when the worker has lived for a while
	since time.Time
	once  sync.Once
	hush  atomic.Int64 // until when no tasks are asked for, ns since then

	mu      sync.Mutex
	called  string      // the run that is to be evaluated alone next, for which the place is kept; guarded by mu
	uncall  *time.Timer // gives that up; guarded by mu
	calling bool        // it stands in line for a place for such a run; guarded by mu
}

func (p *quarantine) init() { p.line, p.since = newSlots(0, func() {}), time.Now() }

// settle lets there be one in quarantine, in a while: not sooner than the worker has lived for a second or two. Where
// something outside ends its process again
// and again, that would be blamed on whoever runs alone then, if it were somebody each time; when exactly is up to
// chance, as such deaths may be regular.
func (p *quarantine) settle() {
	p.once.Do(func() {
		time.AfterFunc(settleTime+rand.N(settleTime)-time.Since(p.since), func() { p.line.release(1) })
	})
}

// try takes the place, if it is free.
func (p *quarantine) try() bool { return p.line.try(1) == 1 }

// wait calls granted when the caller has the place.
func (p *quarantine) wait(granted func()) { p.line.wait(granted) }

// begins says that one in quarantine has the place and is about to begin, or has just begun. Meanwhile no tasks are
// asked for: one that belongs there too is to be handed back, and if the one
// that begins ends the process before that is durable, it would look as if the other had died alone.
func (p *quarantine) begins(within time.Duration) {
	p.hush.Store(int64(time.Since(p.since) + within))
}

// hushed reports whether no tasks are to be asked for now.
func (p *quarantine) hushed() bool { return time.Since(p.since) < time.Duration(p.hush.Load()) }

// end lets the next one in quarantine have the place, or none.
func (p *quarantine) end(n int) {
	if n > 0 {
		p.hush.Store(0)
		p.line.release(n)
	}
}

// anyRun is called where the place came that a run asked for that is not here: the next one that comes has it.
const anyRun = "*"

// call keeps the place of the only one in quarantine for a run, which is to be claimed again, and reports whether it
// could. If not, it stands in line for those who come later. Where the run
// does not come back, as another worker took it, the place ends.
func (p *quarantine) call(run string) bool {
	kept, first := p.tryCall(run)
	if first {
		p.wait(p.placeCame)
	}
	return kept
}

// tryCall is call without the line. It reports whether the place is kept, and if not, whether nobody stands in line
// yet.
func (p *quarantine) tryCall(run string) (kept, first bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.called == anyRun:
		p.uncall.Stop()
	case p.called != "" || p.calling:
		return false, false
	case !p.try():
		p.calling = true
		return false, true
	}
	p.keepLocked(run)
	return true, false
}

// placeCame is called when the place came that was stood in line for.
func (p *quarantine) placeCame() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calling = false
	p.keepLocked(anyRun)
}

func (p *quarantine) keepLocked(run string) {
	p.called = run
	p.uncall = time.AfterFunc(callPatience, func() {
		if p.comes(run) {
			p.end(1)
		}
	})
}

// comes reports whether the place is kept for a run, which has it then.
func (p *quarantine) comes(run string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.called != run {
		return false
	}
	p.uncall.Stop()
	p.called = ""
	return true
}

// isolation are a session's places as the worker's only one in quarantine.
//
//   - A place that came is kept for the next start, goes with a body, or is over. One that is over ends when what the
//     one in quarantine came to is in the log.
//   - The session stands in line once at most.
//   - The run is struck when its last claims ended with their worker's death, until something is written: see
//     toBeCleared.
type isolation struct {
	all    *quarantine
	box    *mailbox // is told when the place comes
	kept   int
	over   int
	asking bool
	struck bool
}

// get takes the place for a body that is about to start. If it is another's the session stands in line.
func (t *isolation) get() bool {
	if t.kept > 0 {
		t.kept--
	} else if !t.all.try() {
		t.ask()
		return false
	}
	t.all.begins(forLong)
	return true
}

func (t *isolation) ask() {
	if t.asking {
		return
	}
	t.asking = true
	t.all.wait(func() {
		if !t.box.post(message{kind: msgIsolated}) {
			t.all.end(1)
		}
	})
}

// came takes the place that the session stood in line for.
func (t *isolation) came() {
	t.asking = false
	t.kept++
}

// called reports whether a place was kept for the run: it ends with the first commit.
func (t *isolation) called(run string) bool {
	came := t.all.comes(run)
	if came {
		t.over++
	}
	return came
}

// done takes the place of a body that has returned, does not start, or gave it up.
func (t *isolation) done() { t.over++ }

// giveBack ends the places that are kept.
func (t *isolation) giveBack() {
	if t.kept > 0 {
		t.all.end(t.kept)
		t.kept = 0
	}
}

// release ends the places of those in quarantine whose outcome is in the log now.
func (t *isolation) release() {
	t.all.end(t.over)
	t.over = 0
}

// end ends all places.
func (t *isolation) end() {
	t.over += t.kept
	t.kept = 0
	t.release()
}

// strike says whether the run is struck.
func (t *isolation) strike(struck bool) { t.struck = struck }

// isStruck reports whether the run is struck, and nothing was written since.
func (t *isolation) isStruck() bool { return t.struck }
