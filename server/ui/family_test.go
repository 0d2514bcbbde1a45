package ui_test

// What belongs to a run beside its steps: children and parents, segments, who works on it.

import (
	"context"
	"strings"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/server"
)

// lap goes on as a new segment once, and waits.
var lap = stepwell.Define("lap", func(ctx stepwell.Context, n int) (int, error) {
	if err := stepwell.Do(ctx, "run", func(context.Context) error { return nil }); err != nil {
		return 0, err
	}
	if n == 1 {
		return 0, stepwell.ContinueAsNew(ctx, 2)
	}
	_, _, err := paid.Wait(ctx)
	return n, err
})

// busy has a step that ends with its worker.
var busy = stepwell.Define("busy", func(ctx stepwell.Context, n int) (int, error) {
	return n, stepwell.Do(ctx, "work", func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	})
})

func TestFamily(t *testing.T) {
	t.Parallel()
	s := newSite(t, server.Options{}, lap, busy)
	s.start("o-1", order{"ada", 4200, nil})
	s.until("o-1", stepwell.WhyEvent)
	child := between(s.want("/ui/runs/o-1").body, `<a href="/ui/runs/wrun_`, `"`)
	s.want("/ui/runs/wrun_"+child, `<a href="/ui/runs/o-1">o-1</a>`, "4200.pdf", "parent")

	if _, err := lap.Start(t.Context(), s.app, 1, stepwell.RunID("lap-1")); err != nil {
		t.Fatal(err)
	}
	s.until("lap-1", stepwell.WhyEvent)
	s.want("/ui/runs/lap-1", "continued as new: segment 2", "2, continued as new once")
	last := between(s.want("/ui/runs/lap-1/events", "run_continued").body, `<a href="/ui/runs/lap-1/act/fork?at=7"`, "<")
	if last == "" {
		t.Error("no fork from the seventh event")
	}
	if p := s.want("/ui/runs/lap-1/act/fork?at=7", "Input of the segment"); !strings.Contains(p.body, ">2</textarea>") {
		t.Errorf("a fork behind the new segment does not offer its input: %.3000s", p.body)
	}
	if p := s.want("/ui/runs/lap-1/act/fork?at=2"); !strings.Contains(p.body, ">1</textarea>") {
		t.Errorf("a fork in the first segment does not offer its input: %.3000s", p.body)
	}

	if _, err := busy.Start(t.Context(), s.app, 0, stepwell.RunID("held-1")); err != nil {
		t.Fatal(err)
	}
	s.until("held-1", stepwell.WhyWorking)
	stats, err := s.world.Stats(t.Context())
	if err != nil || len(stats.Workers) != 1 {
		t.Fatalf("got %d workers, %v", len(stats.Workers), err)
	}
	s.want("/ui/workers/"+stats.Workers[0].ID, "held-1", "lap v1", "1 runs, 0 queued steps")
	s.want("/ui/runs/held-1", `href="/ui/workers/`+stats.Workers[0].ID+`"`, "running")
	if err := s.app.ForceCancel(t.Context(), "held-1", ""); err != nil { // or its worker would wait for the body
		t.Fatal(err)
	}
	s.until("held-1", stepwell.WhyOver)
}
