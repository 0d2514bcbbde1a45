// Package forktest forks a run of a workflow at each of its events, and holds each fork against the run: it comes to the same end, and no body
// runs again whose step had ended before the cut. The tests of examples use it.
package forktest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// Case is a workflow, and what the world around it does to a run of it.
type Case struct {
	// Config is the worker's: its Definitions, its slots. What concerns time is set here.
	Config stepwell.Config
	// Start starts the run.
	Start func(ctx context.Context, app *stepwell.App) (run string, err error)
	// Live does to a run, the first or a fork, what it waits for beside time; nil: nothing. It is called once for each, in a bubble of
	// testing/synctest, when the run is at rest. What a fork has in its log was done before the cut, and is not to be done again.
	Live func(l *Life, run string) error
	// Bodies run in the place of steps' own, by the step's name. What they return is encoded as JSON.
	Bodies map[string]func(ctx context.Context) (any, error)
}

// Start starts a run of a workflow, for [Case].
func Start[In, Out any](wf *stepwell.Workflow[In, Out], in In) func(context.Context, *stepwell.App) (string, error) {
	return func(ctx context.Context, app *stepwell.App) (string, error) {
		run, err := wf.Start(ctx, app, in)
		if err != nil {
			return "", err
		}
		return run.ID(), nil
	}
}

// Life is where runs of a case live: a world in memory with one worker, whose time is virtual.
type Life struct {
	Context context.Context // of the bubble
	App     *stepwell.App

	t      *testing.T
	c      *Case
	world  *memory.World
	mu     sync.Mutex
	bodies []body // guarded by mu
}

// body is a body that began.
type body struct {
	run, step, name string
	attempt         int
}

// live calls fn with a new life, in a bubble.
func (c *Case) live(t *testing.T, fn func(l *Life)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := &Life{t: t, c: c, world: memory.New()}
		cfg := c.Config
		const never = 100 * 365 * 24 * time.Hour
		cfg.Lease, cfg.Poll, cfg.SweepInterval, cfg.Strict = never, never, -1, true
		kit.Set(&cfg, kit.Overrides{Body: l.body, Stall: never})
		var err error
		if l.App, err = stepwell.New(l.world, cfg); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		l.Context = ctx
		var worker sync.WaitGroup
		worker.Go(func() {
			if err := l.App.Run(ctx); err != nil {
				t.Errorf("Run = %v", err)
			}
		})
		defer worker.Wait()
		defer stop()
		synctest.Wait()
		fn(l)
	})
}

// body counts bodies, and puts those of the case in their place.
func (l *Life) body(ctx context.Context, input []byte, own kit.RealBody) ([]byte, error) {
	info := stepwell.Info(ctx)
	l.mu.Lock()
	l.bodies = append(l.bodies, body{info.Run, info.Step, info.Name, info.Attempt})
	l.mu.Unlock()
	fake := l.c.Bodies[info.Name]
	if fake == nil {
		return own.Run(ctx, input)
	}
	v, err := fake(ctx)
	if err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

// of lists the bodies of a run that began, in order.
func (l *Life) of(run string) (list []body) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, b := range l.bodies {
		if b.run == run {
			list = append(list, b)
		}
	}
	return list
}

// Until lets time pass until a condition holds, or the test fails.
func (l *Life) Until(what string, cond func() bool) {
	l.t.Helper()
	for d, n := time.Second, 0; !cond(); d, n = min(2*d, 6*time.Hour), n+1 {
		if n > 1000 {
			l.t.Fatalf("waited in vain for %s", what)
		}
		<-time.After(d)
		synctest.Wait()
	}
}

// Events are those of a run, all or of some types.
func (l *Life) Events(run string, types ...world.EventType) (list []world.Event) {
	l.t.Helper()
	for e, err := range l.App.Events(l.Context, run, stepwell.EventFilter{Types: types}) {
		if err != nil {
			l.t.Fatal(err)
		}
		list = append(list, e)
	}
	return list
}

// end lets a run live to its end.
func (l *Life) end(run string) stepwell.RunInfo {
	l.t.Helper()
	synctest.Wait()
	if l.c.Live != nil {
		if err := l.c.Live(l, run); err != nil {
			l.t.Fatalf("run %s: %v", run, err)
		}
	}
	var info stepwell.RunInfo
	l.Until("the end of run "+run, func() bool {
		var err error
		if info, err = l.App.Get(l.Context, run); err != nil {
			l.t.Fatal(err)
		}
		if q := info.Queue; q != nil && q.Blocked != nil {
			l.t.Fatalf("run %s is blocked: %s", run, q.Blocked.Message)
		}
		return info.Status.Terminal()
	})
	return info
}

// first starts the run of the case and lets it live to its end.
func (l *Life) first() (run string, end stepwell.RunInfo) {
	l.t.Helper()
	run, err := l.c.Start(l.Context, l.App)
	if err != nil {
		l.t.Fatal(err)
	}
	return run, l.end(run)
}

// outcome is what a run came to, for comparison.
func outcome(r *stepwell.RunInfo) string {
	s := fmt.Sprintf("%s %s", r.Status, r.Output)
	if r.Error != nil {
		s += fmt.Sprintf(" %s %q", r.Error.Code, r.Error.Message)
	}
	return s
}

// all counts the events of all runs.
func (l *Life) all() map[string]int {
	l.t.Helper()
	counts := map[string]int{}
	for r, err := range l.App.List(l.Context, stepwell.ListFilter{}) {
		if err != nil {
			l.t.Fatal(err)
		}
		counts[r.ID] = len(l.Events(r.ID))
	}
	return counts
}

// Retry lets the run of a case fail, mends what let it fail, and retries it: the retry must complete, and exactly these bodies must run in it, in
// this order.
func Retry(t *testing.T, c Case, mend func(), names ...string) {
	t.Helper()
	c.live(t, func(l *Life) {
		run, source := l.first()
		if source.Status != world.Failed {
			l.t.Fatalf("it came to %s, want it to fail", outcome(&source))
		}
		mend()
		retried, err := l.App.Retry(l.Context, run)
		if err != nil {
			l.t.Fatal(err)
		}
		if got := l.end(retried.ID()); got.Status != world.Completed {
			l.t.Errorf("the retry came to %s, want it to complete", outcome(&got))
		}
		var ran []string
		for _, b := range l.of(retried.ID()) {
			ran = append(ran, b.name)
		}
		if !slices.Equal(ran, names) {
			l.t.Errorf("the retry ran %q, want %q: the step that failed, and what follows", ran, names)
		}
	})
}

// NoRetry lets the run of a case fail: a retry must be refused, for a reason that holds these words.
func NoRetry(t *testing.T, c Case, words string) {
	t.Helper()
	c.live(t, func(l *Life) {
		run, source := l.first()
		var refused *stepwell.RetryRefusedError
		if retried, err := l.App.Retry(l.Context, run); !errors.As(err, &refused) || !strings.Contains(refused.Advice.Refused, words) {
			l.t.Errorf("it came to %s; retried: %v, %v; want that refused: %s", outcome(&source), retried, err, words)
		}
	})
}
