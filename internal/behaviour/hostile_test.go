package behaviour_test

// This file holds what users' code can do at its worst, short of ending the process: each stays in its own run, and the runs beside it on the same worker
// go on.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// nilError is an error whose method cannot stand a nil receiver, as many cannot.
type nilError struct{ text string }

func (e *nilError) Error() string { return e.text }

// badUnwrap is an error that cannot be looked into.
type badUnwrap struct{}

func (*badUnwrap) Error() string { return "bad" }
func (*badUnwrap) Unwrap() error { panic("do not look") }

// dig calls itself so often before it does what it is for.
func dig(depth int, bottom func()) {
	if depth == 0 {
		bottom()
		return
	}
	dig(depth-1, bottom)
	runtime.KeepAlive(depth)
}

var hostileEvent = stepwell.Event[string]("hostile")

func calmStep(ctx stepwell.Context, name string) error {
	return stepwell.Do(ctx, name, func(context.Context) error { return nil })
}

// hostileCode is workflow code that blocks its run, and with what.
var hostileCode = []struct {
	name, block, says string
	code              func(ctx stepwell.Context) error
}{
	{"goexit", world.CodePanic, "Goexit", func(stepwell.Context) error { runtime.Goexit(); return nil }},
	{"goexit behind a step", world.CodePanic, "Goexit", func(ctx stepwell.Context) error {
		if err := calmStep(ctx, "a"); err != nil {
			return err
		}
		runtime.Goexit()
		return nil
	}},
	{"goexit in a coroutine", world.CodePanic, "Goexit", func(ctx stepwell.Context) error {
		_, err := stepwell.Go(ctx, func(stepwell.Context) (int, error) { runtime.Goexit(); return 0, nil }).Get(ctx)
		return err
	}},
	{"panic with nil", world.CodePanic, "nil", func(stepwell.Context) error { panic(nil) }},
	{"panic with a nil error", world.CodePanic, "panicked", func(stepwell.Context) error {
		var err *nilError
		panic(err)
	}},
	{"runtime error", world.CodePanic, "out of range", func(ctx stepwell.Context) error { panic(string([]byte{}[len(ctx.RunID()):][0])) }},
	{"deep panic", world.CodePanic, "at the bottom", func(stepwell.Context) error { dig(10_000, func() { panic("at the bottom") }); return nil }},
	{"step in a defer of a panic", world.CodePanic, "boom", func(ctx stepwell.Context) error {
		defer func() { _ = calmStep(ctx, "deferred") }()
		panic("boom")
	}},
	{"condition that panics", world.CodePanic, "in a condition", func(ctx stepwell.Context) error {
		asked := 0
		_, err := stepwell.Await(ctx, func() bool {
			if asked++; asked > 1 {
				panic("in a condition")
			}
			return false
		})
		return err
	}},
}

func TestHostileCodeBlocksItsOwnRun(t *testing.T) {
	for _, h := range hostileCode {
		t.Run(strings.ReplaceAll(h.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			onWorlds(t, func(r *rig) {
				hostile := stepwell.Define("hostile", func(ctx stepwell.Context, _ string) (string, error) { return "", h.code(ctx) })
				calm := stepwell.Define("calm", func(ctx stepwell.Context, _ string) (string, error) {
					return "calm", errors.Join(stepwell.Sleep(ctx, "nap", time.Second), calmStep(ctx, "a"))
				})
				app := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{hostile, calm}, MaxRuns: 1, MaxSteps: 1})
				beside := start(r, app, calm, "")
				run := start(r, app, hostile, "")
				b := r.blocked(run.ID())
				if b.Code != h.block || !strings.Contains(b.Message, h.says) {
					r.Errorf("blocked as %s: %s; want %s, %q", b.Code, b.Message, h.block, h.says)
				}
				if len(b.Message) > 3000 {
					r.Errorf("the message has %d bytes", len(b.Message))
				}
				want(r, beside, "calm")
				want(r, start(r, app, calm, ""), "calm")
			})
		})
	}
}

