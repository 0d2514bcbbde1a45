package behaviour_test

// Nil at each place of the exported API that can be handed it: refused by name, in workflow code and outside, and never a nil pointer inside the library.

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/keyring"
	"github.com/stepwell/stepwell/webhook"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

type (
	str   = func(ctx context.Context) (string, error)
	inner = func(ctx stepwell.Context) (string, error)
)

var (
	nilString = func(context.Context) (string, error) { return "", nil }
	nilWf     *stepwell.Workflow[int, int]
	nilStep   *stepwell.RegisteredStep[int, int]
	nilEvent  *stepwell.EventDef[int]
	nilHook   *stepwell.Hook[int]
	nilFuture *stepwell.Future[string]
	nilChild  *stepwell.ChildRun[int]
	nilApp    *stepwell.App
	undo      = func(context.Context) error { return nil }
	undoOf    = func(context.Context, int) error { return nil }
)

// done is a future that has ended.
func done(ctx stepwell.Context) *stepwell.Future[string] {
	return stepwell.Go(ctx, func(stepwell.Context) (string, error) { return "x", nil })
}

// second is the error of two results.
func second[T any](_ T, err error) error { return err }

// nilInCode are the places that workflow code reaches, by parameter; those without one are receivers, and what is like them. Each is an error that is ErrInvalid, or
// blocks the run with a message that says the same.
var nilInCode = map[string]func(ctx stepwell.Context) error{
	"Step.fn":                   func(ctx stepwell.Context) error { return second(stepwell.Step(ctx, "a", str(nil))) },
	"Step.opts":                 func(ctx stepwell.Context) error { return second(stepwell.Step(ctx, "a", nilString, nil)) },
	"Do.fn":                     func(ctx stepwell.Context) error { return stepwell.Do(ctx, "a", nil) },
	"Do.opts":                   func(ctx stepwell.Context) error { return stepwell.Do(ctx, "a", undo, nil) },
	"Call.fn":                   func(ctx stepwell.Context) error { return second(stepwell.Call[int, int](ctx, "a", nil, 1)) },
	"Call.opts":                 func(ctx stepwell.Context) error { return second(stepwell.Call(ctx, "a", unlucky, 1, nil)) },
	"Exec.fn":                   func(ctx stepwell.Context) error { return stepwell.Exec[int](ctx, "a", nil, 1) },
	"Exec.opts":                 func(ctx stepwell.Context) error { return stepwell.Exec(ctx, "a", (&cashier{}).refuse, nil, nil) },
	"Each.fn":                   func(ctx stepwell.Context) error { return stepwell.Each(ctx, []int{1}, 0, nil) },
	"MapSettled.fn":             func(ctx stepwell.Context) error { return second(stepwell.MapSettled[int, int](ctx, []int{1}, 0, nil)) },
	"Go.fn":                     func(ctx stepwell.Context) error { return second(stepwell.Go(ctx, inner(nil)).Get(ctx)) },
	"Await.cond":                func(ctx stepwell.Context) error { return second(stepwell.Await(ctx, nil)) },
	"Await.cond with a timeout": func(ctx stepwell.Context) error { return second(stepwell.Await(ctx, nil, stepwell.Timeout(1))) },
	"Await.cond at once":        func(ctx stepwell.Context) error { return second(stepwell.Await(ctx, nil, stepwell.Timeout(0))) },
	"Await.opts":                func(ctx stepwell.Context) error { return second(stepwell.Await(ctx, func() bool { return true }, nil)) },
	"Remind.fn": func(ctx stepwell.Context) error {
		return second(stepwell.Await(ctx, func() bool { return true }, stepwell.Remind(1, nil)))
	},
	"Hook.Wait.opts": func(ctx stepwell.Context) error {
		h, _ := stepwell.NewHook[int](ctx)
		_, _, err := h.Wait(ctx, nil)
		return err
	},
	"Hook.Start.opts": func(ctx stepwell.Context) error {
		h, _ := stepwell.NewHook[int](ctx)
		return second(h.Start(ctx, nil).Get(ctx))
	},
	"Map.fn": func(ctx stepwell.Context) error {
		return second(stepwell.Map(ctx, []int{1}, 0, (func(stepwell.Context, int) (int, error))(nil)))
	},
	"Map.fn of nothing": func(ctx stepwell.Context) error {
		return second(stepwell.Map(ctx, []int{}, 0, (func(stepwell.Context, int) (int, error))(nil)))
	},
	"All.fs":                   func(ctx stepwell.Context) error { return second(stepwell.All(ctx, done(ctx), nil)) },
	"All.fs of a zero":         func(ctx stepwell.Context) error { return second(stepwell.All(ctx, &stepwell.Future[string]{})) },
	"Race.fs":                  func(ctx stepwell.Context) error { return second(stepwell.Race(ctx, done(ctx), nil)) },
	"Select.fs":                func(ctx stepwell.Context) error { return second(stepwell.Select(ctx, done(ctx), nil)) },
	"Select.fs of a nil":       func(ctx stepwell.Context) error { return second(stepwell.Select(ctx, done(ctx), nilFuture)) },
	"Select.fs of a nil child": func(ctx stepwell.Context) error { return second(stepwell.Select(ctx, done(ctx), nilChild)) },
	"AddUndo.fn":               func(ctx stepwell.Context) error { stepwell.AddUndo[int](ctx, "a", nil, 1); return nil },
	"Undo.fn":                  func(ctx stepwell.Context) error { return stepwell.Do(ctx, "a", undo, stepwell.Undo[int]("u", nil, 1)) },
	"Undo.opts": func(ctx stepwell.Context) error {
		return stepwell.Do(ctx, "a", undo, stepwell.Undo("u", undoOf, 1, nil))
	},
	"AddUndo.opts":              func(ctx stepwell.Context) error { stepwell.AddUndo(ctx, "a", undoOf, 1, nil); return nil },
	"an undo to run":            func(ctx stepwell.Context) error { return (*stepwell.Undoing)(nil).Run(ctx) },
	"an undo to drop":           func(stepwell.Context) error { (*stepwell.Undoing)(nil).Drop(); return nil },
	"ContinueAsNew.opts":        func(ctx stepwell.Context) error { return stepwell.ContinueAsNew(ctx, 1, nil) },
	"NewHook.opts":              func(ctx stepwell.Context) error { return second(stepwell.NewHook[int](ctx, nil)) },
	"webhook.New.opts":          func(ctx stepwell.Context) error { return second(webhook.New(ctx, nil)) },
	"EventDef.Wait.opts":        func(ctx stepwell.Context) error { _, _, err := numbers.Wait(ctx, nil); return err },
	"EventDef.Start.opts":       func(ctx stepwell.Context) error { return second(numbers.Start(ctx, nil).Get(ctx)) },
	"RegisteredStep.With.opts":  func(ctx stepwell.Context) error { return second(oneStep.With(nil).Run(ctx, 1)) },
	"RegisteredStep.Start.opts": func(ctx stepwell.Context) error { return second(oneStep.Start(ctx, 1, nil).Get(ctx)) },
	"Workflow.Child.opts":       func(ctx stepwell.Context) error { return second(serial(1).Child(nil).Run(ctx, 1)) },
	"a future":                  func(ctx stepwell.Context) error { return second(nilFuture.Get(ctx)) },
	"a future asked":            func(stepwell.Context) error { nilFuture.Done(); return nil },
	"a zero child":              func(ctx stepwell.Context) error { return second((&stepwell.ChildRun[int]{}).Get(ctx)) },
	"a workflow":                func(ctx stepwell.Context) error { return second(nilWf.Child().Run(ctx, 1)) },
	"a step":                    func(ctx stepwell.Context) error { return second(nilStep.Run(ctx, 1)) },
	"a step without a function": func(ctx stepwell.Context) error { return second(stepwell.DefineStep[int, int]("a", nil).Run(ctx, 1)) },
	"an event":                  func(ctx stepwell.Context) error { _, _, err := nilEvent.Wait(ctx); return err },
	"a hook":                    func(ctx stepwell.Context) error { _, _, err := nilHook.Wait(ctx); return err },
	"a hook given back":         func(ctx stepwell.Context) error { return nilHook.Dispose(ctx) },
	"a hook's token":            func(stepwell.Context) error { _ = nilHook.Token(); return nil },
	"a webhook's address":       func(stepwell.Context) error { _ = (*webhook.Hook)(nil).URL(); return nil },
	"a webhook's request": func(ctx stepwell.Context) error {
		return (*webhook.Request)(nil).Respond(ctx, webhook.Response{})
	},
	"a stream, in workflow code": func(stepwell.Context) error { return (*stepwell.StreamWriter[int])(nil).Write(1) },
	"a coroutine's own function": func(ctx stepwell.Context) error {
		return second(stepwell.Go(ctx, func(ctx stepwell.Context) (string, error) { return stepwell.Step(ctx, "a", str(nil)) }).Get(ctx))
	},
}

