package replay

// This file looks at a machine from outside while it runs: for reports about code that does not give control back.

import (
	"bytes"
	"fmt"
	"runtime"
)

// Evaluating reports whether workflow code has control just now; round is another number each time it gets it. It may be called from anywhere.
func (m *Machine) Evaluating() (round uint64, on bool) {
	c := m.current.Load()
	return m.resumes.Load(), c != nil
}

// mostStacks bounds what Stack reads, in bytes.
const mostStacks = 8 << 20

// Stack is the stack of the workflow code that has control just now, or nil. It stops the world while it reads the stacks of all goroutines. It may be
// called from anywhere.
func (m *Machine) Stack() []byte {
	c := m.current.Load()
	if c == nil {
		return nil
	}
	buf := make([]byte, 64<<10)
	n := runtime.Stack(buf, true)
	for n == len(buf) && n < mostStacks {
		buf = make([]byte, 4*len(buf))
		n = runtime.Stack(buf, true)
	}
	run := []byte("internal/replay.(*coro).run(")
	mine := fmt.Appendf(nil, "%s%p", run, c)
	var any []byte
	for g := range bytes.SplitSeq(buf[:n], []byte("\n\n")) {
		head, _, _ := bytes.Cut(g, []byte("\n"))
		switch {
		case bytes.Contains(head, []byte("[coroutine")): // it waits for the machine
		case bytes.Contains(g, mine):
			return g
		case any == nil && bytes.Contains(g, run):
			any = g
		}
	}
	return any
}
