package behaviour_test

// This file holds the workers of the simulation: processes, as far as it has any, that die, lose their lease, and are replaced by a deploy.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/faults"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/world"
)

// simWorker is one process.
type simWorker struct {
	w    *faults.World
	end  func() // of its process
	app  *stepwell.App
	stop context.CancelFunc
	over chan struct{} // closed when its Run has returned
}

// simLog is what the workers logged.
type simLog struct {
	mu sync.Mutex
	b  strings.Builder // guarded by mu
}

// Write implements io.Writer.
func (l *simLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *simLog) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// spawn starts a worker process.
func (s *simulation) spawn() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	own, end := s.process()
	wk := &simWorker{stop: stop, end: sync.OnceFunc(end), over: make(chan struct{})}
	plan := faults.Random(s.rnd.Uint64(), s.rates, func() { s.crash(wk) }, func() { s.evict(wk) })
	wk.w = faults.New(&simClock{own, s}, func(c faults.Call) faults.Fault { return s.mortal(c, plan(c)) })
	if s.rnd.IntN(3) == 0 {
		loss := rand.New(rand.NewPCG(s.rnd.Uint64(), 2))
		var mu sync.Mutex
		wk.w.KeepNotices(func(world.Notice) bool {
			mu.Lock()
			defer mu.Unlock()
			return loss.IntN(2) == 0
		})
	}
	code := newSimCode(func(ctx context.Context, n simNode) (int, error) { return s.work(ctx, wk, n) }, !s.deployed, s.limits()...)
	cfg := stepwell.Config{
		Definitions: append(code.definitions(), s.merging(code)...), Name: fmt.Sprintf("worker-%d", s.crashes),
		MaxRuns: 1 + s.rnd.IntN(2), MaxSteps: 1 + s.rnd.IntN(4), Strict: s.rnd.IntN(2) == 0,
		Logger: slog.New(slog.NewTextHandler(&s.logs, &slog.HandlerOptions{Level: slog.LevelDebug})), Encryption: s.ring, Lease: s.lease, Poll: s.poll, FailUnknown: s.failUnknown(),
	}
	if s.rnd.IntN(2) == 0 {
		cfg.CacheRuns = -1
	}
	kit.Set(&cfg, kit.Overrides{Apart: s.apart()})
	app, err := stepwell.New(wk.w, cfg)
	if err != nil {
		s.t.Error(err)
		return
	}
	wk.app = app
	s.living[wk], s.workers[app] = true, true
	s.others.Go(func() {
		defer close(wk.over)
		defer wk.end()
		if err := app.Run(ctx); err != nil && !errors.Is(err, world.ErrClosed) {
			s.problem("worker: %v", err)
		}
	})
}

// stop ends all workers for good.
func (s *simulation) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	for w := range s.living {
		w.stop()
	}
}

// deploy drains the workers that know no patches, and starts others.
func (s *simulation) deploy() {
	select {
	case <-time.After(s.plan.Deploy):
	case <-s.done:
		return
	}
	s.mu.Lock()
	s.deployed = true
	var old []*simWorker
	for wk := range s.living {
		old = append(old, wk)
		delete(s.living, wk)
	}
	s.mu.Unlock()
	for _, wk := range old {
		wk.stop()
	}
	for _, wk := range old {
		<-wk.over
		s.spawn()
	}
}

// mortal leaves out faults that take steps from their worker, where there were so many that the steps would rightly be taken for deadly.
func (s *simulation) mortal(c faults.Call, f faults.Fault) faults.Fault {
	if f.Before == nil && f.After == nil && (c.Op != faults.Claim || f.Err == nil) || s.deaths.Add(1) <= simDeaths {
		return f
	}
	return faults.Fault{}
}

// simDeaths is how often workers die, or lose their lease: a step is given up after seven deaths.
const simDeaths = 6

// anyApp is the App of a worker, or nil.
func (s *simulation) anyApp() *stepwell.App {
	s.mu.Lock()
	defer s.mu.Unlock()
	for wk := range s.living {
		return wk.app
	}
	return nil
}

// died reports whether a client was in the process of a worker that has ended: nobody hears what it was told.
func (s *simulation) died(app *stepwell.App) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for wk := range s.living {
		if wk.app == app {
			return false
		}
	}
	return s.workers[app]
}

// crash ends a worker process at the point where it is called; another follows.
func (s *simulation) crash(wk *simWorker) {
	s.acts.down(s)
	wk.w.Kill()
	wk.stop()
	wk.end()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.living[wk] || s.over {
		return
	}
	delete(s.living, wk)
	s.crashes++
	pause := time.Duration(s.rnd.IntN(20_000)) * time.Millisecond / s.haste
	s.others.Go(func() {
		select {
		case <-time.After(pause):
			s.spawn()
		case <-s.done:
		}
	})
}

// evict ends the lease of a worker behind its back.
func (s *simulation) evict(wk *simWorker) {
	s.acts.down(s)
	if err := wk.w.Evict(context.Background()); err != nil && !errors.Is(err, world.ErrClosed) { // its process has ended meanwhile
		s.problem("evict: %v", err)
	}
}

// holds reports whether a process lives and its worker has the lease still under which a body began, as the world sees it. A lease that began in
// the moment in which the body did may have come after it.
func (s *simulation) holds(a *simAttempt) bool {
	s.mu.Lock()
	lives := s.living[a.wk]
	s.mu.Unlock()
	if !lives {
		return false
	}
	stats, err := s.below.Stats(context.Background())
	if err != nil {
		s.problem("stats: %v", err)
	}
	for _, w := range stats.Workers {
		if w.ID == a.worker {
			return w.Until.After(stats.Now) && w.JoinedAt.Before(a.began)
		}
	}
	return false
}
