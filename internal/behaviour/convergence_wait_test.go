package behaviour_test

// This file holds that whatever a run can wait for, and whatever operators do to it, comes to the same live and replayed: alone and in every pair,
// around every commit of the log.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/faults"
	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/world"
)

const (
	waitToken = "desk"
	waitChild = "c"
)

// waitFlow waits for a payload of a hook, an event, a child's result, a sleep, a condition with a timeout and a step side by side; what it returns
// tells in which order they came. Its child ends early when it is told to.
func waitFlow() (parent, child *stepwell.Workflow[int, string]) {
	child = stepwell.Define("told", func(ctx stepwell.Context, _ int) (string, error) {
		v, _, err := benchEvent.Wait(ctx, stepwell.Timeout(500*time.Millisecond))
		return "child " + v, err
	})
	parent = stepwell.Define("waits", func(ctx stepwell.Context, _ int) (string, error) {
		var story []string
		tell := func(what string, v any, err error) error {
			story = append(story, fmt.Sprint(what, " ", v, " ", err))
			return err
		}
		h, err := stepwell.NewHook[string](ctx, stepwell.Token(waitToken))
		if err != nil {
			return "", err
		}
		beside := func(fn func(ctx stepwell.Context) error) *stepwell.Future[int] {
			return stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) { return 0, fn(ctx) })
		}
		_, err = stepwell.All(ctx,
			beside(func(ctx stepwell.Context) error {
				part, cancel := stepwell.WithCancel(ctx)
				next, timer := h.Start(part), stepwell.Timer(part, "patience", 900*time.Millisecond)
				i, err := stepwell.Select(ctx, next, timer)
				cancel()
				r, _ := next.Get(ctx)
				_, gone := timer.Get(ctx)
				return tell(fmt.Sprint("hook ", i, r.Payload), gone, errors.Join(err, ifOnly(i == 1, gone)))
			}),
			beside(func(ctx stepwell.Context) error {
				v, ok, err := benchEvent.Wait(ctx, stepwell.Timeout(700*time.Millisecond))
				return tell("event "+v, ok, err)
			}),
			beside(func(ctx stepwell.Context) error {
				v, err := parentsChild(child).Run(ctx, 1)
				return tell("child", v, err)
			}),
			beside(func(ctx stepwell.Context) error {
				return tell("nap", "", stepwell.Sleep(ctx, "nap", 300*time.Millisecond))
			}),
			beside(func(ctx stepwell.Context) error {
				ok, err := stepwell.Await(ctx, func() bool { return len(story) > 2 }, stepwell.Timeout(400*time.Millisecond))
				return tell("three", ok, err)
			}),
			beside(func(ctx stepwell.Context) error {
				return tell("step", "", stepwell.Do(ctx, "work", func(context.Context) error { <-time.After(350 * time.Millisecond); return nil }))
			}),
		)
		if err == nil {
			err = tell("rest", "", stepwell.Sleep(ctx, "rest", time.Millisecond))
		}
		if err != nil {
			undo := stepwell.Do(ctx.Uncancelled(), "undo", func(context.Context) error { return nil })
			return "", fmt.Errorf("%w; undo %v; %v", err, undo, story)
		}
		return fmt.Sprint(story), h.Dispose(ctx)
	})
	return parent, child
}

func parentsChild(w *stepwell.Workflow[int, string]) *stepwell.ChildCall[int, string] {
	return w.Child(stepwell.RunID(waitChild))
}

func ifOnly(cond bool, err error) error {
	if cond {
		return err
	}
	return nil
}

// arrivals are what happens to the run from outside. What comes too early or too late is refused, which is no fault here.
func (b *bench) arrivals() map[string]func() {
	ctx, app := context.Background(), b.client()
	signal := func(run string) func() {
		return func() { b.tolerate(app.Signal(ctx, run, benchEvent.Name(), []byte(`"hello"`))) }
	}
	return map[string]func(){
		"nothing": func() {},
		"payload": func() { b.tolerate(app.SendHook(ctx, waitToken, []byte(`"paid"`))) },
		"signal":  signal(benchRun),
		"child":   signal(waitChild), // ends the child now
		"wake": func() {
			_, err := app.Wake(ctx, benchRun)
			b.tolerate(err)
		},
		"cancel": func() { b.tolerate(app.Cancel(ctx, benchRun, "a test")) },
		"pause": func() {
			b.tolerate(app.Pause(ctx, benchRun, "a test"))
			time.AfterFunc(800*time.Millisecond, func() { b.tolerate(app.Resume(ctx, benchRun)) })
		},
	}
}

func (b *bench) tolerate(err error) {
	if err != nil && !errors.Is(err, world.ErrNotFound) && !errors.Is(err, world.ErrTerminal) {
		b.Error(err)
	}
}

// TestWaitsConverge: one thing arrives right before the k-th commit (of the run or its child) and another right after it.
func TestWaitsConverge(t *testing.T) {
	names := []string{"nothing", "payload", "signal", "child", "wake", "cancel", "pause"}
	try := sample.Share(t, 2)
	for i, first := range names {
		if !try(i + 1) {
			continue
		}
		t.Run(first, func(t *testing.T) {
			t.Parallel()
			stories := map[string]bool{}
			for i, second := range names {
				from, by := 2+i%2, 2 // pairs: every second commit, the others with the next
				if first == "nothing" || second == "nothing" {
					from, by = 2, 1
				}
				for k, last := from, 99; k <= last && !t.Failed(); k += by {
					inBubble(t, func(b *bench) { last = b.waitsConverge(first, second, k, stories) })
				}
			}
			if len(stories) < 8 {
				t.Errorf("%d different ends: the arrivals changed little", len(stories))
			}
		})
	}
}

// waitsConverge runs the flow once and returns how many commits there were.
func (b *bench) waitsConverge(first, second string, k int, stories map[string]bool) int {
	parent, child := waitFlow()
	a := b.arrivals()
	cfg := stepwell.Config{Definitions: []stepwell.Definition{parent, child}, Strict: k%3 == 0}
	if k%4 == 1 {
		cfg.CacheRuns = -1
	}
	w := faults.New(b.below, faults.At(faults.Commit, k, faults.Fault{Before: a[first], After: a[second]}))
	app, _ := b.worker(w, cfg)
	if _, err := parent.Start(context.Background(), app, 0, stepwell.RunID(benchRun)); err != nil {
		b.Fatal(err)
	}
	info := b.over()
	where := fmt.Sprintf("%s before, %s after commit %d", first, second, k)
	cancelled := slices.ContainsFunc(b.log(), func(e world.Event) bool { return e.Type == world.CancelRequested })
	want := world.Completed
	if cancelled {
		want = world.Cancelled
	}
	if info.Status != want {
		b.Errorf("%s: the run is %s, %v, want %s", where, info.Status, info.Error, want)
	}
	stories[fmt.Sprint(string(info.Output), info.Error)] = true
	b.sameReplayed(where, parent)
	return w.Calls(faults.Commit)
}
