package server

// This file gives runs and tasks to remote workers: at once, or when there is something. Who waits holds nothing of the database.

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

var (
	// errElsewhere: nobody here can know what a claim came to.
	errElsewhere = errors.New("unknown outcome")
	// errFence stands for the answer to what was no take.
	errFence = errors.New("no take")
)

// Bounds of a claim.
const (
	mostClaimWait = 30 * time.Second
	mostClaimed   = 1000 // runs, and tasks, at once
	claimPoll     = 5 * time.Second
)

func (d *doors) claim(r *request, in *wire.TakeQuery) (wire.Taken, error) {
	if err := d.guard.mayActFor(r, in.Worker); err != nil {
		return wire.Taken{}, err
	}
	if err := r.mayHave(in.Classes, in.Steps); err != nil {
		return wire.Taken{}, err
	}
	switch {
	case in.Runs < 0 || in.Runs > mostClaimed || in.Tasks < 0 || in.Tasks > mostClaimed:
		return wire.Taken{}, invalid("take %d runs and %d tasks: want 0 to %d", in.Runs, in.Tasks, mostClaimed)
	case in.WaitMs < 0 || in.WaitMs > mostClaimWait.Milliseconds():
		return wire.Taken{}, invalid("waitMs is %d: want 0 to %d", in.WaitMs, mostClaimWait.Milliseconds())
	case in.N < 0 || in.Again && in.N == 0:
		return wire.Taken{}, invalid("take %d, again %t: claims are numbered from 1", in.N, in.Again)
	case in.N == 0:
		return d.claimOrWait(r, in)
	}
	if in.Again && in.Server != d.id {
		return wire.Taken{}, fmt.Errorf("%w: take %d of worker %s was asked of another process of this server, which alone knew its answer", errElsewhere, in.N, in.Worker)
	}
	return d.claims.once(r.Context(), r.who(), in, func() (wire.Taken, error) { return d.claimOrWait(r, in) })
}

func (d *doors) held(r *request, in *wire.HeldQuery) (wire.Held, error) {
	if in.N <= 0 {
		return wire.Held{}, invalid("n is %d: claims are numbered from 1, and this counts as one", in.N)
	}
	if err := d.guard.mayActFor(r, in.Worker); err != nil {
		return wire.Held{}, err
	}
	if err := d.claims.fence(r.Context(), r.who(), in.Worker, in.N); err != nil {
		return wire.Held{}, err
	}
	held, err := lasting(r.Context(), func(ctx context.Context) (world.Account, error) {
		if _, err := d.below.Claim(ctx, world.ClaimQuery{Worker: in.Worker, Number: in.N}); err != nil { // the fence for other servers
			return world.Account{}, err
		}
		return d.below.Held(ctx, in.Worker)
	})
	if errors.Is(err, world.ErrLeaseLost) {
		d.claims.forget(in.Worker)
	}
	return wire.Held{Account: wire.OfAccount(&held)}, err
}

// claimOrWait claims, and where there is nothing waits for news as long as it is asked to.
func (d *doors) claimOrWait(r *request, in *wire.TakeQuery) (wire.Taken, error) {
	q, ctx := in.World(), r.Context()
	claim := func() (world.Claimed, error) {
		return lasting(ctx, func(ctx context.Context) (world.Claimed, error) {
			claimed, err := d.below.Claim(ctx, q)
			if err == nil {
				err = d.guard.within(ctx, r, &claimed)
			}
			return claimed, err
		})
	}
	claimed, err := d.awaitWork(ctx, time.Duration(in.WaitMs)*time.Millisecond, claim)
	return wireClaimed(&claimed), err
}

// awaitWork claims, and where there is nothing waits for news, as one with such parts in the places of those who wait.
func (d *doors) awaitWork(ctx context.Context, wait time.Duration, claim func() (world.Claimed, error), parts ...seat) (world.Claimed, error) {
	claimed, err := claim()
	if err != nil || wait == 0 || len(claimed.Runs)+len(claimed.Tasks) > 0 {
		return claimed, err
	}
	done, err := d.places.wait(parts...)
	if err != nil {
		return world.Claimed{}, err
	}
	defer done()
	news := make(chan struct{}, 1)
	defer d.below.Notify(func(n world.Notice) {
		if n.Kind == world.NoticeWork {
			select {
			case news <- struct{}{}:
			default:
			}
		}
	})()
	over := time.NewTimer(wait)
	defer over.Stop()
	for {
		if claimed, err = claim(); err != nil || len(claimed.Runs)+len(claimed.Tasks) > 0 {
			return claimed, err
		}
		look := time.NewTimer(nextLook(&claimed))
		select {
		case <-news:
		case <-look.C:
		case <-over.C:
			look.Stop()
			return claimed, nil
		case <-d.drain:
			look.Stop()
			return claimed, nil
		case <-ctx.Done(): // nothing was taken, and nobody is there to be told
			look.Stop()
			return world.Claimed{}, ctx.Err()
		}
		look.Stop()
	}
}

// nextLook is how long to wait where no news comes.
func nextLook(claimed *world.Claimed) time.Duration {
	if claimed.Next.IsZero() {
		return claimPoll
	}
	return min(max(claimed.Next.Sub(claimed.Now), 10*time.Millisecond), claimPoll)
}

