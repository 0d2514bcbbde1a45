package behaviour_test

// Of two deadlines, one within the other, the earlier one passes first, of equal ones the outer: whoever dies when.

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
)

func TestKilledWhileNestedTimeoutsPass(t *testing.T) {
	for name, test := range map[string]struct {
		outer, inner time.Duration
		want         string
	}{
		"the inner is earlier": {10 * time.Second, 7 * time.Second, "inner first, fallback ended, outer late"},
		"both are equal":       {10 * time.Second, 10 * time.Second, "outer first, fallback cancelled, outer late"},
		"the outer is earlier": {10 * time.Second, 15 * time.Second, "outer first, fallback cancelled, outer late"},
	} {
		t.Run(name, func(t *testing.T) {
			killedAtEachCommit(t, 4, func(r *rig) (cfg stepwell.Config, id string, check func()) {
				wf := stepwell.Define("nested", func(ctx stepwell.Context, _ string) (string, error) {
					outer, done := stepwell.WithTimeout(ctx, "outer", test.outer)
					defer done()
					inner, done := stepwell.WithTimeout(outer, "inner", test.inner)
					defer done()
					_ = stepwell.Do(inner, "slow", func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) })
					first := "inner"
					if stepwell.CancelCause(inner) == nil {
						return "", fmt.Errorf("the part ended before its time")
					}
					if stepwell.CancelCause(outer) != nil {
						first = "outer"
					}
					fallback := came(stepwell.Do(outer, "fallback", nothing))
					_ = stepwell.Sleep(outer, "rest", time.Hour)
					got := fmt.Sprintf("%s first, fallback %s, outer late", first, fallback)
					if stepwell.CancelCause(outer) == nil {
						got += " not"
					}
					return got, stepwell.Do(ctx, "after", nothing)
				})
				run := start(r, &worker{App: r.client()}, wf, "p", stepwell.RunID("p"))
				return stepwell.Config{Definitions: []stepwell.Definition{wf}}, "p", func() {
					if got, err := run.Result(r.ctx); err != nil || got != test.want {
						r.dump("p")
						r.Errorf("got %q, %v, want %q", got, err, test.want)
					}
					r.replays("p", wf)
				}
			})
		})
	}
}
