package courier

// This file keeps what a consumer has received and not ended: messages that are worked on, and some that wait for a
// handler. All of them are renewed.

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/stepwell/stepwell/world"
)

const (
	aheadTime = 20 * time.Millisecond // what waits for a handler waits for about so long
	staleTime = time.Second           // and is given back when it has waited for so long: the handlers stand still
)

// stock is what one program has of a queue.
type stock struct {
	changed chan struct{} // capacity 1: a handler has ended, or taken the next message
	some    chan struct{} // capacity 1: there is something to renew

	mu      sync.Mutex
	out     map[string]*working // all, by receipt
	waiting []*working          // those that wait for a handler, in order
	busy    int                 // handlers
	late    int                 // ends that could not be written yet: nothing is received in their place
	pace    time.Duration       // that a handler takes for a message, about; 0: it is not known
}

// working is a message that was received.
type working struct {
	m          *world.Message
	ctx        context.Context // of its handler
	cancel     context.CancelCauseFunc
	visibility time.Duration // as it was received
	received   time.Time
	renewed    time.Time // when that was asked for last
	since      time.Time // a call that is known to have come to it began then: ours for its visibility
}

func (s *stock) init() {
	s.changed, s.some, s.out = make(chan struct{}, 1), make(chan struct{}, 1), map[string]*working{}
}

func tell(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// own has a message renewed until it is disowned, which was asked for at a time of this program. Its visibility is
// known from how it was received, at a time of the store.
func (s *stock) own(handlers context.Context, m *world.Message, at, asked time.Time) *working {
	now := time.Now()
	w := &working{m: m, visibility: m.Until.Sub(at), received: now, renewed: now, since: asked}
	w.ctx, w.cancel = context.WithCancelCause(handlers)
	s.mu.Lock()
	s.out[m.Receipt] = w
	s.mu.Unlock()
	tell(s.some)
	return w
}

func (s *stock) disown(w *working) {
	s.mu.Lock()
	delete(s.out, w.m.Receipt)
	s.mu.Unlock()
	w.cancel(nil)
}

// ours reports whether nobody else can have a message: a part of its time is left out, for clocks that differ.
func (s *stock) ours(w *working) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(w.since) < w.visibility-w.visibility/10
}

// begin reports whether a handler is to be started for a message; else it waits for one.
func (s *stock) begin(w *working, parallel int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy < parallel {
		s.busy++
		return true
	}
	s.waiting = append(s.waiting, w)
	return false
}

// next is what a handler goes on with; nil: it has ended.
func (s *stock) next() (w *working) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) > 0 {
		w = s.waiting[0]
		s.waiting = slices.Delete(s.waiting, 0, 1)
	} else {
		s.busy--
	}
	tell(s.changed)
	return w
}

// took notes how long a handler has worked.
func (s *stock) took(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pace > 0 {
		d = s.pace + (d-s.pace)/8
	}
	s.pace = max(d, 1)
}

// free is for how many messages there are handlers, and how many may wait beside: what they come to in aheadTime. Less
// than none is free where more wait.
func (s *stock) free(parallel int) (n, ahead int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pace > 0 {
		ahead = int(min(time.Duration(parallel)*aheadTime/s.pace, world.MaxReceive))
	}
	return parallel - s.busy - len(s.waiting) - s.late, ahead
}

// unended notes ends that could not be written; n is less than 0 where they are, or are given up.
func (s *stock) unended(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.late += n
	tell(s.changed)
}

func (s *stock) working() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.busy > 0
}

// drop takes out what has waited for so long.
func (s *stock) drop(age time.Duration) (dropped []*working) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = slices.DeleteFunc(s.waiting, func(w *working) bool {
		waited := time.Since(w.received)
		if waited < age {
			return false
		}
		s.pace = max(s.pace, waited) // nothing is received ahead before a handler has shown itself quick
		dropped = append(dropped, w)
		return true
	})
	return dropped
}

// due is what is to be renewed: a third of its time is over.
func (s *stock) due() (all []world.Settlement, empty bool) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for receipt, w := range s.out {
		if now.Sub(w.renewed) >= w.visibility/3 {
			w.renewed = now
			all = append(all, world.Settlement{Receipt: receipt, Kind: world.Extend, After: max(w.visibility, world.MinVisibility)})
		}
	}
	return all, len(s.out) == 0
}

// renewed notes what came of a renewal that was asked for then. What is somebody else's by now is told so.
func (s *stock) renewed(some []world.Settlement, asked time.Time, done []bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, x := range some {
		switch w := s.out[x.Receipt]; {
		case w == nil:
		case err != nil:
			w.renewed = time.Time{} // again at once
		case !done[i]:
			w.cancel(world.ErrReceipt)
		default:
			w.since = asked
		}
	}
}

// keep renews what was received, and gives back what no handler comes to. It waits for neither.
func (c *Consumer) keep(ctx context.Context) {
	var calls sync.WaitGroup
	defer calls.Wait()
	for rest(ctx, world.MinVisibility/4) {
		if dropped := c.stock.drop(staleTime); len(dropped) > 0 {
			calls.Go(func() { c.giveBack(dropped) })
		}
		all, empty := c.stock.due()
		if empty { // nothing wakes it before there is something
			select {
			case <-c.stock.some:
			case <-ctx.Done():
			}
			continue
		}
		if len(all) > 0 {
			calls.Go(func() { c.renew(ctx, all) })
		}
	}
}

// renew says that these are still worked on. A call that hangs is given up when the next would be due.
func (c *Consumer) renew(ctx context.Context, all []world.Settlement) {
	ctx, cancel := context.WithTimeout(ctx, c.Visibility/3)
	defer cancel()
	for some := range slices.Chunk(all, world.MaxBatch) {
		asked := time.Now()
		done, err := c.Keep.SettleMessages(ctx, some)
		c.stock.renewed(some, asked, done, err)
	}
}
