package behaviour_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/webhook"
	"github.com/stepwell/stepwell/world/memory"
)

// TestANilOptionIsRefusedByName: of every kind, with an error that says which, and nothing is written for it.
func TestANilOptionIsRefusedByName(t *testing.T) {
	once := func(context.Context) error { return nil }
	reg := stepwell.DefineStep("registered", func(context.Context, int) (int, error) { return 1, nil })
	inCode := map[string]func(ctx stepwell.Context) error{
		"StepOption of a step":  func(ctx stepwell.Context) error { return stepwell.Do(ctx, "a", once, stepwell.Retry{}, nil) },
		"StepOption of a nil":   func(ctx stepwell.Context) error { return stepwell.Do(ctx, "a", once, (*stepwell.Retry)(nil)) },
		"StepOption of a start": func(ctx stepwell.Context) error { _, err := reg.With(nil).Run(ctx, 1); return err },
		"EventOption":           func(ctx stepwell.Context) error { _, _, err := numbers.Wait(ctx, nil); return err },
		"WaitOption": func(ctx stepwell.Context) error {
			_, err := stepwell.Await(ctx, func() bool { return true }, nil)
			return err
		},
		"HookOption":              func(ctx stepwell.Context) error { _, err := stepwell.NewHook[int](ctx, nil); return err },
		"webhook.Option":          func(ctx stepwell.Context) error { _, err := webhook.New(ctx, nil); return err },
		"ChildOption":             func(ctx stepwell.Context) error { _, err := serial(1).Child(nil).Run(ctx, 0); return err },
		"ContinueOption":          func(ctx stepwell.Context) error { return stepwell.ContinueAsNew(ctx, 1, nil) },
		"Awaitable":               func(ctx stepwell.Context) error { _, err := stepwell.Select(ctx, nil); return err },
		"StepOption of no effect": func(ctx stepwell.Context) error { return stepwell.Do(ctx, "a", once, nil, nil) },
	}
	wf := stepwell.Define("given", func(ctx stepwell.Context, which string) (string, error) {
		err := inCode[which](ctx)
		if !errors.Is(err, stepwell.ErrInvalid) {
			t.Errorf("%s: error = %v, want ErrInvalid", which, err)
		}
		return err.Error(), nil
	})
	refused := func(which string, err error) {
		t.Helper()
		kind, _, _ := strings.Cut(which, " ")
		if err == nil || !errors.Is(err, stepwell.ErrInvalid) || !strings.Contains(err.Error(), "is nil: want a "+named(kind)) {
			t.Errorf("%s: error = %v, want one that names the option", which, err)
		}
	}
	app := work(t, memory.New(), stepwell.Config{Definitions: []stepwell.Definition{wf, reg, serial(1)}})
	for which := range inCode {
		run, err := wf.Start(t.Context(), app, which)
		if err != nil {
			t.Fatal(err)
		}
		said, err := run.Result(t.Context())
		kind, _, _ := strings.Cut(which, " ")
		if err != nil || !strings.Contains(said, "is nil: want a "+named(kind)) {
			t.Errorf("%s: %q, %v; want the option's place and kind", which, said, err)
		}
	}
	_, err := wf.Start(t.Context(), app, "", nil)
	refused("StartOption of a workflow", err)
	_, err = app.Start(t.Context(), "given", []byte(`""`), nil)
	refused("StartOption by name", err)
	refused("SendOption", app.Signal(t.Context(), "r", "e", []byte(`1`), nil))
	refused("ExportOption", app.Export(t.Context(), "r", io.Discard, nil))
	for _, err := range app.Bulk(t.Context(), stepwell.ListFilter{}, func(context.Context, stepwell.RunInfo) error { return nil }, nil) {
		refused("BulkOption", err)
	}
	for which, d := range map[string]stepwell.Definition{
		"WorkflowOption":       stepwell.Define("w", func(stepwell.Context, int) (int, error) { return 0, nil }, nil),
		"StepDefinitionOption": stepwell.DefineStep("s", func(context.Context, int) (int, error) { return 0, nil }, nil),
	} {
		_, err := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{d}})
		refused(which, err)
	}
	if _, err := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{nil}}); !errors.Is(err, stepwell.ErrInvalid) {
		t.Errorf("a nil definition: error = %v, want ErrInvalid", err)
	}
}

// named is a type with its package.
func named(kind string) string {
	if strings.Contains(kind, ".") {
		return kind
	}
	return "stepwell." + kind
}