// TestHostileBodiesFailTheirOwnStep, in place and queued.
func TestHostileBodiesFailTheirOwnStep(t *testing.T) {
	codes := map[string]string{"error that panics": ""} // only its text is lost
	for name, body := range map[string]func() error{
		"unwrap that panics":  func() error { return &badUnwrap{} },
		"goexit":              func() error { runtime.Goexit(); return nil },
		"fail now":            func() error { (&testing.T{}).SkipNow(); return nil }, //lint:allow it is what the test is about
		"panic with nil":      func() error { panic(nil) },
		"panic with an error": func() error { panic(error((*nilError)(nil))) },
		"runtime error":       func() error { var list []error; return list[len(list)] },
		"error that panics":   func() error { var err *nilError; return err },
		"deep panic":          func() error { dig(10_000, func() { panic("at the bottom") }); return nil },
		"huge panic":          func() error { panic(strings.Repeat("x", 1<<20)) },
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			onWorlds(t, func(r *rig) {
				task := stepwell.DefineStep("task", func(context.Context, string) (int, error) { return 0, body() }, stepwell.Retry{Attempts: 1})
				calm := stepwell.DefineStep("calm", func(context.Context, string) (int, error) { return 0, nil })
				hostile := stepwell.Define("hostile", func(ctx stepwell.Context, _ string) ([]string, error) {
					_, closure := stepwell.Step(ctx, "closure", func(context.Context) (int, error) { return 0, body() }, stepwell.Retry{Attempts: 1})
					first, second := calm.Start(ctx, ""), task.Start(ctx, "")
					_, err := first.Get(ctx)
					_, queued := second.Get(ctx)
					var codes []string
					for _, e := range []error{closure, queued} {
						step, ok := errors.AsType[*stepwell.StepError](e)
						if !ok || len(step.Stack) > 4000 || len(step.Message) > 1<<17 {
							return nil, fmt.Errorf("got %T", e)
						}
						codes = append(codes, step.Code)
					}
					return codes, err
				})
				app := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{task, calm, hostile}})
				code, ok := codes[name]
				if !ok {
					code = world.CodePanic
				}
				want(r, start(r, app, hostile, ""), []string{code, code})
			})
		})
	}
}

// TestErrorThatPanicsIsAnError: what a workflow returns may have a method that panics; only its text is lost.
func TestErrorThatPanicsIsAnError(t *testing.T) {
	onWorlds(t, func(r *rig) {
		hostile := stepwell.Define("hostile", func(stepwell.Context, string) (string, error) {
			var err *nilError
			return "", err
		})
		app := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{hostile}})
		if err := wantErr(r, start(r, app, hostile, ""), world.Failed); !strings.Contains(err.Error(), "Error method panicked") {
			r.Errorf("error = %v", err)
		}
	})
}

// TestPlainGoroutineBlocksItsRun: one that calls the Context while the run waits.
func TestPlainGoroutineBlocksItsRun(t *testing.T) {
	onWorlds(t, func(r *rig) {
		call, called := make(chan struct{}, 10), make(chan struct{}, 10)
		var tame atomic.Bool
		hostile := stepwell.Define("hostile", func(ctx stepwell.Context, _ string) (string, error) {
			go func() {
				defer func() { called <- struct{}{} }()
				if <-call; tame.Load() {
					return
				}
				_ = calmStep(ctx, "foreign")
				_ = stepwell.Sleep(ctx, "foreign", time.Second)
				ctx.Now()
				ctx.Rand().Int()
				stepwell.Go(ctx, func(stepwell.Context) (int, error) { return 0, nil })
			}()
			s, _, err := hostileEvent.Wait(ctx)
			return s, err
		})
		app := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{hostile}})
		run := start(r, app, hostile, "")
		until(r, "the run to wait", func() bool { return r.count(run.ID(), world.WaitCreated, "") > 0 })
		r.pass(time.Second)
		call <- struct{}{}
		<-called
		if err := hostileEvent.Send(r.ctx, app.App, run.ID(), "x"); err != nil {
			r.Fatal(err)
		}
		if b := r.blocked(run.ID()); b.Code != world.CodeForeign || !strings.Contains(b.Message, "hostile_test.go") {
			r.Errorf("blocked as %s: %s; want %s, with the call's line", b.Code, b.Message, world.CodeForeign)
		}
		tame.Store(true)
		close(call)
		want(r, run, "x") // tried again, on a machine that nobody calls from outside
	})
}

// TestPlainGoroutineAfterTheEnd: calls after the run ended, and while its machine is unwound, reach nothing.
func TestPlainGoroutineAfterTheEnd(t *testing.T) {
	everywhere(t, func(r *rig) {
		var foreign sync.WaitGroup
		over := make(chan struct{})
		hostile := stepwell.Define("hostile", func(ctx stepwell.Context, _ string) (string, error) {
			defer func() { // also while it is unwound
				for range 3 {
					_ = recover()
				}
				_ = calmStep(ctx, "deferred")
			}()
			foreign.Go(func() {
				<-over
				for range 100 {
					ctx.Now()
					_ = calmStep(ctx, "foreign")
				}
			})
			s, _, err := hostileEvent.Wait(ctx)
			return s, err
		})
		app := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{hostile}})
		run := start(r, app, hostile, "")
		until(r, "the run to wait", func() bool { return r.count(run.ID(), world.WaitCreated, "") > 0 })
		r.pass(time.Second)
		if err := hostileEvent.Send(r.ctx, app.App, run.ID(), "x"); err != nil {
			r.Fatal(err)
		}
		want(r, run, "x")
		close(over)
		foreign.Wait()
		app.stop(r.T)
		if got := r.count(run.ID(), world.StepCompleted, "deferred"); got != 1 {
			r.Errorf("the deferred step completed %d times, want once", got)
		}
	})
}

