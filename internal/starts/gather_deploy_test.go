package starts_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// TestGatherInARollingDeploy: a worker whose definition of the same version takes one input leaves a batch to those
// whose takes a list, and the other way round: neither fails it.
func TestGatherInARollingDeploy(t *testing.T) {
	one := stepwell.Define("bulk", func(_ stepwell.Context, d doc) (string, error) { return d.Text, nil })
	for name, test := range map[string]struct {
		starts, other stepwell.Definition
		inputs        []string
		want          string
	}{
		"a batch and an old worker":       {bulk, one, []string{`[{"id":"a","text":"1"}]`, `[{"id":"a","text":"2"}]`}, `"1 2"`},
		"an old start and a batch's code": {one, bulk, []string{`{"id":"a","text":"1"}`}, `"1"`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := memory.New()
				starts, other := quiet(t, w, test.starts), quiet(t, w, test.other)
				var run *stepwell.Run[json.RawMessage]
				for _, input := range test.inputs {
					var err error
					if run, err = starts.Start(t.Context(), "bulk", json.RawMessage(input)); err != nil {
						t.Fatal(err)
					}
				}
				works := func(app *stepwell.App, d time.Duration) {
					ctx, stop := context.WithTimeout(t.Context(), d)
					defer stop()
					if err := app.Run(ctx); err != nil {
						t.Fatal(err)
					}
				}
				works(other, 2*time.Minute)
				why, err := starts.Why(t.Context(), run.ID())
				if err != nil || why.Kind != stepwell.WhyBlocked || !strings.Contains(why.String(), "another version") {
					t.Fatalf("got %v, %v, want that it is blocked, and what to do", why, err)
				}
				works(starts, 2*time.Minute)
				info, err := starts.Get(t.Context(), run.ID())
				if err != nil || info.Status != world.Completed || string(info.Output) != test.want {
					t.Errorf("got %s with %s, %v, want %s", info.Status, info.Output, err, test.want)
				}
			})
		})
	}
}
