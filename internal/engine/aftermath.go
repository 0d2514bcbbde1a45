package engine

import "github.com/stepwell/stepwell/world"

// aftermath is what a commit leaves to be done when its bodies were started: the machine sees nothing of it before it
// is durable, and each thing once.
type aftermath struct {
	later    []world.Event // what the machine has not seen yet
	decided  func()        // lets it see what the world has decided; nil: nothing was to be decided
	lookOnce bool          // the machine may have moved: the session looks at it before it waits
}

// leave notes what is to be done.
func (a *aftermath) leave(later []world.Event, decided func()) { a.later, a.decided = later, decided }

// empty returns what is to be done, which is the caller's then.
func (a *aftermath) empty() (later []world.Event, decided func()) {
	later, decided = a.later, a.decided
	a.later, a.decided = nil, nil
	return later, decided
}

// look has the session look at the machine before it waits.
func (a *aftermath) look() { a.lookOnce = true }

// looks reports whether the session is to look, once.
func (a *aftermath) looks() bool {
	look := a.lookOnce
	a.lookOnce = false
	return look
}
