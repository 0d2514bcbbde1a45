package behaviour_test

// Turns that ask for more than a commit holds.

import (
	"context"
	"strings"
	"testing"

	"github.com/stepwell/stepwell"
)

// TestATurnMayAskForMoreThanACommitHolds: what one turn asks for is split over several commits where it is over 4 MiB; inputs of tasks and children
// count twice, as they travel twice.
func TestATurnMayAskForMoreThanACommitHolds(t *testing.T) {
	const items, size = 900, 6 << 10 // 5.3 MiB of inputs, 10.5 MiB in commits
	input := strings.Repeat("x", size)
	length := stepwell.DefineStep("length", func(_ context.Context, s string) (int, error) { return len(s), nil })
	child := stepwell.Define("child-length", func(ctx stepwell.Context, s string) (int, error) { return len(s), nil })
	ask := map[string]func(stepwell.Context, string) *stepwell.Future[int]{
		"tasks":    func(ctx stepwell.Context, s string) *stepwell.Future[int] { return length.Start(ctx, s) },
		"children": func(ctx stepwell.Context, s string) *stepwell.Future[int] { return child.Child().Start(ctx, s).Future },
	}
	for what, start := range ask {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			onWorlds(t, func(r *rig) {
				all := stepwell.Define("all", func(ctx stepwell.Context, n int) (int, error) {
					fs := make([]*stepwell.Future[int], n)
					for i := range fs {
						fs[i] = start(ctx, input)
					}
					lengths, err := stepwell.All(ctx, fs...)
					sum := 0
					for _, l := range lengths {
						sum += l
					}
					return sum, err
				})
				app := r.begin(all, length, child).App
				run, err := all.Start(r.ctx, app, items)
				if err != nil {
					r.Fatal(err)
				}
				if got, err := run.Result(r.ctx); got != items*size || err != nil {
					r.Errorf("sum = %d, %v, want %d", got, err, items*size)
				}
			})
		})
	}
}