var oneStep = stepwell.DefineStep("one", func(context.Context, int) (int, error) { return 1, nil })

// nilOutside are the places that a program reaches elsewhere: an error that is ErrInvalid, or, where there is none to be had, a panic that says what is nil.
var nilOutside = map[string]func(ctx context.Context, app *stepwell.App) error{
	"Define.fn": func(context.Context, *stepwell.App) error { return defined(stepwell.Define[int, int]("w", nil)) },
	"Define.opts": func(context.Context, *stepwell.App) error {
		return defined(stepwell.Define("w", func(stepwell.Context, int) (int, error) { return 0, nil }, nil))
	},
	"DefineStep.fn": func(context.Context, *stepwell.App) error { return defined(stepwell.DefineStep[int, int]("s", nil)) },
	"DefineStep.opts": func(context.Context, *stepwell.App) error {
		return defined(stepwell.DefineStep("s", func(context.Context, int) (int, error) { return 0, nil }, nil))
	},
	"DefineRemoteStep.opts": func(context.Context, *stepwell.App) error {
		return defined(stepwell.DefineRemoteStep[int, int]("s", nil))
	},
	"a definition":   func(context.Context, *stepwell.App) error { return defined(nil) },
	"a nil workflow": func(context.Context, *stepwell.App) error { return defined(nilWf) },
	"a nil step":     func(context.Context, *stepwell.App) error { return defined(nilStep) },
	"New.w":          func(context.Context, *stepwell.App) error { return second(stepwell.New(nil, stepwell.Config{})) },
	"New.w of a nil": func(context.Context, *stepwell.App) error {
		return second(stepwell.New((*memory.World)(nil), stepwell.Config{}))
	},
	"App.Start.input": func(ctx context.Context, app *stepwell.App) error { return second(app.Start(ctx, "w", nil)) },
	"App.Start.opts": func(ctx context.Context, app *stepwell.App) error {
		return second(app.Start(ctx, "w", []byte("1"), nil))
	},
	"EventDef.AlsoSend.opts": func(ctx context.Context, app *stepwell.App) error {
		return second(app.Start(ctx, "w", []byte("1"), numbers.AlsoSend(number{}, nil)))
	},
	"AlsoSignal.payload": func(ctx context.Context, app *stepwell.App) error {
		return second(app.Start(ctx, "w", []byte("1"), stepwell.AlsoSignal("e", nil)))
	},
	"AlsoSignal.opts": func(ctx context.Context, app *stepwell.App) error {
		return second(app.Start(ctx, "w", []byte("1"), stepwell.AlsoSignal("e", []byte("1"), nil)))
	},
	"Accepts.what": func(context.Context, *stepwell.App) error {
		return defined(stepwell.Define("w", func(stepwell.Context, int) (int, error) { return 0, nil }, stepwell.Accepts(nil)))
	},
	"RegisteredStep.Alone.opts": func(context.Context, *stepwell.App) error { return defined(oneStep.Alone(nil)) },
	"App.Signal.payload":        func(ctx context.Context, app *stepwell.App) error { return app.Signal(ctx, "r", "e", nil) },
	"App.Signal.opts":           func(ctx context.Context, app *stepwell.App) error { return app.Signal(ctx, "r", "e", []byte("1"), nil) },
	"App.SendHook.opts":         func(ctx context.Context, app *stepwell.App) error { return app.SendHook(ctx, "t", []byte("1"), nil) },
	"App.Bulk.act":              func(ctx context.Context, app *stepwell.App) error { return bulked(ctx, app, nil) },
	"App.Bulk.opts": func(ctx context.Context, app *stepwell.App) error {
		return bulked(ctx, app, func(context.Context, stepwell.RunInfo) error { return nil }, nil)
	},
	"App.Check.h":        func(ctx context.Context, app *stepwell.App) error { return app.Check(ctx, nil) },
	"App.Check.h, empty": func(ctx context.Context, app *stepwell.App) error { return app.Check(ctx, &stepwell.History{}) },
	"App.Import.h": func(ctx context.Context, app *stepwell.App) error {
		return app.Import(ctx, nil, stepwell.ImportOptions{})
	},
	"App.Import.h, empty": func(ctx context.Context, app *stepwell.App) error {
		return app.Import(ctx, &stepwell.History{}, stepwell.ImportOptions{})
	},
	"App.Export.to": func(ctx context.Context, app *stepwell.App) error { return app.Export(ctx, "r", nil) },
	"App.Export.opts": func(ctx context.Context, app *stepwell.App) error {
		return app.Export(ctx, "r", &strings.Builder{}, nil)
	},
	"App.SendHook.payload": func(ctx context.Context, app *stepwell.App) error { return app.SendHook(ctx, "t", nil) },
	"App.AdmitCommit.c":    func(_ context.Context, app *stepwell.App) error { return app.AdmitCommit(nil) },
	"App.AdmitPlaces.c":    func(ctx context.Context, app *stepwell.App) error { return app.AdmitPlaces(ctx, nil) },
	"App.AdmitDelivery.d":  func(_ context.Context, app *stepwell.App) error { return app.AdmitDelivery(nil) },
	"ReadHistories.from": func(context.Context, *stepwell.App) error {
		for _, err := range stepwell.ReadHistories(nil) {
			return err
		}
		return nil
	},
	"ReadStream.app": func(ctx context.Context, _ *stepwell.App) error {
		for _, err := range stepwell.ReadStream[int](ctx, nil, "r", "s", 0) {
			return err
		}
		return nil
	},
	"App.RunUntil.fn": func(ctx context.Context, app *stepwell.App) error { return app.RunUntil(ctx, nil) },
	"KeyOf.of": func(context.Context, *stepwell.App) error {
		wf := stepwell.Define("keyed", func(stepwell.Context, int) (int, error) { return 0, nil }, stepwell.Limit{AtOnce: 1, Key: stepwell.KeyOf[int](nil)})
		return second(stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{wf}}))
	},
	"keyring.FromEnv.getenv": func(context.Context, *stepwell.App) error { return second(keyring.FromEnv(nil)) },
	"Workflow.Start.app":     func(ctx context.Context, _ *stepwell.App) error { return second(serial(1).Start(ctx, nil, 1)) },
	"Workflow.Start.opts":    func(ctx context.Context, app *stepwell.App) error { return second(serial(1).Start(ctx, app, 1, nil)) },
	"Workflow.Get.app": func(ctx context.Context, _ *stepwell.App) error {
		return second(serial(1).Get(nilApp, "r").Result(ctx))
	},
	"a workflow to start": func(ctx context.Context, app *stepwell.App) error { return second(nilWf.Start(ctx, app, 1)) },
	"EventDef.Send.app":   func(ctx context.Context, _ *stepwell.App) error { return numbers.Send(ctx, nil, "r", number{}) },
	"EventDef.Send.opts":  func(ctx context.Context, app *stepwell.App) error { return numbers.Send(ctx, app, "r", number{}, nil) },
	"an event to send":    func(ctx context.Context, app *stepwell.App) error { return nilEvent.Send(ctx, app, "r", 1) },
	"a run":               func(ctx context.Context, _ *stepwell.App) error { return second((*stepwell.Run[int])(nil).Result(ctx)) },
	"In.tx": func(ctx context.Context, app *stepwell.App) error {
		return app.Signal(ctx, "r", "e", []byte("1"), stepwell.In(nil))
	},
	"webhook.Find.app":      func(ctx context.Context, _ *stepwell.App) error { return second(webhook.Find(ctx, nil, "wh_a")) },
	"webhook.FindEnded.app": func(ctx context.Context, _ *stepwell.App) error { return second(webhook.FindEnded(ctx, nil, "wh_a")) },
	"webhook.Request.Decode.v": func(context.Context, *stepwell.App) error {
		return (&webhook.Request{Body: []byte("1")}).Decode(nil)
	},
	"KnownError.err": func(context.Context, *stepwell.App) error {
		return second(stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{stepwell.KnownError("s", nil)}}))
	},
}

