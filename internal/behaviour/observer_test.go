package behaviour_test

// What an Observer is told: what the log has, once, whoever wrote it and however often it is replayed.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/observe"
	"github.com/stepwell/stepwell/world"
)

// told counts what an Observer was told, in the words of the log.
type told struct {
	mu     sync.Mutex
	counts map[string]int
	runs   map[string]observe.Run // that ended
	steps  map[string]observe.Step
	waits  []observe.Wait
	swept  int
}

func (o *told) add(run string, typ world.EventType, name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.counts == nil {
		o.counts, o.runs, o.steps = map[string]int{}, map[string]observe.Run{}, map[string]observe.Step{}
	}
	o.counts[fmt.Sprint(run, " ", typ, " ", name)]++
}

func (o *told) observer() *observe.Observer {
	run := func(typ world.EventType) func(observe.Run) {
		return func(r observe.Run) { o.add(r.ID, typ, "") }
	}
	return &observe.Observer{
		RunStarted: run(world.RunStarted), RunContinued: run(world.RunContinued),
		RunEnded: func(r observe.Run) {
			o.add(r.ID, world.EventType("run_"+r.Status), "")
			o.mu.Lock()
			defer o.mu.Unlock()
			o.runs[r.ID] = r
		},
		RunBlocked:  func(r observe.Run) { o.add(r.ID, "blocked", r.Blocked.Code) },
		StepStarted: func(s observe.Step) { o.add(s.Run.ID, world.StepStarted, s.Name) },
		StepRetried: func(s observe.Step) { o.add(s.Run.ID, world.StepRetrying, s.Name) },
		StepEnded: func(s observe.Step) {
			typ := world.StepCompleted
			if s.Error != nil {
				typ = world.StepFailed
			}
			o.add(s.Run.ID, typ, s.Name)
			o.mu.Lock()
			defer o.mu.Unlock()
			o.steps[s.Name] = s
		},
		WaitStarted: func(w observe.Wait) { o.add(w.Run.ID, world.WaitCreated, w.Name) },
		WaitEnded: func(w observe.Wait) {
			o.add(w.Run.ID, world.WaitCompleted, w.Name)
			o.mu.Lock()
			defer o.mu.Unlock()
			o.waits = append(o.waits, w)
		},
		Signal: func(s observe.Signal) { o.add(s.Run.ID, world.SignalReceived, s.Event) },
		Swept: func(n int) {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.swept += n
		},
	}
}

// sum is what was told so far.
func (o *told) sum() map[string]int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.counts)
}

// logged is the same of the logs of some runs.
func logged(r *rig, runs ...string) map[string]int {
	r.Helper()
	counts := map[string]int{}
	for _, run := range runs {
		names := map[string]string{}
		for _, e := range r.events(run) {
			if e.Name != "" {
				names[e.ID] = e.Name
			}
			switch e.Type {
			case world.RunStarted, world.RunContinued, world.RunCompleted, world.RunFailed, world.RunCancelled:
				counts[fmt.Sprint(run, " ", e.Type, " ")]++
			case world.StepStarted, world.StepRetrying, world.StepCompleted, world.StepFailed, world.WaitCreated, world.WaitCompleted:
				counts[fmt.Sprint(run, " ", e.Type, " ", names[e.ID])]++
			case world.SignalReceived:
				counts[fmt.Sprint(run, " ", e.Type, " ", e.Name)]++
			}
		}
	}
	return counts
}

// observed is a workflow with something of everything that is told; its child has the ID of its input.
func observed() (wf *stepwell.Workflow[string, int], defs []stepwell.Definition) {
	child := stepwell.Define("child", func(ctx stepwell.Context, n int) (int, error) {
		return stepwell.Step(ctx, "inner", func(context.Context) (int, error) { return n + 1, nil })
	})
	double := stepwell.DefineStep("double", func(_ context.Context, n int) (int, error) { return 2 * n, nil })
	wf = stepwell.Define("observed", func(ctx stepwell.Context, id string) (int, error) {
		n, err := stepwell.Step(ctx, "flaky", func(ctx context.Context) (int, error) {
			if stepwell.Info(ctx).Attempt == 1 {
				return 0, errors.New("not yet")
			}
			return 1, nil
		}, stepwell.Retry{Attempts: 9, Base: time.Minute})
		if err != nil {
			return 0, err
		}
		_ = stepwell.Do(ctx, "fails", func(context.Context) error { return stepwell.Fatal(errors.New("no")) })
		if err := stepwell.Sleep(ctx, "night", 8*time.Minute); err != nil {
			return 0, err
		}
		some, err := stepwell.All(ctx, double.Start(ctx, n), double.Start(ctx, 10), double.Start(ctx, 20))
		if err != nil {
			return 0, err
		}
		in, err := child.Child(stepwell.RunID(id)).Run(ctx, 5)
		if err != nil {
			return 0, err
		}
		again, err := stepwell.AwaitRun[int](ctx, id) // it is over: the commit of the question has the answer
		if err != nil {
			return 0, err
		}
		sent, _, err := stepwell.Event[int]("go").Wait(ctx)
		return some[0] + some[1] + some[2] + in + again + sent, err
	})
	return wf, []stepwell.Definition{wf, child, double}
}

