package replay

// This file tells whether the running goroutine panics, or is being unwound by runtime.Goexit: then its deferred
// functions run, and what they ask for must not be done. Every operation asks, so that it has to cost nothing.
//
// Go has no call for it. The stack does not say it either: a deferred function that has recovered still has the panic
// below it, and may ask for what it likes. The runtime keeps the panics of a goroutine as a list in its record of it,
// empty as a rule, each with a mark where it was recovered. Where these stand is found out once, when the program
// starts, by panicking and looking (see measure), and then tried out; reading it is three loads. Where that fails, as
// on processors for which there is no such code here, the stack is asked, which takes a microsecond; a recovered
// panic counts there too, until its deferred function has returned.

import (
	"errors"
	"runtime"
)

// ErrPanicking is what an operation returns that a deferred function asks for while the code panics: nothing is done,
// and the run is blocked.
var ErrPanicking = errors.New("workflow code that panics cannot do this in a deferred function: recover first")

var errEarly = errors.New("it asked for something in a deferred function before it had recovered from a panic")

// panicking reports whether a panic, or a Goexit, that is not recovered unwinds the running goroutine.
func panicking() bool {
	if !measured.ok {
		return panicBelow()
	}
	return unwinds(measured.panics, measured.link, measured.recovered)
}

// panicBelow reports whether the functions that called this one are called by a panic, recovered or not, or by Goexit.
func panicBelow() bool {
	var pcs [64]uintptr
	for skip := 2; ; skip += len(pcs) {
		n := runtime.Callers(skip, pcs[:])
		frames := runtime.CallersFrames(pcs[:n])
		for more := n > 0; more; {
			var f runtime.Frame
			if f, more = frames.Next(); f.Function == "runtime.gopanic" || f.Function == "runtime.Goexit" {
				return true
			}
		}
		if n < len(pcs) {
			return false
		}
	}
}
