package replay

import (
	"errors"
	"fmt"
	"iter"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// begun is a machine that was started, and what that came to.
func begun(t *testing.T, body Body) (*Machine, error) {
	return begunWith(t, Config{}, body)
}

func begunWith(t *testing.T, cfg Config, body Body) (*Machine, error) {
	cfg.Run, cfg.Created, cfg.Seed = "wrun_test", created, 7
	m := New(cfg, body)
	t.Cleanup(m.Close)
	var err error
	var wg sync.WaitGroup
	wg.Go(func() { // user code that calls Goexit ends it
		err = errors.New("the feeding goroutine ended")
		err = m.Feed([]world.Event{{Seq: 1, Type: world.RunStarted, Time: created}}, false)
	})
	wg.Wait()
	return m, err
}

func TestCloseUnwinds(t *testing.T) {
	tests := map[string]func(x *Ctx){
		"a step in a deferred function":                func(x *Ctx) { defer step(x, "undo"); step(x, "a") },
		"a panic in a deferred function":               func(x *Ctx) { defer panic("while unwinding"); step(x, "a") },
		"a recover in a loop":                          func(x *Ctx) { recoverForEver(x) },
		"a step of a deferred function that recovered": func(x *Ctx) { defer func() { _ = recover(); step(x, "undo") }(); panic("first") },
		"continue in a deferred function":              func(x *Ctx) { defer x.Continue(Continue{}); step(x, "a") },
		"a coroutine that never began": func(x *Ctx) {
			x.Go("", func(*Ctx, *Future) error { return nil })
			x.Continue(Continue{})
		},
	}
	for name, code := range tests {
		t.Run(name, func(t *testing.T) {
			unwound := false
			m, err := begun(t, func(x *Ctx) Outcome {
				defer func() { unwound = true }()
				code(x)
				return Outcome{}
			})
			if err != nil {
				t.Fatal(err)
			}
			m.Close()
			if !unwound {
				t.Error("deferred functions did not run")
			}
		})
	}
}

func recoverForEver(x *Ctx) {
	for {
		func() {
			defer func() { _ = recover() }()
			step(x, "a")
		}()
	}
}

func TestPanicsAndGoexitFailTheMachine(t *testing.T) {
	t.Run("panic", func(t *testing.T) {
		_, err := begun(t, func(*Ctx) Outcome { panic("boom") })
		if p, ok := errors.AsType[*PanicError](err); !ok || p.Value != "boom" || !strings.Contains(string(p.Stack), "close_test.go") {
			t.Errorf("error = %v, want the panic with its stack", err)
		}
	})
	t.Run("goexit", func(t *testing.T) {
		m, _ := begun(t, func(*Ctx) Outcome { runtime.Goexit(); return Outcome{} })
		err := m.Feed(nil, false)
		if p, ok := errors.AsType[*PanicError](err); !ok || p.Value != nil {
			t.Errorf("error = %v, want a panic without a value", err)
		}
	})
}

func TestForeignGoroutineIsDetected(t *testing.T) {
	calls := map[string]func(x *Ctx){
		"step":      func(x *Ctx) { x.Step(world.KindClosure, "a", nil, nil) },
		"now":       func(x *Ctx) { x.Now() },
		"wait":      func(x *Ctx) { x.Wait(x.m.future(nil)) },
		"go":        func(x *Ctx) { x.Go("", func(*Ctx, *Future) error { return nil }) },
		"hook":      func(x *Ctx) { x.Receive(x.Hook("h", "", nil)) },
		"signal":    func(x *Ctx) { x.Event("s", nil, 0, false) },
		"cancelled": func(x *Ctx) { x.Cancelled() },
		"logger":    func(x *Ctx) { x.Replaying(); x.Now() },
	}
	for name, call := range calls {
		t.Run(name+" while nothing runs", func(t *testing.T) {
			var x *Ctx
			m, err := begun(t, func(c *Ctx) Outcome { x = c; step(c, "a"); return Outcome{} })
			if err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			wg.Go(func() { call(x) })
			wg.Wait()
			if _, ok := errors.AsType[*ForeignError](m.Feed(nil, false)); !ok {
				t.Error("not detected")
			}
		})
		t.Run(name+" while a coroutine runs", func(t *testing.T) {
			_, err := begun(t, func(c *Ctx) Outcome {
				var wg sync.WaitGroup
				wg.Go(func() { call(c) })
				wg.Wait()
				return Outcome{}
			})
			if _, ok := errors.AsType[*ForeignError](err); !ok {
				t.Errorf("error = %v, want a *ForeignError", err)
			}
		})
	}
}

// TestForeignGoroutineBesideTheWorkflow: calls from outside reach nothing, whatever the workflow does meanwhile. The race detector is part of
// the test.
func TestForeignGoroutineBesideTheWorkflow(t *testing.T) {
	_, err := begun(t, func(x *Ctx) Outcome {
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 100 {
					x.Wait(x.Step(world.KindClosure, "foreign", nil, nil))
					x.Uint64()
				}
			})
		}
		for range 100 {
			x.Step(world.KindClosure, "own", nil, nil)
			x.Now()
		}
		wg.Wait()
		return Outcome{}
	})
	if _, ok := errors.AsType[*ForeignError](err); !ok {
		t.Errorf("error = %v, want a *ForeignError", err)
	}
}