func TestTheObserverIsToldWhatTheLogHas(t *testing.T) {
	everywhere(t, func(r *rig) {
		wf, defs := observed()
		var o told
		wk := r.beginWith(stepwell.Config{Definitions: defs, Observer: o.observer()})
		run := start(r, wk, wf, "the-child")
		r.pass(10 * time.Minute)
		if err := stepwell.Event[int]("go").Send(r.ctx, wk.App, run.ID(), 100); err != nil {
			r.Fatal(err)
		}
		want(r, run, 174)
		wk.stop(r)
		if diff := cmp.Diff(logged(r, run.ID(), "the-child"), o.sum()); diff != "" {
			r.Errorf("in the log -, told +:\n%s", diff)
		}
		end := o.runs[run.ID()]
		if end.Workflow != "observed" || end.Version != 1 || end.Status != world.Completed || end.EndedAt.Sub(end.CreatedAt) < 9*time.Minute {
			r.Errorf("told of the end: %+v", end)
		}
		if c := o.runs["the-child"]; c.Parent == nil || c.Parent.Run != run.ID() {
			r.Errorf("told of the child's end: %+v, want its parent", c)
		}
		if s := o.steps["flaky"]; s.Attempt != 2 || s.EndedAt.Sub(s.StartedAt) < 40*time.Second {
			r.Errorf("told of a step's end: %+v, want attempt 2, about a minute after the first began", s)
		}
		if w := o.waits[0]; w.Name != "night" || w.Kind != world.KindSleep || w.EndedAt.Sub(w.StartedAt) < 8*time.Minute {
			r.Errorf("told of a wait's end: %+v, want the night's", w)
		}
	})
}

// TestTheObserverIsToldOnceWhoeverDies: a worker dies before or after each of its commits in turn, and another ends its runs.
func TestTheObserverIsToldOnceWhoeverDies(t *testing.T) {
	for _, after := range []bool{false, true} {
		t.Run(fmt.Sprint("after=", after), func(t *testing.T) {
			t.Parallel()
			for k := 1; ; k++ {
				died := false
				bubble(t, kinds[0].open, func(c *stepwell.Config) { c.CacheRuns = -1 }, func(r *rig) {
					wf, defs := observed()
					var o told
					run, err := wf.Start(r.ctx, r.client(defs...), "the-child")
					if err != nil {
						r.Fatal(err)
					}
					m := r.beginMortal(stepwell.Config{Definitions: defs, Observer: o.observer()}, k, after)
					defer m.stop()
					r.pass(10 * time.Minute)
					heir := r.beginMortal(stepwell.Config{Definitions: defs, Observer: o.observer()}, 1000, false)
					r.pass(10 * time.Minute)
					if err := stepwell.Event[int]("go").Send(r.ctx, r.client(), run.ID(), 100); err != nil {
						r.Fatal(err)
					}
					want(r, run, 174)
					heir.stop()
					died = m.died.Load()
					got, all := o.sum(), logged(r, run.ID(), "the-child")
					lost := 0
					for what, n := range all {
						if got[what] > n {
							r.Errorf("dies at commit %d: told %s %d times, the log has it %d times", k, what, got[what], n)
						}
						lost += n - got[what]
					}
					for what := range got {
						if all[what] == 0 {
							r.Errorf("dies at commit %d: told %s, which the log has not", k, what)
						}
					}
					if !after && lost > 0 && m.Unheard() == 0 { // a commit of another run may have been under way
						r.Errorf("dies before commit %d: %d things were not told", k, lost)
					}
				})
				if !died {
					if k < 8 {
						t.Errorf("died at %d commits, want more", k-1)
					}
					return
				}
			}
		})
	}
}

