package behaviour_test

// Methods of an author's errors are the author's code: they are called where that runs, once, and may form circles.

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/observe"
	"github.com/stepwell/stepwell/world"
)

// circle is an error whose cause is another one, whose cause it is.
type circle struct{ cause error }

func (c *circle) Error() string { return "round and round" }
func (c *circle) Unwrap() error { return c.cause }

func newCircle() error {
	a, b := &circle{}, &circle{}
	a.cause, b.cause = b, a
	return a
}

// ring is a circle of joined errors.
type ring struct{ causes []error }

func (r *ring) Error() string   { return "a ring" }
func (r *ring) Unwrap() []error { return r.causes }

// unbounded has another cause whenever it is asked.
type unbounded struct{ n int }

func (u unbounded) Error() string { return "unbounded" }
func (u unbounded) Unwrap() error { return unbounded{u.n + 1} }

// moody misbehaves from its second call on, in one of its methods.
type moody struct {
	error
	method string
	calls  *atomic.Int32
	how    func()
}

func (m moody) turn(method string) {
	if m.method == method && m.calls.Add(1) > 1 {
		m.how()
	}
}
func (m moody) Error() string   { m.turn("Error"); return "moody" }
func (m moody) Unwrap() error   { m.turn("Unwrap"); return m.error }
func (m moody) Is(error) bool   { m.turn("Is"); return false }
func (m moody) As(any) bool     { m.turn("As"); return false }
func (m moody) Code() string    { m.turn("Code"); return "MOODY" }
func (m moody) Permanent() bool { m.turn("Permanent"); return false }

// strangeErrors are by their names.
func strangeErrors() map[string]func() error {
	all := map[string]func() error{
		"circle":  newCircle,
		"wrapped": func() error { return fmt.Errorf("around: %w", newCircle()) },
		"joined":  func() error { return errors.Join(errStock, newCircle()) },
		"ring": func() error {
			r := &ring{}
			r.causes = []error{errStock, r, r}
			return r
		},
		"unbounded": func() error { return unbounded{} },
	}
	for _, method := range []string{"Error", "Unwrap", "Is", "As", "Code", "Permanent"} {
		all[method+" panics"] = func() error {
			return moody{errStock, method, new(atomic.Int32), func() { panic("moody " + method) }}
		}
		all[method+" ends its goroutine"] = func() error { return moody{errStock, method, new(atomic.Int32), runtime.Goexit} }
	}
	return all
}

// TestMethodsOfErrorsAreCalledInTheBody: whatever the methods of an error do, the attempt ends, and is tried again as any other.
func TestMethodsOfErrorsAreCalledInTheBody(t *testing.T) {
	for name, make := range strangeErrors() {
		var attempts atomic.Int32
		fail := func(context.Context) (int, error) {
			if attempts.Add(1)%3 == 0 {
				return 7, nil
			}
			return 0, make()
		}
		opts := []stepwell.StepOption{stepwell.Timeout(time.Hour), stepwell.NonRetryable[*shortage](), stepwell.Retry{Attempts: 3}}
		task := stepwell.DefineStep("task", func(ctx context.Context, _ int) (int, error) { return fail(ctx) }, defining(opts)...)
		wf := stepwell.Define("strange", func(ctx stepwell.Context, _ struct{}) (int, error) {
			n, err := stepwell.Step(ctx, "closure", fail, opts...)
			if err != nil {
				return 0, err
			}
			ns, err := stepwell.All(ctx, task.Start(ctx, 1))
			if err != nil {
				return 0, err
			}
			return n + ns[0], nil
		})
		t.Run(name, func(t *testing.T) {
			bubble(t, kinds[0].open, modes[0].set, func(r *rig) {
				cfg := stepwell.Config{Definitions: known(wf, task), Observer: &observe.Observer{
					Attempt: func(ctx context.Context, _ observe.Step) (context.Context, func(error)) {
						return ctx, func(err error) { _ = errors.Is(err, context.Canceled) && err.Error() == "" }
					},
				}}
				wk := r.beginWith(cfg)
				want(r, start(r, wk, wf, struct{}{}), 14)
			})
		})
	}
}

// TestEndlessErrorsEndARun: an error of the workflow's own function, a panic with one, and a final one.
func TestEndlessErrorsEndARun(t *testing.T) {
	for name, make := range strangeErrors() {
		if !strings.Contains("circle wrapped joined ring unbounded", name) {
			continue // workflow code that panics is blocked
		}
		wf := stepwell.Define("ends", func(ctx stepwell.Context, how string) (int, error) {
			switch how {
			case "go":
				_, err := stepwell.Go(ctx, func(stepwell.Context) (int, error) { return 0, make() }).Get(ctx)
				return 0, err
			case "panic":
				panic(make())
			case "fatal":
				return 0, stepwell.Do(ctx, "fatal", func(context.Context) error { return stepwell.Fatal(make()) })
			case "undo":
				stepwell.AddUndo(ctx, "undo", func(context.Context, any) error { return stepwell.Fatal(make()) }, nil)
			}
			return 0, make()
		}, stepwell.FailOn(stepwell.Panics))
		t.Run(name, func(t *testing.T) {
			bubble(t, kinds[0].open, modes[2].set, func(r *rig) {
				wk := r.begin(wf)
				for _, how := range []string{"return", "go", "panic", "fatal", "undo"} {
					wantErr(r, start(r, wk, wf, how), world.Failed)
				}
			})
		})
	}
	t.Run("blocked", func(t *testing.T) {
		wf := stepwell.Define("blocked", func(stepwell.Context, struct{}) (int, error) { panic(newCircle()) })
		bubble(t, kinds[0].open, modes[2].set, func(r *rig) {
			run := start(r, r.begin(wf), wf, struct{}{})
			if b := r.blocked(run.ID()); b.Code != world.CodePanic || !strings.Contains(b.Message, "round and round") {
				t.Errorf("blocked: %+v", b)
			}
		})
	})
}

// TestAFatalErrorInACircleIsFinal: what is in a circle is found.
func TestAFatalErrorInACircleIsFinal(t *testing.T) {
	c := &circle{}
	c.cause = stepwell.Fatal(c)
	if told := (engine.Policy{}).Ask(c); !told.Final {
		t.Errorf("got %+v, want a final error", told)
	}
	c.cause = stepwell.RetryAfter(c, time.Minute)
	if told := (engine.Policy{}).Ask(c); told.Final || told.After != time.Minute {
		t.Errorf("got %+v, want another attempt after a minute", told)
	}
}
