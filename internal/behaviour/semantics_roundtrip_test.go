package behaviour_test

// What does not make the round trip through the log is refused by name, before it is durable; the library's own errors make it.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/codec"
	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/world"
)

// proud refuses its own output.
type proud struct{ N int }

func (p *proud) UnmarshalJSON([]byte) error { return errors.New("not from you") }

// opaque has nothing that JSON sees.
type opaque struct{ id string }

// lossOf has what asks for a thing whose value does not make the round trip.
func lossOf[T any](v T) map[string]func(stepwell.Context) error {
	child := stepwell.Define("child", func(stepwell.Context, T) (int, error) { return 0, nil })
	return map[string]func(stepwell.Context) error{
		"result": func(ctx stepwell.Context) error {
			_, err := stepwell.Step(ctx, "s", func(context.Context) (T, error) { return v, nil })
			return err
		},
		"registered result": func(ctx stepwell.Context) error {
			_, err := stepwell.DefineStep("registered", func(context.Context, int) (T, error) { return v, nil }).Run(ctx, 1)
			return err
		},
		"input": func(ctx stepwell.Context) error {
			_, err := stepwell.DefineStep("registered", func(context.Context, T) (int, error) { return 1, nil }).Run(ctx, v)
			return err
		},
		"child":     func(ctx stepwell.Context) error { _, err := child.Child().Run(ctx, v); return err },
		"attribute": func(ctx stepwell.Context) error { return stepwell.SetAttribute(ctx, "a", v) },
		"chunk":     func(ctx stepwell.Context) error { return stepwell.WriteStream(ctx, "s", v) },
		"chunk of a step": func(ctx stepwell.Context) error {
			return stepwell.Do(ctx, "s", func(ctx context.Context) error { return stepwell.Fatal(stepwell.Stream[T](ctx, "s").Write(v)) })
		},
	}
}

func TestWhatDoesNotMakeTheRoundTripIsRefused(t *testing.T) {
	for name, asks := range map[string]map[string]func(stepwell.Context) error{
		"an interface":    lossOf[fmt.Stringer](time.Second),
		"its own refusal": lossOf(proud{1}),
		"keys":            lossOf(map[string]int{"\xff": 1, "\xfe": 2}),
		"hidden fields":   lossOf([]opaque{{"7"}}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everyWay(t, func(r *rig) {
				var calls atomic.Int32
				wf := stepwell.Define("lossy", func(ctx stepwell.Context, what string) (string, error) {
					err := asks[what](ctx)
					if serr := stepwell.Sleep(ctx, "rest", time.Minute); serr != nil {
						return "", serr
					}
					rec := codec.FromError(err, nil)
					if rec == nil {
						return "", errors.New("it was taken")
					}
					return rec.Code, nil
				})
				reg := stepwell.DefineStep("registered", func(context.Context, json.RawMessage) (int, error) { calls.Add(1); return 1, nil })
				wk := r.begin(wf, reg)
				for what := range asks {
					run := start(r, wk, wf, what)
					want(r, run, world.CodeEncode)
					if n := r.count(run.ID(), world.StepRetrying, ""); n != 0 {
						r.Errorf("%s: tried again %d times, want never", what, n)
					}
				}
			})
		})
	}
}

func TestAnOutputThatDoesNotMakeTheRoundTripFailsTheRun(t *testing.T) {
	everyWay(t, func(r *rig) {
		wf := stepwell.Define("out", func(stepwell.Context, struct{}) (proud, error) { return proud{1}, nil })
		wk := r.begin(wf)
		if err := wantErr(r, start(r, wk, wf, struct{}{}), world.Failed); err.Code != world.CodeEncode {
			r.Errorf("code = %s, want ENCODE: %v", err.Code, err)
		}
		send := stepwell.Event[map[string]int]("e").Send(r.ctx, wk.App, "any", map[string]int{"\xff": 1})
		if ce, ok := errors.AsType[*codec.Error](send); !ok || ce.Code != world.CodeEncode {
			r.Errorf("Send = %v, want ENCODE", send)
		}
		input := stepwell.Define("in", func(stepwell.Context, proud) (int, error) { return 1, nil })
		_, err := input.Start(r.ctx, wk.App, proud{1})
		if ce, ok := errors.AsType[*codec.Error](err); !ok || ce.Code != world.CodeEncode {
			r.Errorf("Start = %v, want ENCODE", err)
		}
	})
}

