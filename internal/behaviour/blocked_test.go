package behaviour_test

// Runs whose code cannot go on: each is reported exactly, holds up nobody, and heals with the right deploy with nothing lost.

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// deploy is one build of the workflow "release": a step, a sleep over which it is deployed anew, a number from outside, a step.
type deploy struct {
	build string
	body  func(ctx stepwell.Context) (int, error)
}

func (d deploy) define(opts ...stepwell.WorkflowOption) *stepwell.Workflow[struct{}, int] {
	return stepwell.Define("release", func(ctx stepwell.Context, _ struct{}) (int, error) { return d.body(ctx) }, opts...)
}

func add(name string, n int) func(ctx stepwell.Context) (int, error) {
	return func(ctx stepwell.Context) (int, error) {
		return stepwell.Step(ctx, name, func(context.Context) (int, error) { return n, nil })
	}
}

// release is the code of the good build, but for what a bad one changes.
func release(first, second func(ctx stepwell.Context) (int, error)) func(ctx stepwell.Context) (int, error) {
	return func(ctx stepwell.Context) (int, error) {
		a, err := first(ctx)
		if err != nil {
			return 0, err
		}
		b, err := second(ctx)
		if err != nil {
			return 0, err
		}
		if err := stepwell.Sleep(ctx, "deploy", 5*time.Second); err != nil {
			return 0, err
		}
		n, _, err := numbers.Wait(ctx)
		return a + b + n.N, err
	}
}

var goodDeploy = deploy{"good", release(add("a", 1), add("b", 10))}

// badDeploys are the ways to break it, with what must be reported.
var badDeploys = []struct {
	name string
	deploy
	code string
	seq  int64
	says []string
}{
	{"renamed", deploy{"bad", release(add("renamed", 1), add("b", 10))}, world.CodeDiverged, 3,
		[]string{"(event 3)", `the log has    step "a"   recorded by build good`, `the code asks  step "renamed"   blocked_test.go:`}},
	{"removed", deploy{"bad", release(add("a", 1), func(stepwell.Context) (int, error) { return 10, nil })}, world.CodeDiverged, 6,
		[]string{"(event 6)", `the log has    step "b"`, `the code asks  sleep "deploy"   blocked_test.go:`}},
	{"swapped", deploy{"bad", release(add("b", 10), add("a", 1))}, world.CodeDiverged, 3,
		[]string{`the log has    step "a"`, `the code asks  step "b"   blocked_test.go:`}},
	{"returned", deploy{"bad", func(stepwell.Context) (int, error) { return 0, nil }}, world.CodeDiverged, 3,
		[]string{`the log has    step "a"`, "nothing more: it has returned"}},
	{"panicked", deploy{"bad", func(stepwell.Context) (int, error) { panic("so it goes") }}, world.CodePanic, 0,
		[]string{"workflow code panicked: so it goes (blocked_test.go:71)\n  ", "blocked_test.go:"}},
	{"exited", deploy{"bad", func(stepwell.Context) (int, error) { runtime.Goexit(); return 0, nil }}, world.CodePanic, 0,
		[]string{"runtime.Goexit"}},
	{"foreign", deploy{"bad", func(ctx stepwell.Context) (int, error) {
		done := make(chan struct{})
		go func() { defer close(done); _, _ = add("a", 1)(ctx) }()
		_, err := stepwell.Await(ctx, func() bool { <-done; return false })
		return 0, err
	}}, "", 0, nil}, // seen whenever no coroutine runs, and always in strict mode: see its own test
}

// toDeploy starts a run of the good build and stops that worker while the run sleeps.
func toDeploy(r *rig) *stepwell.Run[int] {
	r.Helper()
	good := goodDeploy.define()
	wk := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{good}, Build: goodDeploy.build})
	run := start(r, wk, good, struct{}{})
	until(r, "the sleep", func() bool { return r.count(run.ID(), world.WaitCreated, "") == 1 })
	wk.stop(r)
	return run
}