type typedError struct{ N int }

func (*typedError) Error() string { return "typed" }

// nilMeans are the places where nil is as good as another value, and what it means there.
var nilMeans = map[string]string{
	"Main.fn":                         "it is said, and the process ends with 1: TestMainIsAWholeProgram",
	"Fatal.err":                       "nil stays nil",
	"RetryAfter.err":                  "nil stays nil",
	"StreamWriter.CloseWithError.err": "Close",
	"App.HeartbeatHook.details":       "no details",
	"Metadata.v":                      "no metadata",
	"webhook.Metadata.v":              "no metadata",
	"observe.Join.all":                "left out",
	"webhook.Of.hook":                 "no webhook",
	"RunError.Is.target":              "the contract of errors.Is",
	"StepError.Is.target":             "the contract of errors.Is",
	"RetryRefusedError.Is.target":     "the contract of errors.Is",
}

func defined(d stepwell.Definition) error {
	return second(stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{d}}))
}

func bulked(ctx context.Context, app *stepwell.App, act stepwell.Act, opts ...stepwell.BulkOption) error {
	for _, err := range app.Bulk(ctx, stepwell.ListFilter{}, act, opts...) {
		return err
	}
	return nil
}

// says reports whether an error tells of a nil by name, and not by where it was followed.
func says(text string) bool {
	named := strings.Contains(text, " nil") || strings.Contains(text, "no function") || strings.Contains(text, "no act") || strings.Contains(text, "no world") ||
		strings.Contains(text, "not JSON") || strings.Contains(text, "without events") || strings.Contains(text, "cannot be compared") || strings.Contains(text, "transaction")
	return named && !strings.Contains(text, "nil pointer") && !strings.Contains(text, "invalid memory")
}