// Undo errors, and what they wrap, are found in the error of the run; so are the others of the library.
func TestTheLibrarysErrorsAreFound(t *testing.T) {
	everyWay(t, func(r *rig) {
		wf := stepwell.Define("undone", func(ctx stepwell.Context, _ struct{}) (string, error) {
			stepwell.AddUndo(ctx, "refund", func(context.Context, any) error { return stepwell.Fatal(errors.New("no refund")) }, nil)
			_, err := stepwell.Map(ctx, []int{1, 2}, 1, func(ctx stepwell.Context, n int) (int, error) {
				return stepwell.Step(ctx, "charge", func(context.Context) (int, error) { return n, stepwell.Fatal(fs.ErrNotExist) })
			})
			return "", err
		})
		wk := r.begin(wf)
		run := start(r, wk, wf, struct{}{})
		err := wantErr(r, run, world.Failed)
		if undo, ok := errors.AsType[*stepwell.UndoError](error(err)); !ok || undo.Undo != "refund" {
			r.Errorf("UndoError = %v, want that of refund", undo)
		} else if step, ok := errors.AsType[*stepwell.StepError](undo.Err); !ok || step.Step != "refund" || step.Message != "no refund" || !step.Permanent {
			r.Errorf("StepError = %+v, want that of refund", step)
		}
		if item, ok := errors.AsType[*stepwell.ItemError](error(err)); !ok || item.Index != 0 {
			r.Errorf("ItemError = %v, want that of item 0", item)
		}
		if step, ok := errors.AsType[*stepwell.StepError](error(err)); !ok || step.Step != "charge" || !errors.Is(step, fs.ErrNotExist) {
			r.Errorf("StepError = %v, want that of charge", step)
		}
	})
}

// Every exported error of the package is found again after the round trip.
func TestEveryExportedErrorIsKnown(t *testing.T) {
	causes := fmt.Errorf("cause: %w", fs.ErrNotExist)
	values := map[string]error{
		"ErrCancelled": stepwell.ErrCancelled, "ErrNotFound": stepwell.ErrNotFound, "ErrTerminal": stepwell.ErrTerminal, "ErrRunExists": stepwell.ErrRunExists,
		"ErrInvalid": stepwell.ErrInvalid, "ErrTooLarge": stepwell.ErrTooLarge, "ErrInboxFull": stepwell.ErrInboxFull, "ErrNoKey": stepwell.ErrNoKey, "ErrWrongKey": stepwell.ErrWrongKey,
		"ErrWorkerExists": stepwell.ErrWorkerExists, "ErrLeaseLost": stepwell.ErrLeaseLost, "ErrDraining": stepwell.ErrDraining, "ErrRunOver": stepwell.ErrRunOver,
		"ErrTimeout": stepwell.ErrTimeout, "ErrFull": stepwell.ErrFull, "ErrClosed": stepwell.ErrClosed, "ErrStreamClosed": stepwell.ErrStreamClosed,
		"ErrAnswered": stepwell.ErrAnswered, "ErrDeliveryUsed": stepwell.ErrDeliveryUsed,
		"ErrUnfit": stepwell.ErrUnfit, "ErrNotStarted": stepwell.ErrNotStarted, "ErrHeartbeat": stepwell.ErrHeartbeat,
		"ErrRateLimited": stepwell.ErrRateLimited,
	}
	types := map[string]func(error) bool{
		"StepError": is[*stepwell.StepError], "UndoError": is[*stepwell.UndoError], "ItemError": is[*stepwell.ItemError], "RunError": is[*stepwell.RunError],
		"StreamError": is[*stepwell.StreamError], "PayloadError": is[*stepwell.PayloadError], "DivergedError": is[*stepwell.DivergedError],
		"HookConflictError": is[*stepwell.HookConflictError], "RetryRefusedError": is[*stepwell.RetryRefusedError],
	}
	made := map[string]error{
		"StepError": &stepwell.StepError{Step: "s"}, "UndoError": &stepwell.UndoError{Undo: "u", Err: causes}, "ItemError": &stepwell.ItemError{Err: causes},
		"RunError": &stepwell.RunError{Run: "r"}, "StreamError": &stepwell.StreamError{Stream: "s"}, "PayloadError": &stepwell.PayloadError{Of: "o", Err: causes},
		"DivergedError": &stepwell.DivergedError{Run: "r"}, "HookConflictError": &stepwell.HookConflictError{Token: "t"}, "RetryRefusedError": &stepwell.RetryRefusedError{Run: "r"},
	}
	for _, name := range exportedErrors(t) {
		var err error
		found := types[name]
		switch {
		case found != nil:
			err = made[name]
		case values[name] != nil:
			err = values[name]
			found = func(e error) bool { return errors.Is(e, err) }
		default:
			t.Errorf("%s is not known to this test, and may not be to logs", name)
			continue
		}
		rec := codec.FromError(fmt.Errorf("wrapped: %w", err), nil)
		if back := codec.ToError(rec, nil); !found(back) {
			t.Errorf("%s is not found after the round trip: %+v", name, rec)
		} else if errors.Is(err, fs.ErrNotExist) != errors.Is(back, fs.ErrNotExist) {
			t.Errorf("%s has lost its cause", name)
		}
	}
	if back := codec.ToError(codec.FromError(engine.ErrRunTimeout, nil), nil); !errors.Is(back, stepwell.ErrTimeout) || !errors.Is(back, stepwell.ErrCancelled) {
		t.Error("the timeout of a run is no timeout and cancel after the round trip")
	}
}

