package behaviour_test

// How often a run is claimed and how many commits it costs: counted by the world, for what the design promises of each shape of run.

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/world"
)

// serial adds 0 … n-1 to its input, a step each.
func serial(n int) *stepwell.Workflow[int, int] {
	return stepwell.Define(fmt.Sprintf("serial-%d", n), func(ctx stepwell.Context, in int) (int, error) {
		for i := range n {
			v, err := stepwell.Step(ctx, "add", func(context.Context) (int, error) { return i, nil })
			if err != nil {
				return 0, err
			}
			in += v
		}
		return in, nil
	})
}

// cost checks how often a run was claimed (at most) and how many commits it took (0: any).
func (r *rig) cost(run string, claims int64, wantCommits int) {
	r.Helper()
	got, n := r.get(run).Claims, commits(r.T, r.world, run)
	if got > claims || wantCommits != 0 && n != wantCommits {
		r.dump(run)
		r.Errorf("%d claims, %d commits; want %d, %d", got, n, claims, wantCommits)
	}
}

func TestCostOfSerialStepsStartedEagerly(t *testing.T) {
	for _, n := range []int{3, 10} {
		everywhere(t, func(r *rig) {
			wf := serial(n)
			run := start(r, r.begin(wf), wf, 100)
			want(r, run, 100+n*(n-1)/2)
			r.cost(run.ID(), 1, n+1)
			r.replays(run.ID(), wf)
		})
	}
}

func TestCostOfSerialStepsStartedElsewhere(t *testing.T) {
	for _, n := range []int{3, 10} {
		everywhere(t, func(r *rig) {
			wf := serial(n)
			r.begin(wf)
			run, err := wf.Start(r.ctx, r.client(wf), 0)
			if err != nil {
				r.Fatal(err)
			}
			want(r, run, n*(n-1)/2)
			r.cost(run.ID(), 1, n+2)
		})
	}
}

func TestCostOfASleepBetweenSteps(t *testing.T) {
	everywhere(t, func(r *rig) {
		wf := stepwell.Define("nap", func(ctx stepwell.Context, in string) (string, error) {
			step := func(context.Context) (string, error) { return in, nil }
			if _, err := stepwell.Step(ctx, "a", step); err != nil {
				return "", err
			}
			if err := stepwell.Sleep(ctx, "nap", time.Second); err != nil {
				return "", err
			}
			return stepwell.Step(ctx, "b", step)
		})
		began := time.Now()
		run := start(r, r.begin(wf), wf, "x")
		want(r, run, "x")
		if took := time.Since(began); took < time.Second || took > 1500*time.Millisecond {
			r.Errorf("took %s, want a little over 1s", took)
		}
		r.cost(run.ID(), 2, 4)
	})
}

func TestCostOfTwoParallelSteps(t *testing.T) {
	everywhere(t, func(r *rig) {
		double := stepwell.DefineStep("double", func(_ context.Context, n int) (int, error) { return 2 * n, nil })
		closures := stepwell.Define("two-closures", func(ctx stepwell.Context, in int) ([]int, error) {
			return stepwell.Map(ctx, []int{in, in + 1}, 0, func(ctx stepwell.Context, n int) (int, error) {
				return stepwell.Step(ctx, "double", func(context.Context) (int, error) { return 2 * n, nil })
			})
		})
		registered := stepwell.Define("two-registered", func(ctx stepwell.Context, in int) ([]int, error) {
			return stepwell.All(ctx, double.Start(ctx, in), double.Start(ctx, in+1))
		})
		wk := r.begin(double, closures, registered)
		a, b := start(r, wk, closures, 1), start(r, wk, registered, 1)
		want(r, a, []int{2, 4})
		want(r, b, []int{2, 4})
		r.cost(a.ID(), 1, 0)
		r.cost(b.ID(), 3, 0)
		r.replays(b.ID(), double, registered)
	})
}

func TestCostOfAStepThatFailsTwice(t *testing.T) {
	everywhere(t, func(r *rig) {
		wf, _ := failing("fails-twice", 2, stepwell.Retry{Base: 10 * time.Millisecond})
		run := start(r, r.begin(wf), wf, struct{}{})
		want(r, run, 3)
		r.cost(run.ID(), 1, 6) // birth, two failures, two further starts, the end
	})
}

