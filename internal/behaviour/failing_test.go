package behaviour_test

// Runs that fail where they would be blocked: of a panic, of a divergence.

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// panicking does a and b, each with its undo, and panics as how says.
func (l *till) panicking(opts ...stepwell.WorkflowOption) *stepwell.Workflow[string, string] {
	return stepwell.Define("panicking", func(ctx stepwell.Context, how string) (string, error) {
		for _, name := range []string{"a", "b"} {
			if err := stepwell.Do(ctx, name, func(ctx context.Context) error { return l.do(ctx, name) }); err != nil {
				return "", err
			}
			stepwell.AddUndo(ctx, "un-"+name, l.do, "un-"+name)
		}
		beside := func(ctx stepwell.Context, i int) (int, error) {
			if i > 0 {
				return 0, stepwell.Sleep(ctx, "long", time.Hour)
			}
			if err := stepwell.Sleep(ctx, "short", time.Minute); err != nil {
				return 0, err
			}
			panic("no such city") // line: beside
		}
		switch how {
		case "in a deferred function":
			defer func() { panic("no such city") }()
			panic("first")
		case "in a coroutine":
			stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) { return beside(ctx, 0) })
			if err := stepwell.Sleep(ctx, "long", time.Hour); !errors.Is(err, stepwell.ErrCancelled) {
				return "", errors.New("want to be cancelled")
			}
			return "as if nothing had been", nil
		case "that is waited for":
			_, err := stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) { return beside(ctx, 0) }).Get(ctx)
			return "", err
		case "in an item":
			_, err := stepwell.Map(ctx, []int{0, 1, 2}, 0, beside)
			return "", err
		case "in the only item":
			_, err := stepwell.Map(ctx, []int{0}, 0, beside)
			return "", err
		case "in a condition":
			stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) {
				begun := ctx.Now()
				_, err := stepwell.Await(ctx, func() bool { return ctx.Now().Sub(begun) >= time.Minute && panics() })
				return 0, err
			})
			if err := stepwell.Sleep(ctx, "short", time.Minute); err != nil {
				return "", err
			}
			return "", stepwell.Sleep(ctx, "long", time.Hour)
		case "asks meanwhile":
			defer func() { _ = stepwell.Do(ctx, "never", func(ctx context.Context) error { return l.do(ctx, "never") }) }()
		case "while it cleans up":
			if err := stepwell.Sleep(ctx, "long", time.Hour); err == nil {
				return "", errors.New("want to be cancelled")
			}
		case "after another":
			stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) { return beside(ctx, 0) })
			if err := stepwell.Sleep(ctx, "long", time.Hour); err != nil {
				panic("a second time")
			}
		case "with Goexit":
			runtime.Goexit()
		}
		panic("no such city") // line: the function
	}, opts...)
}

func panics() bool { panic("no such city") }

const untaken = "a b un-b un-a"

// Wherever the code panics, what was done is undone in reverse, and then the run fails, and says of what and where.
func TestAPanicFailsTheRunWhereItIsToldTo(t *testing.T) {
	for _, how := range []string{
		"", "in a deferred function", "in a coroutine", "that is waited for", "in an item", "in the only item", "in a condition", "asks meanwhile", "after another",
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			everyWay(t, func(r *rig) {
				var l till
				wf := l.panicking(stepwell.FailOn(stepwell.Panics))
				run := start(r, r.begin(wf), wf, how)
				err := wantErr(r, run, world.Failed)
				row := r.get(run.ID())
				if err.Code != world.CodePanic || !strings.Contains(err.Error(), "workflow code panicked: no such city") && how != "in a deferred function" {
					r.Errorf("error = %v (%s)", err, err.Code)
				}
				if e := row.Error; !strings.HasPrefix(e.Where, "failing_test.go:") || !strings.Contains(e.Stack, "failing_test.go") || !e.Permanent {
					r.Errorf("where %q, stack:\n%s", e.Where, e.Stack)
				}
				if got := l.list(); got != untaken {
					r.Errorf("did %q, want %q", got, untaken)
				}
				r.replays(run.ID(), wf)
			})
		})
	}
}

// Code that ends its goroutine ends that of the machine: nothing is undone, and the error says what was not.
func TestGoexitFailsTheRunWhereItIsToldTo(t *testing.T) {
	everyWay(t, func(r *rig) {
		var l till
		wf := l.panicking(stepwell.FailOn(stepwell.Panics))
		err := wantErr(r, start(r, r.begin(wf), wf, "with Goexit"), world.Failed)
		if err.Code != world.CodePanic || !strings.Contains(err.Error(), `runtime.Goexit (t.FailNow does); nothing was undone: registered were "un-b", "un-a"`) || l.list() != "a b" {
			r.Errorf("error = %v (%s), did %q", err, err.Code, l.list())
		}
	})
}

