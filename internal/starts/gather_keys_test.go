package starts_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/stepwelltest"
	"github.com/stepwell/stepwell/world/memory"
)

// TestMergedKeysOutliveMoves: the idempotency key of a start that was merged is known where its run was imported, and
// to a definition of the workflow that merges no more.
func TestMergedKeysOutliveMoves(t *testing.T) {
	from := quiet(t, memory.New(), bulk)
	first, err := bulk.Start(t.Context(), from, []doc{doc{"a", "1"}}, stepwell.Key("one"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bulk.Start(t.Context(), from, []doc{doc{"a", "2"}}, stepwell.Key("two")); err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := from.Export(t.Context(), first.ID(), &file); err != nil {
		t.Fatal(err)
	}
	history := func() *stepwell.History {
		for h, err := range stepwell.ReadHistories(bytes.NewReader(file.Bytes())) {
			if err != nil {
				t.Fatal(err)
			}
			return h
		}
		return nil
	}
	merges := stepwell.Definition(bulk)
	no := stepwell.Define("bulk", func(_ stepwell.Context, all []doc) (string, error) { return fmt.Sprint(len(all), " alone"), nil })
	for name, definition := range map[string]stepwell.Definition{"it merges": merges, "it merges no more": no} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onStores(t, stepwell.Config{Definitions: []stepwell.Definition{definition}}, func(t *testing.T, e *stepwelltest.Env) {
				e.Do(func(ctx context.Context, app *stepwell.App) error {
					if err := app.Import(ctx, history(), stepwell.ImportOptions{Go: true}); err != nil {
						return err
					}
					for _, key := range []string{"one", "two"} {
						again, err := app.Start(ctx, "bulk", json.RawMessage(`[{"id":"a","text":"again"}]`), stepwell.Key(key))
						if err != nil || again.ID() != first.ID() || !again.Existed() {
							return fmt.Errorf("key %s: got %v, %w", key, again, err)
						}
						out, err := again.Result(ctx)
						if got := string(out); err != nil || got != `"1 2"` && got != `"2 alone"` {
							return fmt.Errorf("got %s, %w", got, err)
						}
					}
					if err := app.Import(ctx, history(), stepwell.ImportOptions{}); !errors.Is(err, stepwell.ErrRunExists) {
						return fmt.Errorf("again: got %w", err)
					}
					other := history()
					other.Run = "wrun_other"
					other.Events[0].Birth.Key = ""
					if err := app.Import(ctx, other, stepwell.ImportOptions{}); !errors.Is(err, stepwell.ErrRunExists) {
						return fmt.Errorf("another with one of its keys: got %w", err)
					}
					return nil
				})
			})
		})
	}
}