func wireClaimed(claimed *world.Claimed) wire.Taken {
	bytes := 0
	for i := range claimed.Runs {
		r := &claimed.Runs[i]
		r.Mail = someMail(r.Mail)
		if bytes += eventsBytes(r.Log); bytes > mailBytes {
			r.Log = nil // it is read page by page
		}
	}
	return wire.OfClaimed(claimed)
}

// claims remembers the last claim of each worker, so that one whose answer was lost can be asked for again. It keeps
// none of a worker that the world does not know.
type claims struct {
	mu    sync.Mutex
	last  map[string]*lastClaim // by worker
	parts map[string]int        // how many of them are of a key, or of an address without one
}

// lastClaim is a claim that has begun.
type lastClaim struct {
	who  string // whose part it is
	n    int64
	at   time.Time
	done chan struct{} // closed when answer is there
	gone chan struct{} // closed when its worker leaves
	left bool          // gone is closed; guarded by claims.mu
	took wire.Taken
	err  error
}

// mostClaims is how many workers are remembered, and claimsPart how many of one key; for claimsStand none is forgotten
// that may ask again.
const (
	mostClaims  = 10_000
	claimsPart  = mostClaims / 2
	claimsStand = 5 * time.Minute
)

// once claims, unless it is the claim that this worker asked for last: then it is the same answer.
func (t *claims) once(ctx context.Context, who string, in *wire.TakeQuery, claim func() (wire.Taken, error)) (wire.Taken, error) {
	mine, last, err := t.begin(who, in)
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
	mine.took, mine.err = claim()
	t.drop(in.Worker, mine, mine.err)
	return mine.took, mine.err
}

// begin notes a claim; mine is nil where it has begun before. A first try that comes when it was asked for again is nobody's any more: what it took, its
// worker would hold and not know of.
func (t *claims) begin(who string, in *wire.TakeQuery) (mine, last *lastClaim, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	last = t.last[in.Worker]
	switch {
	case last != nil && in.N == last.n && in.Again && !last.failed():
		return nil, last, nil
	case last != nil && (in.N < last.n || in.N == last.n && !in.Again):
		return nil, nil, fmt.Errorf("take %d of worker %s comes behind take %d: %w", in.N, in.Worker, last.n, world.ErrConflict)
	}
	mine = &lastClaim{who: who, n: in.N, at: time.Now(), done: make(chan struct{}), gone: make(chan struct{})}
	return mine, nil, t.keep(in.Worker, mine)
}

// keep makes it the last claim of a worker, where there is room for one more worker. One that is known has its room.
func (t *claims) keep(worker string, l *lastClaim) error {
	before := t.last[worker]
	full := func() bool { return len(t.last) >= mostClaims || t.parts[l.who] >= claimsPart }
	if before == nil && full() {
		for worker, l := range t.last {
			if time.Since(l.at) > claimsStand {
				t.delete(worker)
			}
		}
		if full() {
			return errBusy
		}
	}
	if t.last == nil {
		t.last, t.parts = map[string]*lastClaim{}, map[string]int{}
	}
	t.delete(worker)
	t.last[worker] = l
	t.parts[l.who]++
	return nil
}

// delete is called under mu.
func (t *claims) delete(worker string) {
	l := t.last[worker]
	if l == nil {
		return
	}
	delete(t.last, worker)
	if t.parts[l.who]--; t.parts[l.who] == 0 {
		delete(t.parts, l.who)
	}
}

// drop forgets a claim of a worker that the world does not know: such IDs can be invented.
func (t *claims) drop(worker string, l *lastClaim, err error) {
	if !errors.Is(err, world.ErrLeaseLost) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last[worker] == l {
		t.delete(worker)
	}
}

// failed reports whether it is known that it took nothing, for another reason than that there was nothing. One that another server was asked for too
// (ErrConflict) may have taken something there.
func (l *lastClaim) failed() bool {
	select {
	case <-l.done:
		return l.err != nil && !errors.Is(l.err, world.ErrUnknownOutcome) && !errors.Is(l.err, world.ErrConflict)
	default:
		return false
	}
}

// fence waits until the last claim of a worker is over, and refuses those that come later under a lower number than n.
func (t *claims) fence(ctx context.Context, who, worker string, n int64) error {
	behind, err := t.put(who, worker, n)
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

// leave ends the wait of a worker's last claim, refuses those that come later, and returns when nothing is claimed any more.
func (t *claims) leave(ctx context.Context, who, worker string) error {
	t.mu.Lock()
	if last := t.last[worker]; last != nil && last.gone != nil && !last.left {
		last.left = true
		close(last.gone)
	}
	t.mu.Unlock()
	return t.fence(ctx, who, worker, math.MaxInt64)
}

// put puts a fence in the place of the last claim, and returns what is closed when that is over.
func (t *claims) put(who, worker string, n int64) (over chan struct{}, err error) {
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
	return over, t.keep(worker, &lastClaim{who: who, n: n, at: time.Now(), done: over, err: errFence})
}

// forget forgets a worker that leaves.
func (t *claims) forget(worker string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.delete(worker)
}