func TestAStartWithADelayIsNotEarly(t *testing.T) {
	everywhere(t, func(r *rig) {
		wf := serial(1)
		wk := r.begin(wf)
		began := time.Now()
		run := start(r, wk, wf, 0, stepwell.Delay(3*time.Second))
		if got := r.get(run.ID()).Status; got != world.Pending {
			r.Errorf("status = %s, want pending", got)
		}
		want(r, run, 0)
		if took := time.Since(began); took < 3*time.Second || took > 3500*time.Millisecond {
			r.Errorf("took %s, want a little over 3s", took)
		}
		r.cost(run.ID(), 1, 3)
	})
}

func TestAnEagerFirstTurnThatPanicsOrTakesLongIsBornPlain(t *testing.T) {
	everywhere(t, func(r *rig) {
		var evaluations atomic.Int32
		wf := stepwell.Define("first-turn", func(ctx stepwell.Context, how string) (string, error) {
			if evaluations.Add(1) == 1 {
				if how == "panic" {
					panic("at first")
				}
				<-time.After(200 * time.Millisecond) // code that should be in a step
			}
			return how, stepwell.Do(ctx, "step", func(context.Context) error { return nil })
		})
		wk := r.begin(wf)
		for _, how := range []string{"panic", "slow"} {
			evaluations.Store(0)
			began := time.Now()
			run := start(r, wk, wf, how)
			if took := time.Since(began); took > 60*time.Millisecond {
				r.Errorf("%s: Start took %s, want at most 50ms", how, took)
			}
			want(r, run, how)
			if birth := r.events(run.ID(), world.RunStarted)[0]; birth.Commit == 1 {
				r.Errorf("%s: birth and start share a commit", how)
			}
		}
	})
}

// signalled takes n signals, a step after each.
func signalled(n int) *stepwell.Workflow[struct{}, int] {
	return stepwell.Define(fmt.Sprintf("signalled-%d", n), func(ctx stepwell.Context, _ struct{}) (int, error) {
		sum := 0
		for range n {
			k, _, err := numbers.Wait(ctx)
			if err != nil {
				return 0, err
			}
			v, err := stepwell.Step(ctx, "add", func(context.Context) (int, error) { return k.N, nil })
			if err != nil {
				return 0, err
			}
			sum += v
		}
		return sum, nil
	})
}

// The rows that a step costs do not grow with the run, and the log is read at most once.
func TestLinear(t *testing.T) {
	sizes := map[string]int{"memory": 2_000, "sqlite": 400} // rows are counted, and the pure-Go SQLite is slow under the race detector
	if sample.All() {
		sizes = map[string]int{"memory": 10_000, "sqlite": 1_000}
	}
	for _, k := range kinds {
		n := sizes[k.name]
		t.Run(k.name+"/steps", func(t *testing.T) {
			w := k.open(t)
			wf := serial(n)
			app := work(t, w, stepwell.Config{Definitions: []stepwell.Definition{wf}})
			run, err := wf.Start(t.Context(), app, 0)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := run.Result(t.Context()); err != nil || got != n*(n-1)/2 {
				t.Fatalf("result = %d, %v", got, err)
			}
			most := int64(n) + 1
			if page, err := w.Events(t.Context(), run.ID(), world.EventQuery{Limit: 2}); err != nil {
				t.Fatal(err)
			} else if started := page.Events[1]; started.Commit > 1 {
				most++ // the machine was busy: the first turn took too long, and the birth has a row of its own
			}
			linear(t, w, int64(n), most)
		})
		t.Run(k.name+"/signals", func(t *testing.T) {
			w := k.open(t)
			wf := signalled(n)
			app := work(t, w, stepwell.Config{Definitions: []stepwell.Definition{wf}})
			run, err := wf.Start(t.Context(), app, struct{}{})
			if err != nil {
				t.Fatal(err)
			}
			for i := range n {
				if err := numbers.Send(t.Context(), app, run.ID(), number{i}); err != nil {
					t.Fatal(err)
				}
			}
			if got, err := run.Result(t.Context()); err != nil || got != n*(n-1)/2 {
				t.Fatalf("result = %d, %v", got, err)
			}
			linear(t, w, int64(n), 3*int64(n)+3)
		})
	}
}

func linear(t *testing.T, w world.World, n, most int64) {
	t.Helper()
	s, err := w.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := s.Counters
	if c.RowsWritten > most {
		t.Errorf("rows written = %d for %d steps, want at most %d", c.RowsWritten, n, most)
	}
	if c.RowsRead > c.RowsWritten {
		t.Errorf("rows read = %d of %d: the log was read more than once", c.RowsRead, c.RowsWritten)
	}
}