func TestTheObserverIsToldOfCancelsBlocksAndSweeps(t *testing.T) {
	onWorlds(t, func(r *rig) {
		wf := stepwell.Define("w", func(ctx stepwell.Context, what string) (int, error) {
			if what == "panic" {
				panic("of the code")
			}
			return 0, stepwell.Sleep(ctx, "night", 8*time.Minute)
		}, stepwell.Retention(time.Minute))
		var o told
		wk := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{wf}, Observer: o.observer(), SweepInterval: time.Minute})
		bad, asked, forced := start(r, wk, wf, "panic"), start(r, wk, wf, ""), start(r, wk, wf, "")
		if b := r.blocked(bad.ID()); b.Code != world.CodePanic {
			r.Fatalf("blocked as %s, want a panic", b.Code)
		}
		for _, cancel := range []func(context.Context, string, string) error{wk.ForceCancel, wk.ForceCancel, r.client().ForceCancel} {
			if err := cancel(r.ctx, forced.ID(), "enough"); err != nil {
				r.Fatal(err)
			}
		}
		if err := wk.Cancel(r.ctx, asked.ID(), "enough"); err != nil {
			r.Fatal(err)
		}
		_ = wantErr(r, asked, world.Cancelled)
		if err := wk.Cancel(r.ctx, bad.ID(), "enough"); err != nil {
			r.Fatal(err)
		}
		_ = wantErr(r, bad, world.Cancelled)
		r.pass(5 * time.Minute)
		got := o.sum()
		for _, run := range []string{bad.ID(), asked.ID(), forced.ID()} {
			if n := got[run+" run_cancelled "]; n != 1 {
				r.Errorf("the end of %s was told %d times, want once", run, n)
			}
		}
		if n := got[bad.ID()+" blocked PANIC"]; n == 0 {
			r.Errorf("told %v, want that a run is blocked", got)
		}
		if end := o.runs[forced.ID()]; end.Workflow != "w" || end.StartedAt.IsZero() || end.EndedAt.IsZero() {
			r.Errorf("told of a forced end: %+v", end)
		}
		if o.swept != 3 {
			r.Errorf("told of %d swept runs, want 3", o.swept)
		}
	})
}

// TestTheObserverCannotBreakARun: one that panics at everything is logged, and changes nothing.
func TestTheObserverCannotBreakARun(t *testing.T) {
	everywhere(t, func(r *rig) {
		wf, defs := observed()
		log := &lines{}
		broken := &observe.Observer{
			Starting:      func(context.Context, observe.Start) map[string]string { panic("starting") },
			StartingChild: func(observe.Run, observe.Start) map[string]string { panic("child") },
			RunStarted:    func(observe.Run) { panic("started") },
			RunEnded:      func(observe.Run) { panic("ended") },
			Attempt: func(_ context.Context, s observe.Step) (context.Context, func(error)) {
				if s.Name == "inner" {
					panic("attempt")
				}
				return nil, func(error) { panic("attempt's end") }
			},
			StepStarted: func(observe.Step) { panic("step") },
			StepEnded:   func(observe.Step) { panic("step") },
			WaitEnded:   func(observe.Wait) { panic("wait") },
			Signal:      func(observe.Signal) { panic("signal") },
		}
		var o told
		wk := r.beginWith(stepwell.Config{Definitions: defs, Observer: observe.Join(nil, broken, o.observer()), Logger: slog.New(slog.NewTextHandler(log, nil))})
		run := start(r, wk, wf, "the-child")
		r.pass(10 * time.Minute)
		if err := stepwell.Event[int]("go").Send(r.ctx, wk.App, run.ID(), 100); err != nil {
			r.Fatal(err)
		}
		want(r, run, 174)
		wk.stop(r)
		if diff := cmp.Diff(logged(r, run.ID(), "the-child"), o.sum()); diff != "" {
			r.Errorf("in the log -, told to the one behind the broken one +:\n%s", diff)
		}
		for _, what := range []string{"starting", "child", "started", "ended", "attempt", "attempt's end", "step", "wait", "signal"} {
			if text := log.String(); !strings.Contains(text, "err="+what) && !strings.Contains(text, `err="`+what+`"`) {
				r.Errorf("the log does not say that %q panicked:\n%s", what, log)
			}
		}
	})
}

type spanKey struct{}