func TestNilInWorkflowCodeIsRefusedByName(t *testing.T) {
	onWorlds(t, func(r *rig) {
		wf := stepwell.Define("nils", func(ctx stepwell.Context, place string) (string, error) {
			err := nilInCode[place](ctx)
			if err == nil {
				return "", errors.New("accepted")
			}
			return fmt.Sprint(errors.Is(err, stepwell.ErrInvalid), " ", err), nil
		})
		app := r.begin(wf, oneStep, serial(1))
		for _, place := range slices.Sorted(maps.Keys(nilInCode)) {
			run := start(r, app, wf, place)
			var got string
			until(r, place, func() bool {
				row := r.get(run.ID())
				if q := row.Queue; q != nil && q.Blocked != nil {
					got = q.Blocked.Code + " " + q.Blocked.Message
					return true
				}
				return row.Status.Terminal()
			})
			if got != "" {
				if !strings.HasPrefix(got, world.CodeInternal+" ") || !says(got) {
					r.Errorf("%s: blocked, %s", place, got)
				}
				if err := app.ForceCancel(r.ctx, run.ID(), "seen"); err != nil {
					r.Fatal(err)
				}
				continue
			}
			out, err := run.Result(r.ctx)
			if err != nil || !strings.HasPrefix(out, "true ") || !says(out) {
				r.Errorf("%s: %q, %v; want an ErrInvalid that says what is nil", place, out, err)
			}
			if n := len(r.events(run.ID(), world.StepCreated, world.WaitCreated, world.HookCreated)); n > 0 {
				r.Errorf("%s: %d things were asked for", place, n)
			}
		}
	})
}

