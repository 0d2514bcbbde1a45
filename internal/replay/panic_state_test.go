package replay

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
)

// TestPanickingIsSeen: the layout of this Go release is found, and both ways of looking agree but for a panic that
// was just recovered.
func TestPanickingIsSeen(t *testing.T) {
	if (runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64") && !measured.ok {
		t.Fatal("where this Go release keeps its panics was not found: see measure")
	}
	tests := map[string]struct {
		panicking, below bool
		run              func(look func())
	}{
		"ordinary code":                      {false, false, func(look func()) { look() }},
		"a deferred function after a return": {false, false, func(look func()) { defer look() }},
		"a deferred function of a panic":     {true, true, func(look func()) { defer func() { _ = recover() }(); defer look(); panic("x") }},
		"deep in one":                        {true, true, func(look func()) { defer func() { _ = recover() }(); defer func() { deep(100, look) }(); panic("x") }},
		"of a nil pointer":                   {true, true, func(look func()) { defer func() { _ = recover() }(); defer look(); var p *int; *p = 1 }},
		"after recover":                      {false, true, func(look func()) { defer func() { _ = recover(); look() }(); panic("x") }},
		"after the deferred function":        {false, false, func(look func()) { recovers(); look() }},
		"a panic recovered within another":   {true, true, func(look func()) { defer func() { _ = recover() }(); defer func() { recovers(); look() }(); panic("x") }},
		"a panic after a recovered one": {true, true, func(look func()) {
			defer func() { _ = recover() }()
			defer func() { r := recover(); defer look(); panic(r) }()
			panic("x")
		}},
		"another after one was recovered": {false, true, func(look func()) { defer func() { _ = recover(); recovers(); look() }(); panic("x") }},
		"Goexit":                          {true, true, func(look func()) { defer look(); runtime.Goexit() }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var wg sync.WaitGroup
			looked := false
			wg.Go(func() {
				tt.run(func() {
					looked = true
					if measured.ok && panicking() != tt.panicking {
						t.Errorf("panicking = %v", !tt.panicking)
					}
					if panicBelow() != tt.below {
						t.Errorf("panicBelow = %v", !tt.below)
					}
				})
			})
			wg.Wait()
			if !looked {
				t.Error("nobody looked")
			}
		})
	}
}

func recovers() {
	defer func() { _ = recover() }()
	panic("recovered")
}

func deep(n int, f func()) {
	var room [64]byte
	if n > 0 {
		deep(n-1, f)
	} else {
		f()
	}
	_ = room
}

// operations are all that a deferred function may ask for; each says what it was answered, where it is.
var operations = map[string]func(x *Ctx) error{
	"step":           func(x *Ctx) error { f := x.Step(world.KindClosure, "d", nil, nil); x.Wait(f); return f.Err() },
	"child":          func(x *Ctx) error { return x.Other(world.KindChild, "d", "", nil, nil).Err() },
	"sleep":          func(x *Ctx) error { f := x.Sleep("d", time.Hour); x.Wait(f); return f.Err() },
	"event":          func(x *Ctx) error { return x.Event("d", nil, 0, false).Err() },
	"await":          func(x *Ctx) error { _, err := x.Await("d", func() bool { return false }, 0, nil); return err },
	"attribute":      func(x *Ctx) error { return x.SetAttribute("d", []byte("1")) },
	"stream":         func(x *Ctx) error { return x.Record(world.KindStream, "d", nil, nil) },
	"hook":           func(x *Ctx) error { return x.Hook("d", "", nil).Err() },
	"dispose":        func(x *Ctx) error { return x.Dispose(x.m.hooks["open"].op.future) },
	"receive":        func(x *Ctx) error { return x.Receive(x.m.hooks["open"].op.future).Err() },
	"go":             func(x *Ctx) error { return x.Go("", func(x *Ctx, _ *Future) error { return nil }).Err() },
	"map":            func(x *Ctx) error { _, err := x.Items(1, 0, func(*Ctx, int) error { return nil }); return err },
	"patch":          func(x *Ctx) error { _, err := x.Patched("d"); return err },
	"cancel":         func(x *Ctx) error { x.Cancel(); return x.Refusal() },
	"settle":         func(x *Ctx) error { x.Scope().Settle(); return x.Refusal() },
	"continue":       func(x *Ctx) error { x.Continue(Continue{}); return x.Refusal() },
	"local":          func(x *Ctx) error { _ = x.Local(); return x.Refusal() },
	"in uncancelled": func(x *Ctx) error { return x.Uncancelled().Step(world.KindClosure, "d", nil, nil).Err() },
}

