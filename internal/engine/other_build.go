package engine

// This file leaves runs to other builds. What blocks a run may be the code of this worker's build: another build tries it at once, and this one
// leaves it alone meanwhile: for a moment it claims none of that workflow's runs, and a run that it is given again rests. Where no other build is alive, or two have
// failed in turn, the run is tried with backoff as ever.

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

const (
	shortLeave = 100 * time.Millisecond // for how long a workflow is left to other builds, and a run that came back
	longLeave  = 5 * time.Second        // and a run at most
	mostLeft   = 1000                   // runs that are remembered
)

// ofBuild reports whether the code of the build that found a block may be the reason.
func ofBuild(b *world.Block) bool {
	return b != nil && slices.Contains([]string{world.CodeDiverged, world.CodeDecode, world.CodePanic, world.CodeFormat}, b.Code)
}

// named reports whether the name of a build tells what was in it.
func named(build string) bool { return build != "" && !strings.HasSuffix(build, replay.Changed) }

// left are the runs that are left to other builds, and how often.
type left struct {
	mu  sync.Mutex
	all map[string]int // guarded by mu
}

// pause is for how long a run is left alone this time. The first time it is due at once for the others.
func (l *left) pause(run string) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil || len(l.all) >= mostLeft {
		l.all = map[string]int{}
	}
	n := l.all[run]
	l.all[run]++
	if n == 0 {
		return 0
	}
	d := min(shortLeave<<min(n-1, 10), longLeave)
	return d/2 + rand.N(d)
}

// leftTo is for how long a run is left to other builds that is blocked so, and whether it is: the block is of this build, and a live worker of
// another one has the run's workflow and version.
func (e *Engine) leftTo(b *world.Block, class world.Class, run string) (time.Duration, bool) {
	if !ofBuild(b) || b.Build != e.cfg.Build || !named(b.Build) {
		return 0, false
	}
	ctx, cancel := context.WithTimeout(e.workCtx, lookAround)
	defer cancel()
	stats, err := e.cfg.World.Stats(ctx)
	if err != nil || !slices.ContainsFunc(stats.Workers, func(w world.WorkerRow) bool {
		return w.Until.After(stats.Now) && w.Build != "" && w.Build != b.Build && slices.Contains(w.Classes, class)
	}) {
		return 0, false
	}
	pause := e.left.pause(run)
	if pause == 0 {
		e.shuns.briefly(shunned{workflow: class.Workflow}, shortLeave)
		begun, _ := e.flights.state()
		e.passClaims(begun, flight)
	}
	return pause, true
}

// leaves releases a run that another build is to try, as it is, and reports whether it did.
func (s *session) leaves(ctx context.Context, tk world.ClaimedRun) bool {
	if slices.ContainsFunc(tk.Mail, isCancel) {
		return false
	}
	pause, leave := s.e.leftTo(tk.Blocked, tk.Class, s.own.run)
	if !leave {
		return false
	}
	s.course.standAt(tk.Seq, tk.Status)
	s.pen.reach(tk.Seq)
	s.turn.letGo(&world.Release{Blocked: tk.Blocked, WakeAt: s.course.now().Add(pause)})
	s.commit(ctx)
	s.stay.end()
	return true
}

// tryOthers has the runs tried now that another build has blocked and this one has the workflow of. It is for a worker that has just joined.
func (e *Engine) tryOthers(ctx context.Context) {
	if !named(e.cfg.Build) {
		return
	}
	tried := 0
	for _, class := range e.code.all() {
		q := world.RunQuery{Workflow: class.Workflow, Version: class.Version, Status: []world.Status{world.StandsBlocked}, Limit: mostLeft}
		for tried < mostLeft {
			page, err := e.cfg.World.Runs(ctx, q)
			if err != nil {
				return // they are tried when their time comes
			}
			for i := range page.Runs {
				r := &page.Runs[i]
				if r.Queue == nil || !ofBuild(r.Queue.Blocked) || r.Queue.Blocked.Build == e.cfg.Build {
					continue
				}
				act := world.Event{Type: world.RunResumed, By: "build " + e.cfg.Build, Outcome: world.OutcomeWoken}
				if _, err := e.cfg.World.Deliver(ctx, &world.Delivery{Run: r.ID, Act: true, Events: []world.Event{act}}); err != nil && ctx.Err() != nil {
					return
				}
				tried++
			}
			if q.Cursor = page.Cursor; q.Cursor == "" {
				break
			}
		}
	}
}