func TestNilOutsideIsRefusedByName(t *testing.T) {
	app, err := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{serial(1)}})
	if err != nil {
		t.Fatal(err)
	}
	for place, call := range nilOutside {
		func() {
			defer func() {
				if p := recover(); p != nil && !says(fmt.Sprint(p)) {
					t.Errorf("%s: panic: %v", place, p)
				}
			}()
			if err := call(t.Context(), app); !errors.Is(err, stepwell.ErrInvalid) || !says(err.Error()) {
				t.Errorf("%s: error = %v, want an ErrInvalid that says what is nil", place, err)
			}
		}()
	}
}

// TestEveryPlaceForANilIsKnown: a new parameter that can be nil belongs into one of the tables above.
func TestEveryPlaceForANilIsKnown(t *testing.T) {
	places := nilPlaces(t)
	if len(places) < 50 {
		t.Fatalf("found %d places; this test has gone blind", len(places))
	}
	for _, place := range places {
		known := nilMeans[place] != "" || nilInCode[place] != nil || nilOutside[place] != nil
		if !known {
			t.Errorf("%s can be nil: what becomes of that?", place)
		}
	}
	for place := range nilMeans {
		if !slices.Contains(places, place) {
			t.Errorf("%s is not there any more", place)
		}
	}
}

