package server

// This file gives runs and tasks to remote workers: at once, or when there is something. Who waits holds nothing of the database.

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

var (
	// errElsewhere: nobody here can know what a take came to.
	errElsewhere = errors.New("unknown outcome")
	// errFence stands for the answer to what was no take.
	errFence = errors.New("no take")
)

// Bounds of a take.
const (
	mostTakeWait = 30 * time.Second
	mostTaken    = 1000 // runs, and tasks, at once
	takePoll     = 5 * time.Second
)

func (s *Server) wireTake(r *request, in *wire.TakeQuery) (wire.Taken, error) {
	if err := s.mayActFor(r, in.Worker); err != nil {
		return wire.Taken{}, err
	}
	if err := r.mayHave(in.Classes, in.Steps); err != nil {
		return wire.Taken{}, err
	}
	switch {
	case in.Runs < 0 || in.Runs > mostTaken || in.Tasks < 0 || in.Tasks > mostTaken:
		return wire.Taken{}, invalid("take %d runs and %d tasks: want 0 to %d", in.Runs, in.Tasks, mostTaken)
	case in.WaitMs < 0 || in.WaitMs > mostTakeWait.Milliseconds():
		return wire.Taken{}, invalid("waitMs is %d: want 0 to %d", in.WaitMs, mostTakeWait.Milliseconds())
	case in.N < 0 || in.Again && in.N == 0:
		return wire.Taken{}, invalid("take %d, again %t: takes are numbered from 1", in.N, in.Again)
	case in.N == 0:
		return s.takeOrWait(r, in)
	}
	if in.Again && in.Server != s.id {
		return wire.Taken{}, fmt.Errorf("%w: take %d of worker %s was asked of another process of this server, which alone knew its answer", errElsewhere, in.N, in.Worker)
	}
	return s.takes.once(r.Context(), in, func() (wire.Taken, error) { return s.takeOrWait(r, in) })
}

func (s *Server) wireHeld(r *request, in *wire.HeldQuery) (wire.Held, error) {
	if in.N <= 0 {
		return wire.Held{}, invalid("n is %d: takes are numbered from 1, and this counts as one", in.N)
	}
	if err := s.mayActFor(r, in.Worker); err != nil {
		return wire.Held{}, err
	}
	if s.able.Holder == nil {
		return wire.Held{}, fmt.Errorf("a list of what a worker of the server's database holds: %w", world.ErrNotFound)
	}
	if err := s.takes.fence(r.Context(), in.Worker, in.N); err != nil {
		return wire.Held{}, err
	}
	held, err := lasting(r.Context(), func(ctx context.Context) (world.Account, error) {
		if _, err := s.below.Take(ctx, world.TakeQuery{Worker: in.Worker, Number: in.N}); err != nil { // the fence for other servers
			return world.Account{}, err
		}
		return s.able.Holder.Held(ctx, in.Worker)
	})
	return wire.Held{Account: wire.OfAccount(&held)}, err
}

// takeOrWait takes, and where there is nothing waits for news as long as it is asked to.
func (s *Server) takeOrWait(r *request, in *wire.TakeQuery) (wire.Taken, error) {
	q, ctx := in.World(), r.Context()
	take := func() (world.Taken, error) {
		return lasting(ctx, func(ctx context.Context) (world.Taken, error) {
			taken, err := s.below.Take(ctx, q)
			if err == nil {
				err = s.within(ctx, r, &taken)
			}
			return taken, err
		})
	}
	taken, err := take()
	if err != nil || in.WaitMs == 0 || len(taken.Runs)+len(taken.Tasks) > 0 {
		return wireTaken(&taken), err
	}
	done, err := s.wait()
	if err != nil {
		return wire.Taken{}, err
	}
	defer done()
	news := make(chan struct{}, 1)
	if s.able.Notifier != nil {
		defer s.able.Notifier.Notify(func(n world.Notice) {
			if n.Kind == world.NoticeWork {
				select {
				case news <- struct{}{}:
				default:
				}
			}
		})()
	}
	over := time.NewTimer(time.Duration(in.WaitMs) * time.Millisecond)
	defer over.Stop()
	for {
		if taken, err = take(); err != nil || len(taken.Runs)+len(taken.Tasks) > 0 {
			return wireTaken(&taken), err
		}
		look := time.NewTimer(nextLook(&taken))
		select {
		case <-news:
		case <-look.C:
		case <-over.C:
			in.WaitMs = 0
		case <-s.drain:
			in.WaitMs = 0
		case <-ctx.Done(): // nothing was taken, and nobody is there to be told
			look.Stop()
			return wire.Taken{}, ctx.Err()
		}
		look.Stop()
		if in.WaitMs == 0 {
			return wireTaken(&taken), nil
		}
	}
}

