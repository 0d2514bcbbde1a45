package behaviour_test

// What kept runs take is bounded by large values, too.

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world/memory"
)

// TestKeptRunsCountTheirLargeValues: of four runs that wait, each with a value of 2 MiB that its code has read or asked
// for, no more are kept than CacheBytes has room for; those that are not are replayed. Of small ones all are kept.
func TestKeptRunsCountTheirLargeValues(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		size, least, most int
	}{
		"small": {1 << 10, 4, 4}, "large": {2 << 20, 6, 8},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var begun atomic.Int64
				asked := stepwell.DefineStep("nobody-has-it", func(context.Context, string) (int, error) { return 0, nil })
				reads := stepwell.Define("reads", func(ctx stepwell.Context, s string) (int, error) {
					begun.Add(1)
					return len(s), stepwell.Sleep(ctx, "nap", time.Hour)
				})
				asks := stepwell.Define("asks-much", func(ctx stepwell.Context, n int) (int, error) {
					begun.Add(1)
					f := asked.Start(ctx, strings.Repeat("x", n))
					if err := stepwell.Sleep(ctx, "nap", time.Hour); err != nil || f.Done() {
						return 0, err
					}
					return n, nil
				})
				r := &rig{T: t, world: memory.New(), ctx: t.Context(), mode: func(*stepwell.Config) {}}
				app := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{reads, asks}, CacheBytes: 5 << 20})
				var runs []*stepwell.Run[int]
				for range 2 {
					runs = append(runs, start(r, app, reads, strings.Repeat("s", c.size)), start(r, app, asks, c.size))
				}
				r.pass(time.Minute)
				if n := begun.Load(); n != 4 {
					t.Fatalf("%d evaluations before the runs wait, want one of each", n)
				}
				for _, run := range runs {
					want(r, run, c.size)
				}
				if n := int(begun.Load()); n < c.least || n > c.most {
					t.Errorf("%d evaluations, want %d to %d: each run once, and what was not kept again", n, c.least, c.most)
				}
			})
		})
	}
}