// TestDeferredOperationsOfAPanicDoNothing: whatever a deferred function asks for while its coroutine panics, the
// machine has failed with that panic at the end of the turn, and nothing was asked for.
func TestDeferredOperationsOfAPanicDoNothing(t *testing.T) {
	hooks := []*world.Hook{{ID: "open", Token: "t", Chosen: true}}
	for name, operation := range operations {
		for place, run := range map[string]func(x *Ctx, code func(x *Ctx)){
			"in the workflow's function": func(x *Ctx, code func(x *Ctx)) { code(x) },
			"in a coroutine": func(x *Ctx, code func(x *Ctx)) {
				x.Wait(x.Go("", func(x *Ctx, _ *Future) error { code(x); return nil }))
			},
		} {
			t.Run(name+" "+place, func(t *testing.T) {
				var answer error
				m, err := begunWith(t, Config{Hooks: hooks}, func(x *Ctx) Outcome {
					run(x, func(x *Ctx) { defer func() { answer = operation(x) }(); panic("boom") })
					return Outcome{}
				})
				if p, ok := errors.AsType[*PanicError](err); !ok || p.Value != "boom" || !strings.Contains(string(p.Stack), "panic_state_test.go") {
					t.Errorf("error = %v, want the panic", err)
				}
				if !errors.Is(answer, ErrPanicking) {
					t.Errorf("answer = %v, want ErrPanicking", answer)
				}
				if asked := m.Asked(); len(asked) > 0 || m.Outcome() != nil {
					t.Errorf("asked for %d operations, first %s; outcome %v", len(asked), asked[0].Describe(), m.Outcome())
				}
			})
		}
	}
}

// TestDeferredOperationsOfGoexit: the same where the code ends its goroutine.
func TestDeferredOperationsOfGoexit(t *testing.T) {
	m, _ := begun(t, func(x *Ctx) Outcome {
		defer step(x, "d")
		runtime.Goexit()
		return Outcome{}
	})
	err := m.Feed(nil, false)
	if p, ok := errors.AsType[*PanicError](err); !ok || p.Value != nil || len(m.Asked()) > 0 {
		t.Errorf("error = %v, %d asked; want a panic without a value, and nothing", err, len(m.Asked()))
	}
}

// TestRecoveredPanic: what was asked for before the recover was not done, so that the run cannot go on; what is asked
// for after it is.
func TestRecoveredPanic(t *testing.T) {
	t.Run("after it", func(t *testing.T) {
		body := func(x *Ctx) (out Outcome) {
			func() {
				defer func() { step(x, fmt.Sprint("undo ", recover())) }()
				panic("boom")
			}()
			return Outcome{Output: []byte(step(x, "next"))}
		}
		l := start(t, body)
		l.complete("undo boom", 0, "1")
		l.complete("next", 0, "2")
		l.output("2")
		l.replayed(body)
	})
	t.Run("before it", func(t *testing.T) {
		m, err := begun(t, func(x *Ctx) Outcome {
			func() {
				defer func() { _ = recover() }()
				defer step(x, "undo")
				panic("boom")
			}()
			step(x, "next")
			return Outcome{}
		})
		if p, ok := errors.AsType[*PanicError](err); !ok || p.Value != errEarly || !strings.Contains(string(p.Stack), "panic_state_test.go") || m.Outcome() != nil {
			t.Errorf("error = %v, outcome %v; want a panic", err, m.Outcome())
		}
	})
}

func BenchmarkPanicking(b *testing.B) {
	for b.Loop() {
		if panicking() {
			b.Fatal("panicking")
		}
	}
}