// nextLook is how long to wait where no news comes.
func nextLook(taken *world.Taken) time.Duration {
	if taken.Next.IsZero() {
		return takePoll
	}
	return min(max(taken.Next.Sub(taken.Now), 10*time.Millisecond), takePoll)
}

func wireTaken(taken *world.Taken) wire.Taken {
	bytes := 0
	for i := range taken.Runs {
		r := &taken.Runs[i]
		r.Mail = someMail(r.Mail)
		if bytes += eventsBytes(r.Log); bytes > mailBytes {
			r.Log = nil // it is read page by page
		}
	}
	return wire.OfTaken(taken)
}

// takes remembers the last take of each worker, so that one whose answer was lost can be asked for again.
type takes struct {
	mu   sync.Mutex
	last map[string]*lastTake // by worker
}

// lastTake is a take that has begun.
type lastTake struct {
	n    int64
	at   time.Time
	done chan struct{} // closed when answer is there
	took wire.Taken
	err  error
}

// mostTakes is how many workers are remembered; so long none is forgotten that may ask again.
const (
	mostTakes  = 10_000
	takesStand = 5 * time.Minute
)

// once takes, unless it is the take that this worker asked for last: then it is the same answer.
func (t *takes) once(ctx context.Context, in *wire.TakeQuery, take func() (wire.Taken, error)) (wire.Taken, error) {
	mine, last, err := t.begin(in)
	if err != nil {
		return wire.Taken{}, err
	}
	if mine == nil { // its first try is on its way, or its answer was lost
		select {
		case <-last.done:
			return last.took, last.err
		case <-ctx.Done():
			return wire.Taken{}, ctx.Err()
		}
	}
	defer close(mine.done)
	mine.took, mine.err = take()
	return mine.took, mine.err
}

// begin notes a take; mine is nil where it has begun before. A first try that comes when it was asked for again is nobody's any more: what it took, its
// worker would hold and not know of.
func (t *takes) begin(in *wire.TakeQuery) (mine, last *lastTake, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	last = t.last[in.Worker]
	switch {
	case last != nil && in.N == last.n && in.Again && !last.failed():
		return nil, last, nil
	case last != nil && (in.N < last.n || in.N == last.n && !in.Again):
		return nil, nil, fmt.Errorf("take %d of worker %s comes behind take %d: %w", in.N, in.Worker, last.n, world.ErrConflict)
	}
	mine = &lastTake{n: in.N, at: time.Now(), done: make(chan struct{})}
	return mine, nil, t.keep(in.Worker, mine)
}

// keep makes it the last take of a worker, where there is room for one more worker.
func (t *takes) keep(worker string, l *lastTake) error {
	if len(t.last) >= mostTakes {
		for worker, l := range t.last {
			if time.Since(l.at) > takesStand {
				delete(t.last, worker)
			}
		}
		if len(t.last) >= mostTakes {
			return errBusy
		}
	}
	if t.last == nil {
		t.last = map[string]*lastTake{}
	}
	t.last[worker] = l
	return nil
}

// failed reports whether it is known that it took nothing, for another reason than that there was nothing. One that another server was asked for too
// (ErrConflict) may have taken something there.
func (l *lastTake) failed() bool {
	select {
	case <-l.done:
		return l.err != nil && !errors.Is(l.err, world.ErrUnknownOutcome) && !errors.Is(l.err, world.ErrConflict)
	default:
		return false
	}
}

// fence waits until the last take of a worker is over, and refuses those that come later under a lower number than n.
func (t *takes) fence(ctx context.Context, worker string, n int64) error {
	behind, err := t.put(worker, n)
	if err != nil {
		return err
	}
	select {
	case <-behind:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// put puts a fence in the place of the last take, and returns what is closed when that is over.
func (t *takes) put(worker string, n int64) (over chan struct{}, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := t.last[worker]
	switch {
	case last == nil:
		over = make(chan struct{})
		close(over)
	case n < last.n:
		return nil, fmt.Errorf("number %d of worker %s comes behind take %d: %w", n, worker, last.n, world.ErrConflict)
	default:
		over = last.done
	}
	return over, t.keep(worker, &lastTake{n: n, at: time.Now(), done: over, err: errFence})
}

// forget forgets a worker that leaves.
func (t *takes) forget(worker string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.last, worker)
}