// A run that is blocked fails when its worker is told to, and a retry goes on with mended code behind what was done.
func TestARunThatFailedOfAPanicCanBeRetried(t *testing.T) {
	everywhere(t, func(r *rig) {
		var l till
		code := func(mended bool, opts ...stepwell.WorkflowOption) *stepwell.Workflow[int, string] {
			return stepwell.Define("mended", func(ctx stepwell.Context, _ int) (string, error) {
				if err := stepwell.Do(ctx, "a", func(ctx context.Context) error { return l.do(ctx, "a") }); err != nil {
					return "", err
				}
				if !mended {
					panic("no such city")
				}
				return "done", stepwell.Do(ctx, "b", func(ctx context.Context) error { return l.do(ctx, "b") })
			}, opts...)
		}
		first := code(false)
		wk := r.begin(first)
		run := start(r, wk, first, 0)
		r.blocked(run.ID())
		wk.stop(r.T)
		wk = r.begin(code(false, stepwell.FailOn(stepwell.Panics)))
		if err := wantErr(r, run.Exactly(), world.Failed); err.Code != world.CodePanic {
			r.Errorf("error = %v", err)
		}
		wk.stop(r.T)
		wk = r.begin(code(true))
		again, err := wk.Retry(r.ctx, run.ID())
		if err != nil {
			r.Fatal(err)
		}
		if out, err := again.Result(r.ctx); err != nil || string(out) != `"done"` || l.list() != "a b" {
			r.Errorf("the retry came to %s, %v; did %q", out, err, l.list())
		}
	})
}

// A run that is cancelled is cancelled, whatever its clean-up comes to; the panic is told.
func TestAPanicWhileItCleansUpIsToldByTheCancel(t *testing.T) {
	everywhere(t, func(r *rig) {
		var l till
		wf := l.panicking(stepwell.FailOn(stepwell.Panics))
		wk := r.begin(wf)
		run := start(r, wk, wf, "while it cleans up")
		until(r, "the sleep", func() bool { return r.count(run.ID(), world.WaitCreated, "") == 1 })
		r.cancel(wk.App, run.ID())
		wantErr(r, run, world.Cancelled)
		if e := r.get(run.ID()).Error; e == nil || e.Code != world.CodePanic || l.list() != untaken {
			r.Errorf("error = %v, did %q", e, l.list())
		}
		r.replays(run.ID(), wf)
	})
}

// What says nothing blocks; the App can say it for all; a definition has the last word.
func TestWhoSaysWhetherAPanicBlocks(t *testing.T) {
	everywhere(t, func(r *rig) {
		for name, test := range map[string]struct {
			def   []stepwell.WorkflowOption
			app   []string
			fails bool
		}{
			"nobody":                       {nil, nil, false},
			"the App":                      {nil, []string{stepwell.Panics}, true},
			"the App, for something else":  {nil, []string{stepwell.Divergence}, false},
			"the definition, over the App": {[]stepwell.WorkflowOption{stepwell.FailOn()}, []string{stepwell.Panics}, false},
		} {
			var l till
			wf := l.panicking(test.def...)
			wk := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{wf}, FailOn: test.app})
			run := start(r, wk, wf, "")
			if test.fails {
				wantErr(r, run, world.Failed)
			} else if b := r.blocked(run.ID()); b.Code != world.CodePanic || l.list() != "a b" {
				r.Errorf("%s: blocked %v, did %q", name, b, l.list())
			}
			wk.stop(r.T)
		}
		for _, def := range []stepwell.Definition{(&till{}).panicking(stepwell.FailOn("STORAGE")), (&till{}).panicking(stepwell.FailOn("panic"))} {
			if _, err := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{def}}); !errors.Is(err, stepwell.ErrInvalid) || !strings.Contains(err.Error(), "want PANIC or DIVERGED") {
				r.Errorf("a cause that there is not: %v", err)
			}
		}
	})
}

// Code that ended its goroutine or does not match the log undoes nothing, and the error says which undo functions there
// were. Attached children end with the run.
func TestADivergenceFailsTheRunWhereItIsToldTo(t *testing.T) {
	everyWay(t, func(r *rig) {
		var l till
		child := stepwell.Define("child", func(ctx stepwell.Context, _ int) (int, error) { return 0, stepwell.Sleep(ctx, "long", time.Hour) })
		code := func(names ...string) *stepwell.Workflow[int, int] {
			return stepwell.Define("moves", func(ctx stepwell.Context, _ int) (int, error) {
				child.Child(stepwell.RunID("its-child")).Start(ctx, 0)
				for _, name := range names {
					if err := stepwell.Do(ctx, name, func(ctx context.Context) error { return l.do(ctx, name) }); err != nil {
						return 0, err
					}
					stepwell.AddUndo(ctx, "un-"+name, l.do, "un-"+name)
				}
				return 0, stepwell.Sleep(ctx, "nap", time.Minute)
			}, stepwell.FailOn(stepwell.Divergence))
		}
		before := code("a", "b", "c")
		wk := r.begin(before, child)
		run := start(r, wk, before, 0)
		until(r, "the nap", func() bool { return r.count(run.ID(), world.WaitCreated, "") == 1 })
		wk.stop(r.T)
		after := code("a", "b", "d")
		wk = r.begin(after, child)
		err := wantErr(r, run, world.Failed)
		if err.Code != world.CodeDiverged || !strings.Contains(err.Error(), `step "c"`) || !strings.Contains(err.Error(), `nothing was undone: registered were "un-b", "un-a"`) {
			r.Errorf("error = %v (%s)", err, err.Code)
		}
		if l.list() != "a b c" {
			r.Errorf("did %q", l.list())
		}
		until(r, "the child's end", func() bool { return r.get("its-child").Status == world.Cancelled })
		var file bytes.Buffer
		if err := wk.Export(r.ctx, run.ID(), &file); err != nil {
			r.Fatal(err)
		}
		for h, err := range stepwell.ReadHistories(&file) {
			if err == nil {
				err = wk.Check(r.ctx, h)
			}
			if err != nil && !errors.Is(err, stepwell.ErrNoKey) {
				r.Errorf("Check = %v, want nil: the code goes no further today either", err)
			}
		}
	})
}