func TestBlockedRunsAreReportedExactlyAndHeal(t *testing.T) {
	for _, bad := range badDeploys {
		if bad.code == "" {
			continue
		}
		t.Run(bad.name, func(t *testing.T) {
			t.Parallel()
			everywhere(t, func(r *rig) {
				run := toDeploy(r)
				wf, other := bad.define(), serial(3)
				wk := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{wf, other}, Build: bad.build})
				b := r.blocked(run.ID())
				if b.Code != bad.code || bad.seq != 0 && b.Seq != bad.seq || b.Build != bad.build || b.Tries < 1 {
					r.Errorf("blocked = %+v, want code %s, event %d, build %s", b, bad.code, bad.seq, bad.build)
				}
				for _, s := range bad.says {
					if !strings.Contains(b.Message, s) {
						r.Errorf("message lacks %q:\n%s", s, b.Message)
					}
				}
				before := len(r.events(run.ID()))
				if err := numbers.Send(r.ctx, wk.App, run.ID(), number{100}); err != nil {
					r.Fatal(err)
				}
				want(r, start(r, wk, other, 0), 3) // others go on
				until(r, "another try", func() bool { q := r.get(run.ID()).Queue; return q != nil && q.Blocked != nil && q.Blocked.Tries >= 2 })
				if row := r.get(run.ID()); row.Status != world.Running || len(r.events(run.ID())) != before || row.Queue.Mail != 1 {
					r.dump(run.ID())
					r.Errorf("the blocked run has changed: %s, %d events (were %d), %d mail", row.Status, len(r.events(run.ID())), before, row.Queue.Mail)
				}
				wk.stop(r)
				good := goodDeploy.define()
				r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{good}, Build: "good again"})
				want(r, run, 111)
				r.replays(run.ID(), good)
			})
		})
	}
}

func TestABlockedRunIsCancelledWithoutItsCode(t *testing.T) {
	for _, bad := range badDeploys {
		if bad.code == "" {
			continue
		}
		t.Run(bad.name, func(t *testing.T) {
			t.Parallel()
			onWorlds(t, func(r *rig) {
				run := toDeploy(r)
				wk := r.begin(bad.define())
				r.blocked(run.ID())
				r.cancel(wk.App, run.ID())
				wantErr(r, run, world.Cancelled)
				if got := r.count(run.ID(), world.StepCreated, ""); got != 2 {
					r.Errorf("steps = %d, want 2: its code ran", got)
				}
			})
		})
	}
}

func TestAForeignGoroutineBlocksTheRun(t *testing.T) {
	bad := badDeploys[len(badDeploys)-1]
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			bubble(t, k.open, func(c *stepwell.Config) { c.Strict = true }, func(r *rig) {
				run := toDeploy(r)
				wk := r.begin(bad.define())
				if b := r.blocked(run.ID()); b.Code != world.CodeForeign || !strings.Contains(b.Message, "blocked_test.go:") || !strings.Contains(b.Message, "stepwell.Go") {
					r.Errorf("blocked = %s: %s, want FOREIGN_GOROUTINE, the line and the advice", b.Code, b.Message)
				}
				wk.stop(r)
				good := goodDeploy.define()
				wk = r.begin(good)
				if err := numbers.Send(r.ctx, wk.App, run.ID(), number{100}); err != nil {
					r.Fatal(err)
				}
				want(r, run, 111)
			})
		})
	}
}

// What nobody knows waits for who does.
func TestUnknownCodeWaits(t *testing.T) {
	everywhere(t, func(r *rig) {
		v1, v2, other := goodDeploy.define(), goodDeploy.define(stepwell.Version(2)), serial(1)
		wk := r.begin(v2, other)
		unknownVersion, err := v1.Start(r.ctx, r.client(v1), struct{}{})
		if err != nil {
			r.Fatal(err)
		}
		unknownWorkflow, err := r.client().Start(r.ctx, "serial-2", []byte("5"))
		if err != nil {
			r.Fatal(err)
		}
		want(r, start(r, wk, other, 0), 0)
		r.pass(10 * time.Second)
		for _, id := range []string{unknownVersion.ID(), unknownWorkflow.ID()} {
			if row := r.get(id); row.Status != world.Pending || row.Claims != 0 {
				r.Errorf("run of unknown code is %s after %d claims, want pending, 0", row.Status, row.Claims)
			}
		}
		wk.stop(r)
		wk = r.begin(v1, v2, serial(2))
		if err := numbers.Send(r.ctx, wk.App, unknownVersion.ID(), number{100}); err != nil {
			r.Fatal(err)
		}
		want(r, unknownVersion, 111)
		got, err := unknownWorkflow.Result(r.ctx)
		if err != nil || string(got) != "6" {
			r.Errorf("result = %s, %v, want 6", got, err)
		}
	})
}