// TestRecoverInALoopYields: code that recovers whatever it can is unwound and goes on all the same.
func TestRecoverInALoopYields(t *testing.T) {
	everywhere(t, func(r *rig) {
		hostile := stepwell.Define("hostile", func(ctx stepwell.Context, _ string) (out string, err error) {
			for out == "" {
				func() {
					defer func() { _ = recover() }()
					s, _, e := hostileEvent.Wait(ctx)
					out, err = s, e
					if s == "bad" {
						out = ""
						panic("again")
					}
				}()
			}
			return out, err
		})
		app := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{hostile}})
		run := start(r, app, hostile, "")
		for _, s := range []string{"bad", "bad", "good"} {
			r.pass(time.Minute)
			if err := hostileEvent.Send(r.ctx, app.App, run.ID(), s); err != nil {
				r.Fatal(err)
			}
		}
		want(r, run, "good")
		r.replays(run.ID(), hostile)
	})
}

// TestDeepRecursionIsCode: a workflow may be deep; its coroutine's stack grows like any other.
func TestDeepRecursionIsCode(t *testing.T) {
	everywhere(t, func(r *rig) {
		deep := stepwell.Define("deep", func(ctx stepwell.Context, _ string) (string, error) {
			var err error
			dig(50_000, func() {
				err = errors.Join(calmStep(ctx, "a"), stepwell.Sleep(ctx, "nap", time.Minute), calmStep(ctx, "b"))
			})
			return "up again", err
		})
		app := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{deep}})
		run := start(r, app, deep, "")
		want(r, run, "up again")
	})
}

// lines is a log that can be read while it is written.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// TestCodeThatDoesNotYieldIsReported: with its stack, once, after 5 s; "why" says so; other runs go on; a shutdown gives up on it.
func TestCodeThatDoesNotYieldIsReported(t *testing.T) {
	onWorlds(t, func(r *rig) {
		release := make(chan struct{})
		stuck := stepwell.Define("stuck", func(ctx stepwell.Context, _ string) (string, error) {
			err := calmStep(ctx, "a")
			<-release // nothing of Stepwell's: it holds its worker
			return "out", err
		})
		calm := stepwell.Define("calm", func(ctx stepwell.Context, _ string) (string, error) {
			return "calm", stepwell.Sleep(ctx, "nap", time.Minute)
		})
		log := &lines{}
		app := r.beginWith(stepwell.Config{
			Definitions: []stepwell.Definition{stuck, calm}, MaxRuns: 2, Logger: slog.New(slog.NewJSONHandler(log, nil)),
		})
		begun := time.Now()
		run := start(r, app, stuck, "")
		beside := start(r, app, calm, "")
		why := func() stepwell.Why {
			w, err := app.Why(r.ctx, run.ID())
			if err != nil {
				r.Fatal(err)
			}
			return w
		}
		r.at(begun, 4*time.Second)
		if s := log.String(); strings.Contains(s, "does not yield") || why().Kind == stepwell.WhyStalled {
			r.Errorf("reported after 4 s: %s", s)
		}
		r.at(begun, 8*time.Second)
		s := log.String()
		for _, part := range []string{"workflow code does not yield", run.ID(), `"workflow.name":"stuck"`, "hostile_test.go"} {
			if !strings.Contains(s, part) {
				r.Errorf("the log has no %q: %s", part, s)
			}
		}
		if w := why(); w.Kind != stepwell.WhyStalled || !strings.Contains(w.String(), "has not yielded since") || w.Since.Sub(begun) > 2*time.Second {
			r.Errorf("why: %s, since %s: %s", w.Kind, w.Since.Sub(begun), w)
		}
		want(r, beside, "calm")
		if n := strings.Count(log.String(), "does not yield"); n != 1 {
			r.Errorf("reported %d times, want once", n)
		}
		app.cancel()
		<-app.ended
		if app.err == nil || !strings.Contains(app.err.Error(), "did not yield") {
			r.Errorf("Run = %v, want it to say that code did not yield", app.err)
		}
		app.once.Do(func() {}) // it was looked at
		close(release)
		again := r.begin(stuck, calm)
		want(r, run, "out")
		again.stop(r.T)
	})
}
