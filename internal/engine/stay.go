package engine

import (
	"cmp"
	"context"
	"time"
)

// stay is how long a session goes on, and what became of it.
//
//   - A session that drains starts nothing any more; one that abandons its bodies drains too.
//   - Others wait for its very end, and look at what became of it only then.
//   - One that has ended never goes on; one that is lost has ended, and its run is somebody else's.
type stay struct {
	slice time.Duration // on demand: for how long it works, about; 0: without end
	// caller is that of a message: it ends the slice too. It is kept to be asked, as the session's own message of its end
	// may be behind others; nil: nobody waits.
	caller    context.Context
	draining  bool
	abandoned bool
	ended     bool // released, terminal or lost
	lost      bool
	came      Came          // "": CameDone
	done      chan struct{} // closed at the very end
}

// begin begins a stay, finish says that its session is gone, and finished is closed then: anybody may wait for it.
func (t *stay) begin()                    { t.done = make(chan struct{}) }
func (t *stay) finish()                   { close(t.done) }
func (t *stay) finished() <-chan struct{} { return t.done }

// on begins a stay on demand.
func (t *stay) on(caller context.Context, slice time.Duration) { t.slice, t.caller = slice, caller }

// limit calls end when the slice is over, if there is one. It is called when the run is loaded, so that a long log
// does not use up the time of every slice.
func (t *stay) limit(end func()) (stop func()) {
	if t.slice <= 0 {
		return func() {}
	}
	timer := time.AfterFunc(t.slice, end)
	return func() { timer.Stop() }
}

// heed drains where the caller has gone: the message that says so may be behind others.
func (t *stay) heed() {
	if t.caller != nil && t.caller.Err() != nil {
		t.draining = true
	}
}

func (t *stay) drain()           { t.draining = true }
func (t *stay) abandon()         { t.draining, t.abandoned = true, true }
func (t *stay) drains() bool     { return t.draining }
func (t *stay) abandons() bool   { return t.abandoned }
func (t *stay) isOver() bool     { return t.ended }
func (t *stay) isLost() bool     { return t.lost }
func (t *stay) end()             { t.ended = true }
func (t *stay) lose()            { t.ended, t.lost, t.came = true, true, CameBusy }
func (t *stay) leaves(what Came) { t.came = what }

// outcome is what became of it, when it is done.
func (t *stay) outcome() Came { return cmp.Or(t.came, CameDone) }