func is[T error](err error) bool { _, ok := errors.AsType[T](err); return ok }

// exportedErrors are the names of the package's error values and types.
func exportedErrors(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob("../../*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range g.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					if ast.IsExported(s.Name.Name) && strings.HasSuffix(s.Name.Name, "Error") {
						names = append(names, s.Name.Name)
					}
				case *ast.ValueSpec:
					for _, n := range s.Names {
						if strings.HasPrefix(n.Name, "Err") {
							names = append(names, n.Name)
						}
					}
				}
			}
		}
	}
	if len(names) < 20 {
		t.Fatalf("found %v, want more", names)
	}
	return names
}

// A body that obeys a cancel has an error that says so, whatever of its context it returns.
func TestABodyThatObeysACancel(t *testing.T) {
	for name, heed := range map[string]func(context.Context) error{
		"ctx.Err":       func(ctx context.Context) error { return ctx.Err() },
		"context.Cause": context.Cause,
		"wrapped":       func(ctx context.Context) error { return fmt.Errorf("send: %w", ctx.Err()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everyWay(t, func(r *rig) {
				body := func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, heed(ctx) }
				task := stepwell.DefineStep("task", func(ctx context.Context, _ int) (int, error) { return body(ctx) })
				said := make(chan bool, 16)
				wf := stepwell.Define("obeys", func(ctx stepwell.Context, _ struct{}) (int, error) {
					fs := []*stepwell.Future[int]{
						stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) { return stepwell.Step(ctx, "step", body) }), task.Start(ctx, 1), task.Start(ctx, 2),
					}
					all := true
					for _, f := range fs {
						_, err := f.Get(ctx)
						all = all && errors.Is(err, stepwell.ErrCancelled)
					}
					said <- all
					return 0, nil
				})
				wk := r.begin(wf, task)
				run := start(r, wk, wf, struct{}{})
				until(r, "the bodies", func() bool { return r.count(run.ID(), world.StepStarted, "") >= 1 })
				r.pass(time.Second)
				if err := wk.Cancel(r.ctx, run.ID(), ""); err != nil {
					r.Fatal(err)
				}
				wantErr(r, run, world.Cancelled)
				if !<-said {
					r.dump(run.ID())
					r.Error("an error of a step that obeyed the cancel is not ErrCancelled")
				}
			})
		})
	}
}
