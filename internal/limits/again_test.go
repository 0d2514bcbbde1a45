package limits_test

import (
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// TestKeyOfAnotherInput: a run that is made of another with an input of its own has that one's key.
func TestKeyOfAnotherInput(t *testing.T) {
	of := stepwell.Define("again", func(stepwell.Context, string) (int, error) { return 0, nil },
		stepwell.Limit{AtOnce: 1, Key: stepwell.KeyOf(func(in string) string { return in })})
	w := memory.New()
	app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{of}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	first, err := of.Start(t.Context(), app, "old")
	if err != nil {
		t.Fatal(err)
	}
	for input, want := range map[string]string{"": "old", `"new"`: "new"} {
		var in json.RawMessage
		if input != "" {
			in = json.RawMessage(input)
		}
		forked, err := app.Fork(t.Context(), first.ID(), stepwell.ForkOptions{Input: in})
		if err != nil {
			t.Fatal(err)
		}
		restarted, err := app.Restart(t.Context(), first.ID(), stepwell.RestartOptions{Version: 1, Input: in})
		if err != nil {
			t.Fatal(err)
		}
		for _, run := range []string{forked.ID(), restarted.ID()} {
			page, err := w.Events(t.Context(), run, world.EventQuery{})
			if err != nil {
				t.Fatal(err)
			}
			if got := page.Events[0].Birth.Places; len(got) != 1 || got[0].Key != want {
				t.Errorf("with the input %s: got %+v, want the key %s", input, got, want)
			}
		}
	}
}
