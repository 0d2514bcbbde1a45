package ui_test

// What belongs to a run beside its steps: children and parents, segments, who works on it.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/uitest"
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
	_, _, err := uitest.Paid.Wait(ctx)
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
	s.Start("o-1", uitest.Order{Customer: "ada", Cents: 4200})
	s.Until("o-1", stepwell.WhyEvent)
	child := between(s.want("/ui/runs/o-1").body, `<a href="/ui/runs/wrun_`, `"`)
	s.want("/ui/runs/wrun_"+child, `<a href="/ui/runs/o-1">o-1</a>`, "4200.pdf", "parent")

	if _, err := lap.Start(t.Context(), s.App, 1, stepwell.RunID("lap-1")); err != nil {
		t.Fatal(err)
	}
	s.Until("lap-1", stepwell.WhyEvent)
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

	if _, err := busy.Start(t.Context(), s.App, 0, stepwell.RunID("held-1")); err != nil {
		t.Fatal(err)
	}
	s.Until("held-1", stepwell.WhyWorking)
	stats, err := s.World.Stats(t.Context())
	if err != nil || len(stats.Workers) != 1 {
		t.Fatalf("got %d workers, %v", len(stats.Workers), err)
	}
	s.want("/ui/workers/"+stats.Workers[0].ID, "held-1", "lap v1", "1 runs, 0 queued steps")
	s.want("/ui/runs/held-1", `href="/ui/workers/`+stats.Workers[0].ID+`"`, "running")
	if err := s.App.ForceCancel(t.Context(), "held-1", ""); err != nil { // or its worker would wait for the body
		t.Fatal(err)
	}
	s.Until("held-1", stepwell.WhyOver)
}

// TestFamilyTree: from a child, or a retry, the tree begins at what all come from, and has its children, theirs, and
// what took the place of who failed.
func TestFamilyTree(t *testing.T) {
	t.Parallel()
	leaf := stepwell.Define("leaf", func(stepwell.Context, int) (int, error) { return 0, nil })
	branch := stepwell.Define("branch", func(ctx stepwell.Context, n int) (int, error) { return leaf.Child().Run(ctx, n) })
	root := stepwell.Define("root", func(ctx stepwell.Context, n int) (int, error) {
		if _, err := stepwell.Map(ctx, []int{1, 2}, 0, func(ctx stepwell.Context, i int) (int, error) { return branch.Child().Run(ctx, i) }); err != nil {
			return 0, err
		}
		return 0, stepwell.Do(ctx, "fall", func(context.Context) error { return stepwell.Fatal(errors.New("down")) })
	})
	s := newSite(t, server.Options{}, leaf, branch, root)
	if _, err := root.Start(t.Context(), s.App, 0, stepwell.RunID("tree")); err != nil {
		t.Fatal(err)
	}
	s.Until("tree", stepwell.WhyOver)
	again, err := s.App.Retry(t.Context(), "tree")
	if err != nil {
		t.Fatal(err)
	}
	s.Until(again.ID(), stepwell.WhyOver)
	var leaves []string
	for r, err := range s.App.List(t.Context(), stepwell.ListFilter{Workflow: "leaf"}) {
		if err != nil {
			t.Fatal(err)
		}
		leaves = append(leaves, r.ID)
	}
	if len(leaves) != 2 {
		t.Fatalf("got %d leaves, want 2", len(leaves))
	}
	s.want("/ui/runs/tree", `<a href="/ui/runs/tree/family">as a tree</a>`)
	for _, at := range append(leaves, "tree", again.ID()) {
		p := s.want("/ui/runs/"+at+"/family", leaves[0], leaves[1])
		wellFormed(t, at, p.body)
		if n := strings.Count(p.body, "<strong>branch</strong>"); n != 2 {
			t.Errorf("%s: got %d branches, want 2", at, n)
		}
		if strings.Count(p.body, "in its place") != 1 || !strings.Contains(p.body, again.ID()) || strings.Count(p.body, `aria-current="true"`) != 1 {
			t.Errorf("%s: no retry, or not one run that the page is about: %.4000s", at, p.body)
		}
	}
	if p := s.get("/ui/runs/none/family"); p.status != 404 {
		t.Errorf("a run that is not there: got %d, want 404", p.status)
	}
}

// TestFamilyHasTheRunItself: also where more was made of the run above it than the tree shows.
func TestFamilyHasTheRunItself(t *testing.T) {
	t.Parallel()
	leaf := stepwell.Define("leaf", func(stepwell.Context, int) (int, error) { return 0, nil })
	s := newSite(t, server.Options{}, leaf)
	if _, err := leaf.Start(t.Context(), s.App, 0, stepwell.RunID("first")); err != nil {
		t.Fatal(err)
	}
	s.Until("first", stepwell.WhyOver)
	for i := range 8 {
		if _, err := s.App.Restart(t.Context(), "first", stepwell.RestartOptions{ID: fmt.Sprintf("again-%d", i)}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 8 {
		p := s.want(fmt.Sprintf("/ui/runs/again-%d/family", i), "first", fmt.Sprintf("again-%d", i))
		wellFormed(t, "family", p.body)
		if n := strings.Count(p.body, `aria-current="true"`); n != 1 {
			t.Errorf("the tree of again-%d has it %d times, want once", i, n)
		}
	}
}
