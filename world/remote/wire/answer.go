package wire

// This file has what all answers have in common.

// Answer stands in each answer. What lacks it was said by no server, but by something in between: an empty object, say.
type Answer struct {
	OK bool `json:"ok"` // true
}

// Say makes it one of a server.
func (a *Answer) Say() { a.OK = true }

// Said reports whether it is one of a server.
func (a *Answer) Said() bool { return a.OK }

// Reply is what a call can be answered with: each has an [Answer] in it.
type Reply interface {
	Say()
	Said() bool
}
