package behaviour_test

// Runs with more in their logs than one commit holds: forked, exported and imported.

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

func TestLongLogsAreForkedAndImported(t *testing.T) {
	const pages, size = 5, 860 << 10 // together more than 4 MiB
	ran := map[string]int{}
	healed := false
	book := stepwell.Define("book", func(ctx stepwell.Context, _ int) (int, error) {
		n := 0
		for range pages {
			page, err := stepwell.Step(ctx, "page", func(ctx context.Context) (string, error) {
				ran[stepwell.Info(ctx).Run]++
				return strings.Repeat("x", size), nil
			})
			if err != nil {
				return 0, err
			}
			n += len(page)
		}
		return n, stepwell.Do(ctx, "bind", func(context.Context) error {
			if !healed {
				return stepwell.Fatal(errors.New("no glue"))
			}
			return nil
		})
	})
	bubble(t, func(testing.TB) world.World { return memory.New() }, func(*stepwell.Config) {}, func(r *rig) {
		app := r.begin(book)
		run := start(r, app, book, 1)
		wantErr(r, run, world.Failed)
		h, _ := export(r, app.App, run.ID())
		healed = true
		forked, err := app.Fork(r.ctx, run.ID(), stepwell.ForkOptions{At: int64(len(h.Events)) - 4}) // before "bind"
		if err != nil {
			r.Fatal(err)
		}
		if out, err := forked.Result(r.ctx); err != nil || string(out) != "4403200" || ran[forked.ID()] != 0 {
			r.Errorf("forked: got %s, %v, and %d pages written again; want 4403200 and none", out, err, ran[forked.ID()])
		}
		app.stop(r.T)
		other := *r
		other.world = memory.New()
		elsewhere := other.begin(book)
		h.Events = h.Events[:len(h.Events)-4]
		if err := elsewhere.Import(r.ctx, h, stepwell.ImportOptions{Go: true}); err != nil {
			r.Fatal(err)
		}
		r.pass(time.Second)
		if got := other.get(h.Run); string(got.Output) != "4403200" || ran[h.Run] != pages {
			r.Errorf("imported: got %s %s, and %d pages written; want 4403200 and %d", got.Status, got.Output, ran[h.Run], pages)
		}
		if err := elsewhere.Import(r.ctx, h, stepwell.ImportOptions{}); !errors.Is(err, stepwell.ErrRunExists) {
			r.Errorf("imported again: %v, want ErrRunExists", err)
		}
		elsewhere.stop(r.T)
	})
}
