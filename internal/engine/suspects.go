package engine

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// suspects are what may have ended a process before, and what the worker knows of them: see suspect.go.
//
//   - One suspect has the turn at a time; a worker that has not lived for a while gives none.
//   - The turn may be kept for a run that was released to be taken again, for callPatience at most: nobody else has
//     it meanwhile.
//   - While a suspect is about to begin no tasks are asked for.
type suspects struct {
	line  *slots // one, when the worker has lived for a while
	since time.Time
	once  sync.Once
	hush  atomic.Int64 // until when no tasks are asked for, ns since then

	mu      sync.Mutex
	called  string      // the run that is to be evaluated alone next, for which the turn is kept; guarded by mu
	uncall  *time.Timer // gives that up; guarded by mu
	calling bool        // it stands in line for a turn for such a run; guarded by mu
}

func (p *suspects) init() { p.line, p.since = newSlots(0, func() {}), time.Now() }

// settle lets there be a suspect, in a while: not sooner than the worker has lived for a second or two. Where
// something outside ends its process again
// and again, that would be blamed on whoever runs alone then, if it were somebody each time; when exactly is up to
// chance, as such deaths may be regular.
func (p *suspects) settle() {
	p.once.Do(func() {
		time.AfterFunc(settleTime+rand.N(settleTime)-time.Since(p.since), func() { p.line.release(1) })
	})
}

// try takes the turn, if it is free.
func (p *suspects) try() bool { return p.line.try(1) == 1 }

// wait calls granted when the caller has the turn.
func (p *suspects) wait(granted func()) { p.line.wait(granted) }

// begins says that a suspect has the turn and is about to begin, or has just begun. Meanwhile no tasks are asked for:
// one that is a suspect too is to be handed back, and if the one
// that begins ends the process before that is durable, it would look as if the other had died alone.
func (p *suspects) begins(within time.Duration) {
	p.hush.Store(int64(time.Since(p.since) + within))
}

// hushed reports whether no tasks are to be asked for now.
func (p *suspects) hushed() bool { return time.Since(p.since) < time.Duration(p.hush.Load()) }

// end lets the next suspect have the turn, or none.
func (p *suspects) end(turns int) {
	if turns > 0 {
		p.hush.Store(0)
		p.line.release(turns)
	}
}

// anyRun is called where the turn came that a run asked for that is not here: the next one that comes has it.
const anyRun = "*"

// call keeps the turn of the only suspect for a run, which is to be taken again, and reports whether it could. If
// not, it stands in line for those who come later. Where the run
// does not come back, as another worker took it, the turn ends.
func (p *suspects) call(run string) bool {
	kept, first := p.tryCall(run)
	if first {
		p.wait(p.turnCame)
	}
	return kept
}

// tryCall is call without the line. It reports whether the turn is kept, and if not, whether nobody stands in line yet.
func (p *suspects) tryCall(run string) (kept, first bool) {
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

// turnCame is called when the turn came that was stood in line for.
func (p *suspects) turnCame() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calling = false
	p.keepLocked(anyRun)
}

func (p *suspects) keepLocked(run string) {
	p.called = run
	p.uncall = time.AfterFunc(callPatience, func() {
		if p.comes(run) {
			p.end(1)
		}
	})
}

// comes reports whether the turn is kept for a run, which has it then.
func (p *suspects) comes(run string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.called != run {
		return false
	}
	p.uncall.Stop()
	p.called = ""
	return true
}

// turns are a session's turns as the worker's only suspect.
//
//   - A turn that came is kept for the next start, goes with a body, or is over. One that is over ends when what the
//     suspect came to is in the log.
//   - The session stands in line once at most.
//   - The run is struck when its last takes ended with their worker's death, until something is written: see acquit.
type turns struct {
	all    *suspects
	box    *mailbox // is told when the turn comes
	kept   int
	over   int
	asking bool
	struck bool
}

// get takes the turn for a body that is about to start. If it is another's the session stands in line.
func (t *turns) get() bool {
	if t.kept > 0 {
		t.kept--
	} else if !t.all.try() {
		t.ask()
		return false
	}
	t.all.begins(forLong)
	return true
}

func (t *turns) ask() {
	if t.asking {
		return
	}
	t.asking = true
	t.all.wait(func() {
		if !t.box.post(message{kind: msgTurn}) {
			t.all.end(1)
		}
	})
}

// came takes the turn that the session stood in line for.
func (t *turns) came() {
	t.asking = false
	t.kept++
}

// called reports whether a turn was kept for the run: it ends with the first commit.
func (t *turns) called(run string) bool {
	came := t.all.comes(run)
	if came {
		t.over++
	}
	return came
}

// done takes the turn of a body that has returned, does not start, or gave it up.
func (t *turns) done() { t.over++ }

// release ends the turns that are kept.
func (t *turns) release() {
	if t.kept > 0 {
		t.all.end(t.kept)
		t.kept = 0
	}
}

// absolve ends the turns of suspects whose outcome is in the log now.
func (t *turns) absolve() {
	t.all.end(t.over)
	t.over = 0
}

// end ends all turns.
func (t *turns) end() {
	t.over += t.kept
	t.kept = 0
	t.absolve()
}

// strike says whether the run is struck.
func (t *turns) strike(struck bool) { t.struck = struck }

// isStruck reports whether the run is struck, and nothing was written since.
func (t *turns) isStruck() bool { return t.struck }
