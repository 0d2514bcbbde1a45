package engine

import (
	"sync"

	"github.com/stepwell/stepwell/world"
)

// Ended is how a run ended, as this worker committed it.
type Ended struct {
	Workflow string
	Status   world.Status
	Output   []byte
	Apart    string // the value that Output refers to, which is kept apart; "": it is the value
	Error    *world.Error
}

// awaiters are callers in this process that wait for the end of a run, so that they need not read it from the world.
type awaiters struct {
	mu    sync.Mutex
	byRun map[string][]chan Ended // guarded by mu; each has room for its one value
}

// Await tells of the end of a run, if this worker commits it: the channel gets one value then. stop gives the place up. owned reports whether this
// worker has the run just now, and has not told of its end yet.
func (e *Engine) Await(run string) (ended <-chan Ended, owned bool, stop func()) {
	c := make(chan Ended, 1)
	a := &e.awaiters
	a.mu.Lock()
	a.byRun[run] = append(a.byRun[run], c)
	a.mu.Unlock()
	owned = e.holdings.has(run) // it is forgotten before its end is told
	return c, owned, func() { a.drop(run, c) }
}

func (a *awaiters) drop(run string, c chan Ended) {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := a.byRun[run]
	for i, o := range list {
		if o == c {
			list = append(list[:i:i], list[i+1:]...)
			break
		}
	}
	if len(list) == 0 {
		delete(a.byRun, run)
	} else {
		a.byRun[run] = list
	}
}

// tellEnd gives the end of the session's run to those who wait for it. Who asks later finds that nobody owns it, and the end in the world.
func (s *session) tellEnd() {
	s.e.holdings.forget(s)
	s.e.awaiters.tell(s.course.state())
}

// tell gives the end of a run to those who wait for it.
func (a *awaiters) tell(s *world.State) {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := a.byRun[s.ID]
	if len(list) == 0 {
		return
	}
	delete(a.byRun, s.ID)
	for _, c := range list {
		c <- Ended{Workflow: s.Birth.Workflow, Status: s.Status, Output: s.Output, Apart: s.OutputApart, Error: s.Error}
	}
}
