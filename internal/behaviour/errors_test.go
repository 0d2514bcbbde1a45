package behaviour_test

// What is left of an error after a replay: identity, causes, code, and where the step failed.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

var errStock = errors.New("out of stock")

type shortage struct{ Reason string }

func (d *shortage) Error() string { return "short: " + d.Reason }

// known are definitions, with those of the errors.
func known(definitions ...stepwell.Definition) []stepwell.Definition {
	return append(definitions, stepwell.KnownError("stock", errStock), stepwell.KnownErrorType[*shortage]("shortage"))
}

// line is the place so many lines below the call, as "errors_test.go:7".
func line(below int) string {
	_, file, n, _ := runtime.Caller(1)
	return fmt.Sprintf("%s:%d", file[strings.LastIndexByte(file, '/')+1:], n+below)
}

// failsOnce is a workflow whose steps fail in different ways. It notes where they should have.
func failsOnce(places map[string]string) (*stepwell.Workflow[string, string], *stepwell.RegisteredStep[int, int]) {
	registered := stepwell.DefineStep("registered", func(context.Context, int) (int, error) {
		return 0, stepErr(2)
	}, stepwell.Retry{Attempts: 1})
	wf := stepwell.Define("failing", func(ctx stepwell.Context, how string) (string, error) {
		once := stepwell.Retry{Attempts: 1}
		var err error
		switch how {
		case "do":
			places[how] = line(1)
			err = stepwell.Do(ctx, how, func(context.Context) error {
				return stepErr(1)
			}, once)
		case "step":
			places[how] = line(1)
			_, err = stepwell.Step(ctx, how, func(context.Context) (int, error) {
				return 0, stepErr(1)
			}, once)
		case "fatal":
			err = stepwell.Do(ctx, how, func(context.Context) error {
				places[how] = line(1)
				return fmt.Errorf("around: %w", stepwell.Fatal(stepErr(1)))
			})
		case "panic":
			err = stepwell.Do(ctx, how, func(context.Context) error {
				places[how] = line(1)
				panic(stepErr(1))
			}, once)
		case "nil pointer":
			err = stepwell.Do(ctx, how, func(context.Context) error {
				var d *shortage
				places[how] = line(1)
				return errors.New(d.Reason)
			}, once)
		case "registered": // wherever its function stands
			places[how] = line(1)
			_, err = registered.Run(ctx, 1)
		case "a function of its own":
			places[how] = line(1)
			_, err = stepwell.Step(ctx, how, elsewhere, once)
		case "with a stack":
			err = stepwell.Do(ctx, how, func(context.Context) error {
				places[how] = line(1)
				return fmt.Errorf("around: %w", traced(stepErr(1)))
			}, once)
		case "with a place":
			places[how] = "ledger.go:7"
			err = stepwell.Do(ctx, how, func(context.Context) error { return placed{stepErr(1)} }, once)
		}
		if sleepErr := stepwell.Sleep(ctx, "until it is replayed", time.Minute); sleepErr != nil {
			return "", sleepErr
		}
		step, ok := errors.AsType[*stepwell.StepError](err)
		if !ok {
			return "", fmt.Errorf("%T is no *StepError", err)
		}
		if what, _ := errors.AsType[*shortage](err); step.Code != world.CodePanic && (!errors.Is(err, errStock) || !errors.Is(err, io.EOF) || what == nil) {
			return "", errors.New("the code does not see what it failed with")
		}
		return "", fmt.Errorf("the end: %w", err)
	})
	return wf, registered
}

func elsewhere(context.Context) (int, error) { return 0, stepErr(1) }

// tracedError carries a stack as errors of github.com/pkg/errors do.
type tracedError struct {
	error
	stack []frame
}

type frame uintptr

func (e *tracedError) StackTrace() []frame { return e.stack }
func (e *tracedError) Unwrap() error       { return e.error }

func traced(err error) error {
	var pcs [8]uintptr
	e := &tracedError{error: err}
	for _, pc := range pcs[:runtime.Callers(2, pcs[:])] {
		e.stack = append(e.stack, frame(pc))
	}
	return e
}

// placed says where it arose.
type placed struct{ error }

func (placed) Where() string   { return "ledger.go:7" }
func (p placed) Unwrap() error { return p.error }

// stepErr is an error with causes of each sort.
func stepErr(n int) error {
	return fmt.Errorf("try %d: %w", n, errors.Join(errStock, &shortage{"no funds"}, io.EOF))
}