// TestIteratorInsideWorkflow: what iter.Pull runs is a goroutine of its own, which cannot be suspended in the workflow's place.
func TestIteratorInsideWorkflow(t *testing.T) {
	_, err := begun(t, func(x *Ctx) Outcome {
		next, stop := iter.Pull(func(yield func(int) bool) { step(x, "a"); yield(1) })
		defer stop()
		next()
		return Outcome{}
	})
	if _, ok := errors.AsType[*ForeignError](err); !ok {
		t.Errorf("error = %v, want a *ForeignError", err)
	}
}

func TestMachineKnowsItsOwnCoroutines(t *testing.T) {
	m, err := begun(t, func(x *Ctx) Outcome {
		x.Wait(x.Go("", func(x *Ctx, _ *Future) error { return x.SetAttribute("a", []byte("1")) }))
		return Outcome{}
	})
	if err != nil || m.Outcome() == nil {
		t.Errorf("error %v, outcome %v; want the end", err, m.Outcome())
	}
}

func TestBadNamesAreRefused(t *testing.T) {
	for _, name := range []string{"", "a\x00b", "a\nb", string([]byte{0xff}), strings.Repeat("x", 257)} {
		_, err := begun(t, func(x *Ctx) Outcome {
			_, awaited := x.Await(name, func() bool { return true }, 0, nil)
			_, patched := x.Patched(name)
			h := x.Hook(name, "", nil)
			for what, err := range map[string]error{
				"step": x.Step(world.KindClosure, name, nil, nil).Err(), "sleep": x.Sleep(name, time.Second).Err(),
				"event": x.Event(name, nil, 0, false).Err(), "attribute": x.SetAttribute(name, nil), "await": awaited, "patch": patched,
				"hook": h.Err(), "receive": x.Receive(h).Err(), "dispose": x.Dispose(h),
			} {
				if !errors.Is(err, world.ErrInvalid) {
					t.Errorf("%s %q: error = %v, want ErrInvalid", what, name, err)
				}
			}
			return Outcome{}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestCancel(t *testing.T) {
	body := func(x *Ctx) Outcome {
		s := x.Step(world.KindClosure, "running", nil, nil)
		x.Wait(x.Sleep("nap", time.Hour))
		out := fmt.Sprint(x.Cancelled(), " ", x.Step(world.KindClosure, "new", nil, nil).Err())
		clean := x.Uncancelled().stepped("clean-up")
		x.Wait(s)
		return Outcome{Output: fmt.Appendf(nil, "%s %s %s", out, clean.Payload(), s.Payload())}
	}
	for _, order := range [][2]string{{"running", "clean-up"}, {"clean-up", "running"}} {
		l := start(t, body)
		l.add(world.Event{Type: world.CancelRequested})
		if got := l.m.Cancelled(); len(got) != 1 || got[0].Key.Name != "running" || !got[0].Cancelled() {
			t.Errorf("cancelled steps = %v, want the one that runs", got)
		}
		l.complete(order[0], 0, order[0])
		l.complete(order[1], 0, order[1])
		l.output("true cancelled clean-up running")
		l.replayed(body)
	}
}

func TestPauseHoldsResultsUntilResume(t *testing.T) {
	for _, end := range []world.EventType{world.RunResumed, world.CancelRequested} {
		body := func(x *Ctx) Outcome {
			a, b := step(x, "a"), step(x, "b")
			f := x.Sleep("nap", time.Hour)
			x.Wait(f)
			return Outcome{Output: fmt.Appendf(nil, "%s%s %v", a, b, f.Err())}
		}
		l := start(t, body)
		l.add(world.Event{Type: world.RunPaused})
		l.complete("a", 0, "1")
		if got := len(l.m.Asked()); got != 0 {
			t.Errorf("while paused the code asked for %d operations, want 0", got)
		}
		l.add(world.Event{Type: end})
		if end == world.RunResumed {
			l.complete("b", 0, "2")
			l.add(world.Event{Type: world.WaitCompleted, ID: l.id("nap", 0), Outcome: world.OutcomeDue})
			l.output("12 <nil>")
		}
		l.replayed(body)
	}
}