// A registered step that the worker of its run does not know is queued for one that does.
func TestAnUnknownRegisteredStepWaitsForAWorkerThatKnowsIt(t *testing.T) {
	everywhere(t, func(r *rig) {
		double := stepwell.DefineStep("double", func(_ context.Context, n int) (int, error) { return 2 * n, nil })
		wf := stepwell.Define("needs-double", func(ctx stepwell.Context, n int) (int, error) { return double.Run(ctx, n) })
		other := serial(1)
		wk := r.begin(wf, other)
		run := start(r, wk, wf, 21)
		want(r, start(r, wk, other, 0), 0)
		r.pass(10 * time.Second)
		if row := r.get(run.ID()); row.Status != world.Running || row.Queue.Owner != "" || r.count(run.ID(), world.StepStarted, "") != 0 {
			r.dump(run.ID())
			r.Error("the run does not wait")
		}
		wk.stop(r)
		r.begin(wf, double)
		want(r, run, 42)
		r.replays(run.ID(), wf, double)
	})
}

// A run that blocks while a body runs lets the body end and keeps its result.
func TestResultsOfBodiesThatRunWhileTheRunBlocksAreKept(t *testing.T) {
	everywhere(t, func(r *rig) {
		var bodies, bad atomic.Int32
		bad.Store(1)
		wf := stepwell.Define("blocks-midway", func(ctx stepwell.Context, _ struct{}) (int, error) {
			f := stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) {
				return stepwell.Step(ctx, "slow", func(context.Context) (int, error) {
					bodies.Add(1)
					<-time.After(5 * time.Second)
					return 7, nil
				})
			})
			g := stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) { return 0, stepwell.Sleep(ctx, "due meanwhile", 3*time.Second) })
			if err := stepwell.Sleep(ctx, "until it breaks", time.Second); err != nil {
				return 0, err
			}
			if bad.Load() == 1 {
				panic(errors.New("not yet"))
			}
			if _, err := g.Get(ctx); err != nil {
				return 0, err
			}
			return f.Get(ctx)
		})
		wk := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{wf}})
		run := start(r, wk, wf, struct{}{})
		if b := r.blocked(run.ID()); b.Code != world.CodePanic || !strings.Contains(b.Message, "not yet") {
			r.Errorf("blocked = %s: %s", b.Code, b.Message)
		}
		if got := r.count(run.ID(), world.StepCompleted, ""); got != 1 {
			r.dump(run.ID())
			r.Errorf("results recorded = %d, want 1", got)
		}
		bad.Store(0)
		want(r, run, 7)
		if got := bodies.Load(); got != 1 {
			r.Errorf("the body ran %d times, want once", got)
		}
		r.replays(run.ID(), wf)
	})
}

// TestTheBuildThatWroteTheLogDiverges: a deploy is not to blame, and none is proposed.
func TestTheBuildThatWroteTheLogDiverges(t *testing.T) {
	for build, same := range map[string]bool{"4f1c2aa": true, "4f1c2aa+changes": false, "4f1c2aa+changes.1f2e3d4c": true, "unstamped.1f2e3d4c": true, "": true} {
		across(t, kinds[:1], modes[:1], func(r *rig) {
			var turns atomic.Int64
			wf := stepwell.Define("draws", func(ctx stepwell.Context, _ struct{}) (int, error) {
				if turns.Add(1) > 1 {
					return add("even", 2)(ctx)
				}
				if _, err := add("odd", 1)(ctx); err != nil {
					return 0, err
				}
				return 0, stepwell.Sleep(ctx, "nap", time.Minute)
			})
			cfg := stepwell.Config{Definitions: []stepwell.Definition{wf}, Build: build, CacheRuns: -1}
			wk := r.beginWith(cfg)
			run := start(r, wk, wf, struct{}{})
			b := r.blocked(run.ID())
			head, _, _ := strings.Cut(b.Message, "\n")
			if b.Code != world.CodeDiverged || strings.HasPrefix(head, "your code is not deterministic: ") != same || strings.Contains(b.Message, "Deploy") == same {
				r.Errorf("build %q: blocked = %s: %s", build, b.Code, b.Message)
			}
			if err := wk.Cancel(r.ctx, run.ID(), ""); err != nil {
				r.Fatal(err)
			}
		})
	}
}