func TestErrorsSurviveAReplay(t *testing.T) {
	everywhere(t, func(r *rig) {
		places := map[string]string{}
		wf, registered := failsOnce(places)
		cfg := stepwell.Config{Definitions: known(wf, registered)}
		for _, how := range []string{"do", "step", "fatal", "panic", "nil pointer", "registered", "a function of its own", "with a stack", "with a place"} {
			wk := r.beginWith(cfg)
			run := start(r, wk, wf, how)
			until(r, "the step to fail", func() bool { return r.count(run.ID(), world.WaitCreated, "") == 1 })
			wk.stop(r.T)
			wk = r.beginWith(cfg) // it replays what failed
			failed := wantErr(r, run, world.Failed)
			step := r.events(run.ID(), world.StepFailed)[0].Error
			end := r.events(run.ID(), world.RunFailed)[0].Error
			if step.Where != places[how] || end.Where != places[how] {
				r.Errorf("%s: the step failed at %q, the run at %q, want %q", how, step.Where, end.Where, places[how])
			}
			if panicked := step.Code == world.CodePanic; panicked != strings.Contains(step.Stack, places[how]) || panicked && strings.Contains(step.Stack, "internal/engine") {
				r.Errorf("%s: code %q, stack:\n%s\nwant the author's part of it where it panicked, else none", how, step.Code, step.Stack)
			}
			what, _ := errors.AsType[*shortage](failed)
			if step.Code != world.CodePanic && (!errors.Is(failed, errStock) || !errors.Is(failed, io.EOF) || what == nil || what.Reason != "no funds") {
				r.Errorf("%s: %v has lost what it was made of", how, failed)
			}
			wk.stop(r.T)
		}
	})
}

// TestAQueuedStepIsPlacedAtItsCall: whichever worker ran its function, each attempt failed where the
// workflow waits for it, or, where that waits for something else, where it asked for it.
func TestAQueuedStepIsPlacedAtItsCall(t *testing.T) {
	onWorlds(t, func(r *rig) {
		reg := stepwell.DefineStep("registered", func(ctx context.Context, n int) (int, error) {
			return 0, fmt.Errorf("item %d: %w", n, errStock)
		}, stepwell.Retry{Attempts: 2, Base: time.Second})
		place := ""
		wf := stepwell.Define("places", func(ctx stepwell.Context, how string) (n int, err error) {
			switch how {
			case "run":
				place = line(1)
				return reg.Run(ctx, 1)
			case "with":
				place = line(1)
				return reg.With(stepwell.Timeout(time.Hour)).Run(ctx, 1)
			case "get":
				f := reg.Start(ctx, 1)
				place = line(1)
				return f.Get(ctx)
			case "nap":
				place = line(1)
				f := reg.Start(ctx, 1)
				if err := stepwell.Sleep(ctx, "nap", 20*time.Second); err != nil {
					return 0, err
				}
				return f.Get(ctx)
			case "map":
				place = line(1)
				_, err := stepwell.Map(ctx, []int{1}, 0, reg.Run)
				return 0, err
			case "map of a function":
				_, err := stepwell.Map(ctx, []int{1}, 0, func(ctx stepwell.Context, n int) (int, error) {
					place = line(1)
					return reg.Run(ctx, n)
				})
				return 0, err
			}
			return 0, fmt.Errorf("no such case: %q", how)
		})
		for _, how := range []string{"run", "with", "get", "nap", "map", "map of a function"} {
			for _, workers := range [][][]stepwell.Definition{{{wf, reg}}, {{wf}, {reg}}} {
				var all []*worker
				for _, defs := range workers {
					all = append(all, r.beginWith(stepwell.Config{Definitions: defs}))
				}
				run := start(r, all[0], wf, how)
				wantErr(r, run, world.Failed)
				failed := append(r.events(run.ID(), world.StepRetrying), r.events(run.ID(), world.StepFailed)...)
				for _, e := range failed {
					if e.Error.Where != place {
						r.Errorf("%s, %d workers: attempt %d failed at %q, want %q", how, len(all), e.Attempt, e.Error.Where, place)
					}
				}
				if len(failed) != 2 {
					r.Errorf("%s, %d workers: %d attempts failed, want 2", how, len(all), len(failed))
				}
				for _, wk := range all {
					wk.stop(r.T)
				}
			}
		}
	})
}
