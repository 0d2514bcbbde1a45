package engine

// Heartbeats: the body of a step says how far it is. What it said last is kept in a stream of the step's own, which the next attempt reads, on whatever worker; it is
// written at most every 10 s, or when the attempt's context ends, or with the commit of a failed attempt. A step with a heartbeat timeout whose body says nothing for
// so long has its context ended, as by a timeout: what it returns then is a failure.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/stepwell/stepwell/world"
)

// How often what a body says of its progress is written: the first time of an attempt soon, so that people see something.
const (
	progressFirst = time.Second
	progressEvery = 10 * time.Second
)

// ErrHeartbeat is why the context of an attempt ends that said nothing for longer than its heartbeat timeout.
var ErrHeartbeat = errors.New("the attempt sent no heartbeat for longer than its heartbeat timeout")

// errNoBody is what a heartbeat outside of a step says.
var errNoBody = fmt.Errorf("%w: only the body of a step can send heartbeats, with the context that it was given", world.ErrInvalid)

// progress is what an attempt says of how far it is. It is safe for concurrent use.
type progress struct {
	seat *seat

	mu     sync.Mutex
	stream *Stream         // nil: nothing was said; guarded by mu, as all that follows
	said   json.RawMessage // last
	fresh  bool            // that is not handed to the stream
	wrote  time.Time       // when something was
	heard  time.Time       // when something was said
	timer  *time.Timer     // of the next write; nil: none is due
	watch  *time.Timer     // of the silence; nil: it may say nothing
	over   bool            // the attempt has ended
}

// progressOf is that of the body with a context.
func progressOf(ctx context.Context) (*progress, error) {
	p, ok := ctx.Value(infoKey{}).(*seat)
	if !ok {
		return nil, errNoBody
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.returned:
		return nil, errReturned
	case p.progress == nil:
		p.progress = &progress{seat: p}
	}
	return p.progress, nil
}

// Heartbeat says how far the body is; with now it returns when that is durable. The error is the cause of the attempt's context, where that has ended.
func Heartbeat(ctx context.Context, value json.RawMessage, now bool) error {
	pr, err := progressOf(ctx)
	if err != nil {
		return err
	}
	s, err := pr.say(ctx, value, now)
	if err != nil {
		return err
	}
	if now {
		if err := s.Flush(); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

func (pr *progress) say(ctx context.Context, value json.RawMessage, now bool) (*Stream, error) {
	pr.mu.Lock()
	defer pr.mu.Unlock()
	if pr.over {
		return nil, errReturned
	}
	pr.heard = time.Now()
	if pr.stream == nil {
		seat := pr.seat
		pr.stream = &Stream{seat: seat, ctx: seat.ctx, name: world.ProgressStream(seat.info.Step), reset: seat.info.Attempt > 1}
		context.AfterFunc(seat.ctx, pr.flush) // whoever ends it may not wait for the body
	}
	pr.said, pr.fresh = value, true
	if now {
		return pr.stream, pr.writeLocked()
	}
	if pr.timer == nil {
		pr.timer = time.AfterFunc(pr.pauseLocked(), pr.flush)
	}
	return pr.stream, nil
}

// pauseLocked is how long what was said waits for its write.
func (pr *progress) pauseLocked() time.Duration {
	if pr.wrote.IsZero() {
		return progressFirst
	}
	return max(progressEvery-time.Since(pr.wrote), 0)
}

// flush writes what was said last, if it was not.
func (pr *progress) flush() {
	pr.mu.Lock()
	defer pr.mu.Unlock()
	if !pr.over && pr.fresh {
		_ = pr.writeLocked() // the next heartbeat tells
	}
}

func (pr *progress) writeLocked() error {
	if pr.timer != nil {
		pr.timer.Stop()
		pr.timer = nil
	}
	pr.fresh, pr.wrote = false, time.Now()
	return pr.stream.Write(pr.said)
}

// finish ends the progress with its attempt. Where that failed, what was said last is returned, to be committed with its end; nobody needs that of one that
// completed. What could not be written does not matter to the end.
func (pr *progress) finish(failed bool) []world.StreamWrite {
	if !pr.end(failed) {
		return nil
	}
	pr.stream.unreset()
	rest, err := pr.stream.finish(true)
	if err != nil {
		pr.seat.e.cfg.Logger.Info("progress was not written", "run_id", pr.seat.info.Run, "step.id", pr.seat.info.Step, "err", err)
	}
	return rest
}

// end lets nothing more be said. It reports whether something was. What is on its way then is waited for without the lock.
func (pr *progress) end(failed bool) (said bool) {
	pr.mu.Lock()
	defer pr.mu.Unlock()
	pr.over = true
	for _, t := range []*time.Timer{pr.timer, pr.watch} {
		if t != nil {
			t.Stop()
		}
	}
	if failed && pr.fresh {
		_ = pr.writeLocked()
	}
	return pr.stream != nil
}

// unreset lets what earlier attempts wrote stand, where this one has written nothing yet: a commit makes nothing void.
func (s *Stream) unreset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reset = false
}

// Progress is what the step's body said last of how far it is: this attempt's, or where that said nothing the last that is durable of an attempt before.
// nil: nothing.
func Progress(ctx context.Context) (json.RawMessage, error) {
	pr, err := progressOf(ctx)
	if err != nil {
		return nil, err
	}
	pr.mu.Lock()
	said := pr.said
	pr.mu.Unlock()
	if info := &pr.seat.info; said == nil && info.Attempt > 1 {
		last, err := world.LastProgress(ctx, pr.seat.e.cfg.World, info.Run, info.Step)
		if err != nil || last == nil {
			return nil, err
		}
		return last.Value, nil
	}
	return said, nil
}

// watchSilence ends the context of an attempt that says nothing for as long as its heartbeat timeout.
func (c *call) watchSilence() {
	pr := &progress{seat: &c.seat, heard: time.Now()}
	c.seat.mu.Lock()
	c.seat.progress = pr
	c.seat.mu.Unlock()
	pr.mu.Lock()
	defer pr.mu.Unlock()
	pr.watch = time.AfterFunc(c.silence, func() {
		pr.mu.Lock()
		defer pr.mu.Unlock()
		if rest := c.silence - time.Since(pr.heard); rest > 0 {
			pr.watch.Reset(rest)
		} else if !pr.over {
			c.ctx.cancel(ErrHeartbeat)
		}
	})
}

// silentError is the failure of an attempt that said nothing for too long.
type silentError struct {
	after time.Duration
	err   error // what the body returned
}

func (e *silentError) Error() string {
	return "no heartbeat for " + e.after.String() + ": " + e.err.Error()
}

// Unwrap returns what the body returned.
func (e *silentError) Unwrap() error { return e.err }

// Code is the failure's code in the log.
func (e *silentError) Code() string { return world.CodeHeartbeat }