// TestAttemptsAndStartsPassTheObserver: a body has the context that the Observer made, a start what the Observer adds, and the attempts of tasks know
// the trace of their run.
func TestAttemptsAndStartsPassTheObserver(t *testing.T) {
	everywhere(t, func(r *rig) {
		var mu sync.Mutex
		var ends []string
		traces := map[string]string{}
		o := &observe.Observer{
			Starting: func(ctx context.Context, s observe.Start) map[string]string {
				return map[string]string{"traceparent": "of " + s.Workflow, "mine": "stays"}
			},
			StartingChild: func(p observe.Run, s observe.Start) map[string]string {
				return map[string]string{"traceparent": p.Context["traceparent"] + " " + s.Workflow}
			},
			RunStarted: func(run observe.Run) {
				mu.Lock()
				defer mu.Unlock()
				traces[run.Workflow] = fmt.Sprint(run.Context)
			},
			Attempt: func(ctx context.Context, s observe.Step) (context.Context, func(error)) {
				name := fmt.Sprintf("%s %s %d %s v%d", s.Name, s.Kind, s.Attempt, s.Run.Context["traceparent"], s.Run.Version)
				return context.WithValue(ctx, spanKey{}, name), func(err error) {
					mu.Lock()
					defer mu.Unlock()
					ends = append(ends, fmt.Sprintf("%s: %v", name, err))
				}
			},
		}
		body := func(ctx context.Context, _ int) (string, error) {
			if stepwell.Info(ctx).Name == "" {
				return "", stepwell.Fatal(errors.New("the context does not say who it is"))
			}
			if name, _ := ctx.Value(spanKey{}).(string); strings.Contains(name, " 1 ") {
				return "", errors.New(name)
			}
			return "ok", nil
		}
		task := stepwell.DefineStep("task", body, stepwell.Retry{Attempts: 3, Base: time.Minute})
		child := stepwell.Define("child", func(ctx stepwell.Context, _ int) (string, error) { return "child", nil })
		wf := stepwell.Define("parent", func(ctx stepwell.Context, _ int) (string, error) {
			if _, err := stepwell.Step(ctx, "closure", func(ctx context.Context) (string, error) { return body(ctx, 0) }, stepwell.Retry{Base: time.Minute}); err != nil {
				return "", err
			}
			if _, err := stepwell.All(ctx, task.Start(ctx, 1), task.Start(ctx, 2, stepwell.Retry{Attempts: 5, Base: time.Minute})); err != nil {
				return "", err
			}
			return child.Child().Run(ctx, 0)
		})
		wk := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{wf, child, task}, Observer: o})
		run := start(r, wk, wf, 0, stepwell.Tags(map[string]string{"mine": "first", "tag": "x"}))
		want(r, run, "child")
		wk.stop(r)
		mu.Lock()
		defer mu.Unlock()
		wantTraces := map[string]string{
			"parent": "map[mine:first tag:x traceparent:of parent]", "child": "map[traceparent:of parent child]",
		}
		if diff := cmp.Diff(wantTraces, traces); diff != "" {
			r.Errorf("contexts of runs: want -, got +:\n%s", diff)
		}
		got := map[string]int{}
		for _, e := range ends {
			got[e]++
		}
		wantEnds := map[string]int{
			"closure closure 1 of parent v1: closure closure 1 of parent v1": 1, "closure closure 2 of parent v1: <nil>": 1,
			"task task 1 of parent v1: task task 1 of parent v1": 2, "task task 2 of parent v1: <nil>": 2,
		}
		if diff := cmp.Diff(wantEnds, got); diff != "" {
			r.Errorf("attempts: want -, got +:\n%s", diff)
		}
	})
}

// TestTracesGoOnWithoutAnObserver: a worker that tells nobody still hands its run's trace to children and to tasks, for those who do.
func TestTracesGoOnWithoutAnObserver(t *testing.T) {
	onWorlds(t, func(r *rig) {
		var mu sync.Mutex
		var got []string
		task := stepwell.DefineStep("task", func(context.Context, int) (int, error) { return 1, nil })
		child := stepwell.Define("child", func(ctx stepwell.Context, _ int) (int, error) { return 1, nil })
		wf := stepwell.Define("parent", func(ctx stepwell.Context, _ int) (int, error) {
			if _, err := task.With(stepwell.Retry{Attempts: 7}).Run(ctx, 1); err != nil {
				return 0, err
			}
			return child.Child(stepwell.RunID("c")).Run(ctx, 1)
		})
		wk := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{wf, child}})
		r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{task}, Observer: &observe.Observer{
			Attempt: func(_ context.Context, s observe.Step) (context.Context, func(error)) {
				mu.Lock()
				defer mu.Unlock()
				got = append(got, fmt.Sprint(s.Run.ID, s.Run.Workflow, s.Run.Version, s.Run.Context))
				return nil, nil
			},
		}})
		run := start(r, wk, wf, 0, stepwell.RunID("p"), stepwell.Tags(map[string]string{"traceparent": "t", "tracestate": "s", "tag": "x"}))
		want(r, run, 1)
		mu.Lock()
		defer mu.Unlock()
		if diff := cmp.Diff([]string{"pparent1 map[traceparent:t tracestate:s]"}, got); diff != "" {
			r.Errorf("what a task's attempt knows: want -, got +:\n%s", diff)
		}
		birth := r.events("c", world.RunCreated)[0].Birth
		if diff := cmp.Diff(map[string]string{"traceparent": "t", "tracestate": "s"}, birth.Context); diff != "" {
			r.Errorf("the child's context: want -, got +:\n%s", diff)
		}
	})
}