// nilPlaces lists the parameters of the exported functions and methods that can be nil, but for contexts and slices.
func nilPlaces(t *testing.T) (places []string) {
	t.Helper()
	for _, room := range []string{"", "acting", "keyring", "observe", "push", "check", "webhook"} {
		places = append(places, nilPlacesOf(t, room)...)
	}
	return places
}

// nilPlacesOf are those of one package: the root, or a room beside it, whose name they begin with.
func nilPlacesOf(t *testing.T, room string) (places []string) {
	files, err := filepath.Glob(filepath.Join("..", "..", room, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	if room != "" {
		room += "."
	}
	named := map[string]bool{"any": true, "error": true, "io.Reader": true, "io.Writer": true, "world.World": true, "world.Tx": true, "json.RawMessage": true}
	var funcs []*ast.FuncDecl
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.IsExported() {
				funcs = append(funcs, fn)
			}
			gen, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range gen.Specs {
				if ts, ok := s.(*ast.TypeSpec); ok {
					switch ts.Type.(type) {
					case *ast.InterfaceType, *ast.FuncType:
						named[ts.Name.Name] = true
					}
				}
			}
		}
	}
	var can func(e ast.Expr) bool
	can = func(e ast.Expr) bool {
		switch e := e.(type) {
		case *ast.FuncType, *ast.StarExpr, *ast.InterfaceType:
			return true
		case *ast.Ellipsis:
			return can(e.Elt)
		case *ast.Ident:
			return named[e.Name]
		case *ast.SelectorExpr:
			return named[fmt.Sprint(e.X)+"."+e.Sel.Name]
		}
		return false
	}
	for _, fn := range funcs {
		of := ""
		if fn.Recv != nil {
			if of = receiver(fn.Recv.List[0].Type); !ast.IsExported(of) {
				continue
			}
			of += "."
		}
		for _, p := range fn.Type.Params.List {
			for _, name := range p.Names {
				if can(p.Type) {
					places = append(places, room+of+fn.Name.Name+"."+name.Name)
				}
			}
		}
	}
	return places
}

func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
