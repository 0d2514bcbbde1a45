package engine

import (
	"context"
	"sync/atomic"
)

// pulse says when the worker is to send a heartbeat, and lets it do so once at a time.
type pulse struct {
	due   chan struct{} // holds a token: heartbeat soon
	stir  chan struct{} // holds a token: something is owned now, and heartbeats are due sooner
	one   chan struct{} // holds a token while a heartbeat is under way, or the worker joins anew
	count atomic.Uint64 // heartbeats that have begun
	heard bool          // the last one had an answer; of whoever put the token in
	tries int           // joins in a row that failed, behind a lost lease; of whoever put the token in
}

func (p *pulse) init() {
	p.due, p.stir, p.one = make(chan struct{}, 1), make(chan struct{}, 1), make(chan struct{}, 1)
}

// soon has the worker send a heartbeat.
func (p *pulse) soon() { nudge(p.due) }

// stirs has the next heartbeat come as soon as for who owns something.
func (p *pulse) stirs() { nudge(p.stir) }

// isDue gives a token when the worker is to send a heartbeat.
func (p *pulse) isDue() <-chan struct{} { return p.due }

// isStirred gives one when the next heartbeat is to come sooner.
func (p *pulse) isStirred() <-chan struct{} { return p.stir }

// enter waits until nobody else heartbeats, and keeps others from it until leave. It is false where ctx ended first.
func (p *pulse) enter(ctx context.Context) bool {
	select {
	case p.one <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (p *pulse) leave() { <-p.one }

// begun is the number of the last heartbeat that has begun.
func (p *pulse) begun() uint64 { return p.count.Load() }

// begin is called by who has entered, and so are the others below: a heartbeat begins, and has no answer yet.
func (p *pulse) begin() (number uint64) {
	p.heard = false
	return p.count.Add(1)
}

// answered notes that the heartbeat had an answer.
func (p *pulse) answered() { p.heard = true }

// joined notes whether the worker could join anew. Where it could not, it rests: nobody else asks meanwhile, and all would be
// refused alike.
func (p *pulse) joined(ctx context.Context, ok bool) {
	if p.tries++; ok {
		p.tries = 0
		return
	}
	pause(ctx, retryPause(p.tries-1))
}

// wasHeard reports whether the last heartbeat had an answer.
func (p *pulse) wasHeard() bool { return p.heard }
