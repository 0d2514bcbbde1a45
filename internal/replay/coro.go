package replay

import (
	"fmt"
	"iter"
	"runtime"
	"runtime/debug"
	"sync/atomic"

	"github.com/stepwell/stepwell/world"
)

// coro is one coroutine of a workflow. Control passes between it and the machine by iter.Pull, which costs about 100 ns a
// switch: each has a goroutine of its own, and one of them runs at a time.
type coro struct {
	m      *Machine
	by     *coro  // that began it; nil: the machine did
	path   string // "" is the workflow function itself
	next   func() (struct{}, bool)
	stop   func()
	yield  func(struct{}) bool
	gen    uint64 // grows each time it is made ready, so that a second wake-up of one wait is void
	ended  bool
	names  map[name]*int  // uses of each kind and name so far
	spawns map[string]int // coroutines spawned under each name so far

	goroutine atomic.Uintptr // the coroutine's own, as self has it
	crashed   func()         // what follows for others when it panics, where that fails the run; nil: nothing
	probing   bool           // resumed only to note in pcs where it is blocked
	pcs       []uintptr
}

type name struct {
	kind world.Kind
	name string
}

// PanicError is a panic in workflow code. It blocks the run; it does not fail it, unless [Config].Fails says so.
type PanicError struct {
	Value any    // what was panicked with; nil for runtime.Goexit
	Stack []byte // of the coroutine
}

func (e *PanicError) Error() string {
	if e.Value == nil {
		return "workflow code called runtime.Goexit (t.FailNow does)"
	}
	return fmt.Sprintf("workflow code panicked: %v", e.Value)
}

// Thrown returns what was panicked with, if that is an error. It is the author's, and not unwrapped: its causes may form a circle.
func (e *PanicError) Thrown() error {
	err, _ := e.Value.(error)
	return err
}

// spawn makes a coroutine that will run fn, and queues it.
func (m *Machine) spawn(path string, fn func()) *coro {
	c := &coro{m: m, by: m.current.Load(), path: path}
	c.next, c.stop = iter.Pull(func(yield func(struct{}) bool) {
		c.yield = yield
		c.goroutine.Store(self())
		if path == "" { // it decodes the input; what it spawns is small, and there may be many
			MakeRoom()
		}
		c.run(fn)
	})
	m.coros = append(m.coros, c)
	m.ready.push(c)
	return c
}

// run is the body of a coroutine: fn, with whatever it throws turned into the machine's failure. A Goexit of user code goes on to
// the goroutine that feeds the machine, as iter.Pull has it; the engine is prepared.
func (c *coro) run(fn func()) {
	returned := false
	defer func() {
		c.ended = true
		if returned {
			return
		}
		thrown := recover() // also what deferred functions throw while the coroutine is unwound: it must not end the process
		if c.m.closing.Load() {
			return
		}
		if c.m.failure == c.m.thrown.early {
			c.m.failure = nil
		}
		if err := (&PanicError{Value: thrown, Stack: debug.Stack()}); !c.crashes(err) {
			c.m.fail(err)
		}
	}()
	fn()
	returned = true
}

// resume gives control to the coroutine until it blocks or ends.
func (c *coro) resume() {
	c.m.resumes.Add(1)
	c.m.current.Store(c)
	defer c.m.current.Store(nil) // also when the code calls Goexit
	c.next()
}

// block gives control back to the machine until the coroutine is resumed. When the machine is closed meanwhile the coroutine is unwound
// with Goexit, which user code cannot recover from.
func (c *coro) block() {
	for c.yield(struct{}{}) {
		if !c.probing {
			return
		}
		c.pcs = callers(3)
	}
	runtime.Goexit()
}

// where says where in the author's code the coroutine is blocked.
func (c *coro) where() string {
	if c.ended || c.yield == nil {
		return ""
	}
	c.probing = true
	c.next()
	c.probing = false
	return where(c.pcs)
}

// uses is the number of uses of a kind and name in this coroutine, or nil where it has not used it.
func (c *coro) uses(k world.Kind, s string) *int { return c.names[name{k, s}] }

// counts begins to count the uses of a kind and name.
func (c *coro) counts(k world.Kind, s string) *int {
	if c.names == nil {
		c.names = make(map[name]*int, 8)
	}
	n := new(int)
	c.names[name{k, s}] = n
	c.m.named++
	return n
}

// child is the path of the next coroutine that is spawned here under a name.
func (c *coro) child(s string) string {
	if c.spawns == nil {
		c.spawns = make(map[string]int, 4)
	}
	n := c.spawns[s]
	c.spawns[s] = n + 1
	return world.RunPath(c.path, s, n)
}

// queue is a first-in, first-out queue of coroutines that keeps its memory.
type queue struct {
	items []*coro
	head  int
}

func (q *queue) push(c *coro) { q.items = append(q.items, c) }

func (q *queue) pop() *coro {
	if q.head == len(q.items) {
		q.items, q.head = q.items[:0], 0
		return nil
	}
	c := q.items[q.head]
	q.items[q.head] = nil
	q.head++
	return c
}
