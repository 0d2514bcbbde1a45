package stepwell_test

// Bulk operations and filters.

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

func TestBulk(t *testing.T) {
	onWorlds(t, func(r *rig) {
		app := r.client()
		var ids []string
		for i := range 25 {
			run, err := app.Start(r.ctx, "order", json.RawMessage([]string{`{"city":"Ulm"}`, `{"city":"Bonn"}`}[i%2]))
			if err != nil {
				r.Fatal(err)
			}
			ids = append(ids, run.ID())
		}
		if err := app.ForceCancel(r.ctx, ids[4], ""); err != nil {
			r.Fatal(err)
		}
		f := stepwell.ListFilter{Workflow: "order", Input: []json.RawMessage{stepwell.Where("city", "Ulm")}}
		if n, err := app.Count(r.ctx, f); n != 13 || err != nil {
			r.Fatalf("Count = %d, %v, want 13", n, err)
		}
		cancel := func(ctx context.Context, run stepwell.RunInfo) error { return app.ForceCancel(ctx, run.ID, "recalled") }
		seen := 0
		for _, err := range app.Bulk(r.ctx, f, cancel) { // stopped
			if err != nil {
				r.Fatal(err)
			}
			if seen++; seen == 5 {
				break
			}
		}
		count := func(s ...world.Status) int {
			n, err := app.Count(r.ctx, stepwell.ListFilter{Status: s})
			if err != nil {
				r.Fatal(err)
			}
			return n
		}
		if got := count(world.Cancelled); got != 6 {
			r.Errorf("%d runs are cancelled after the stop, want 6", got)
		}
		done, refused := 0, 0
		broken := errors.New("refused")
		for res, err := range app.Bulk(r.ctx, f, func(ctx context.Context, run stepwell.RunInfo) error {
			if run.ID == ids[8] {
				return broken
			}
			return cancel(ctx, run)
		}) { // repeated
			switch {
			case err != nil:
				r.Fatal(err)
			case res.Err == nil:
				done++
			case errors.Is(res.Err, broken) && res.Run.ID == ids[8]:
				refused++
			default:
				r.Errorf("run %s: %v", res.Run.ID, res.Err)
			}
		}
		if done != 12 || refused != 1 || count(world.Cancelled) != 12 || count(world.Pending) != 13 {
			r.Errorf("done %d, refused %d, %d cancelled, %d pending; want 12, 1, 12, 13", done, refused, count(world.Cancelled), count(world.Pending))
		}
		ctx, stop := context.WithCancel(r.ctx)
		stop()
		for _, err := range app.Bulk(ctx, f, cancel) {
			if !errors.Is(err, context.Canceled) {
				r.Errorf("after the end of its context: %v", err)
			}
		}
		if _, err := app.Count(r.ctx, stepwell.ListFilter{Input: []json.RawMessage{[]byte(`{`)}}); !errors.Is(err, stepwell.ErrInvalid) {
			r.Errorf("a filter that is no JSON: %v, want ErrInvalid", err)
		}
	})
}

func TestWhere(t *testing.T) {
	for _, c := range []struct{ path, value, want string }{
		{"a", "1", `{"a":1}`}, {"a.b", "x y", `{"a":{"b":"x y"}}`}, {"", "true", "true"}, {"a", `{"c":null}`, `{"a":{"c":null}}`},
		{`q"`, `"7"`, `{"q\"":"7"}`}, {"a", "", `{"a":""}`},
	} {
		if got := string(stepwell.Where(c.path, c.value)); got != c.want {
			t.Errorf("Where(%q, %q) = %s, want %s", c.path, c.value, got, c.want)
		}
	}
}
