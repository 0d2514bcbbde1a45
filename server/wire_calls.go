package server

// This file does once what comes twice: a balancer may send a request to the server a second time, and nobody knows which answer the client sees.

import (
	"context"
	"fmt"
	"hash/maphash"
	"strings"
	"sync"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

// calls are those that came last, by the names that their clients gave them.
type calls struct {
	mu    sync.Mutex
	known map[string]*call // guarded by mu, as all that follows
	order []*call          // oldest first
	bytes int              // of the answers that are kept
}

// call is one that has begun.
type call struct {
	name string
	done chan struct{} // closed when the rest is there
	out  []byte        // as it is sent; nil: it is not kept
	err  error
}

// Bounds of what is remembered. A copy that comes later than that is refused by what it says: the number of a claim, a position, an ID.
const (
	mostCalls     = 10_000
	mostCallBytes = 4 << 20
	mostKept      = 64 << 10
)

// errForgotten: the call was made, and what it came to is not known any more.
var errForgotten = fmt.Errorf("%w: this request came before, and its answer is not kept", world.ErrUnknownOutcome)

// callOf names a call: by its client's word, for that client's key, this route and this body. "": it has no name.
func (d *doors) callOf(r *request) string {
	name := r.Header.Get(wire.CallHeader)
	if !isCallName(name) {
		return ""
	}
	return fmt.Sprintf("%s %s %x %s", r.who(), r.route.op.id, maphash.Bytes(d.seed, r.body), name)
}

func isCallName(name string) bool {
	return name != "" && len(name) <= 64 && !strings.ContainsFunc(name, func(c rune) bool {
		return !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z')
	})
}

// once makes a call, unless one with its name was made: then it waits for that one, and has its answer.
func (c *calls) once(ctx context.Context, name string, do func() ([]byte, error)) ([]byte, error) {
	if name == "" {
		return do()
	}
	mine, other := c.begin(name)
	if other != nil {
		select {
		case <-other.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if other.err == nil && other.out == nil {
			return nil, errForgotten
		}
		return other.out, other.err
	}
	defer close(mine.done)
	mine.err = errForgotten // where it panics
	out, err := do()
	if mine.err = err; err == nil {
		c.keep(mine, out)
	}
	return out, err
}

func (c *calls) begin(name string) (mine, other *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if other = c.known[name]; other != nil {
		return nil, other
	}
	if c.known == nil {
		c.known = map[string]*call{}
	}
	mine = &call{name: name, done: make(chan struct{})}
	c.known[name] = mine
	c.order = append(c.order, mine)
	c.trimLocked()
	return mine, nil
}

// keep keeps an answer, if there is room.
func (c *calls) keep(mine *call, out []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(out) <= mostKept && c.known[mine.name] == mine {
		mine.out = out
		c.bytes += cap(out)
		c.trimLocked()
	}
}

func (c *calls) trimLocked() {
	for len(c.order) > mostCalls || c.bytes > mostCallBytes {
		first := c.order[0]
		c.order[0] = nil
		c.order = c.order[1:]
		c.bytes -= cap(first.out)
		delete(c.known, first.name)
	}
}
