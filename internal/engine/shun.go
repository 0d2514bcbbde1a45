package engine

// This file leaves work to others that this worker cannot do for want of a key: what it had to give back is due at once for them, and for a while it takes none
// of that workflow's runs, or of that step's tasks. Where it is the only one that is alive, nothing is gained by that, and its work rests as ever.

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/stepwell/stepwell/world"
)

// For how long a worker leaves work to others: the first time, and, where it gets the same again right after that, at most.
const (
	shortShun = 2 * time.Second
	longShun  = 16 * time.Second
)

// lookAround is how long it may take to find out whether there are others.
const lookAround = 2 * time.Second

// shunned is what a worker leaves to others: the runs of a workflow, or the tasks of a step.
type shunned struct {
	workflow, step string
}

// shunning is until when, and for how long the last time.
type shunning struct {
	until time.Time
	d     time.Duration
}

// shun leaves work to others for a while, where another worker that is alive has registered it, and reports whether one has.
func (e *Engine) shun(what shunned) bool {
	ctx, cancel := context.WithTimeout(e.workCtx, lookAround)
	defer cancel()
	stats, err := e.cfg.World.Stats(ctx)
	if err != nil {
		return false
	}
	me := e.workerID()
	if !slices.ContainsFunc(stats.Workers, func(w world.WorkerRow) bool {
		return w.ID != me && w.Until.After(stats.Now) && (what.step != "" && slices.Contains(w.Steps, what.step) ||
			what.workflow != "" && slices.ContainsFunc(w.Classes, func(c world.Class) bool { return c.Workflow == what.workflow }))
	}) {
		return false
	}
	e.shuns.leave(what)
	begun, _ := e.flights.state() // later takes know of it
	e.passClaims(begun, flight)
	return true
}

// flight is how long a claim that is under way is waited for: what is given back meanwhile would come back with its answer. A server's
// answer may wait for work itself, and take longer.
const flight = 100 * time.Millisecond

// passClaims waits until the claims up to a number are over.
func (e *Engine) passClaims(n uint64, patience time.Duration) {
	over := func() bool {
		_, over := e.flights.state()
		return n <= over
	}
	for end := time.Now().Add(patience); !over() && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
}

// shuns are what the worker leaves to others for now.
type shuns struct {
	mu  sync.Mutex
	all map[shunned]shunning // guarded by mu
}

// leave notes that something is left to others. Claims that begin behind it do not ask for that.
func (l *shuns) leave(what shunned) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = map[shunned]shunning{}
	}
	s := l.all[what]
	switch {
	case now.Before(s.until): // it was given more at once
		return
	case now.Sub(s.until) < s.d:
		s.d = min(2*s.d, longShun)
	default:
		s.d = shortShun
	}
	s.until = now.Add(s.d)
	l.all[what] = s
}

// briefly notes that something is left to others for some time from now, however often that was so before.
func (l *shuns) briefly(what shunned, d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = map[shunned]shunning{}
	}
	if s := l.all[what]; time.Until(s.until) < d {
		s.until = time.Now().Add(d)
		l.all[what] = s
	}
}

// willing leaves out of what could be asked for what is left to others. next is when to look again for that; zero: nothing is.
func (l *shuns) willing(classes []world.Class, steps []string) (claims []world.Class, does []string, next time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.all) == 0 {
		return classes, steps, next
	}
	now := time.Now()
	left := func(what shunned) bool {
		s, ok := l.all[what]
		if !ok || !now.Before(s.until) {
			return false
		}
		if next.IsZero() || s.until.Before(next) {
			next = s.until
		}
		return true
	}
	for _, c := range classes {
		if !left(shunned{workflow: c.Workflow}) {
			claims = append(claims, c)
		}
	}
	for _, s := range steps {
		if !left(shunned{step: s}) {
			does = append(does, s)
		}
	}
	return claims, does, next
}
