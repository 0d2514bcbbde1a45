package answers

// This file holds runs that an earlier release left behind in each state, and what becomes of them: a store that was written
// once opens, is migrated, and its runs go on to their ends. Files are made with Leave, and kept; Find is the test of them.
// The code of these workflows fits what is in the files: it never changes.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// left is a run that was left behind.
type left struct {
	name   string
	stands stepwell.WhyKind
	body   func(ctx stepwell.Context, leaving bool) (string, error)
	opts   []stepwell.StartOption
	end    world.Status
	output string
}

var (
	leftEvent = stepwell.Event[string]("go")
	leftChild = func(leaving bool) *stepwell.Workflow[string, string] {
		return stepwell.Define("left-child", func(ctx stepwell.Context, in string) (string, error) {
			return in + " grown", stepwell.Sleep(ctx, "grow", time.Hour)
		})
	}
	leftTask = stepwell.DefineStep("left-step", func(_ context.Context, in string) (string, error) { return in + " by a task", nil })
)

// lefts are all that were left, by the states that they were left in.
var lefts = []left{
	{name: "left-asleep", stands: stepwell.WhySleep, end: world.Completed, output: "before, after", body: func(ctx stepwell.Context, _ bool) (string, error) {
		before, err := say(ctx, "before")
		if err != nil {
			return "", err
		}
		if err := stepwell.Sleep(ctx, "night", time.Hour); err != nil {
			return "", err
		}
		after, err := say(ctx, "after")
		return before + ", " + after, err
	}},
	{name: "left-hook", stands: stepwell.WhyHook, end: world.Completed, output: "first, second", body: func(ctx stepwell.Context, _ bool) (string, error) {
		hook, err := stepwell.NewHook[string](ctx, stepwell.Token("left-door"))
		if err != nil {
			return "", err
		}
		first, err := hook.Receive(ctx)
		if err != nil {
			return "", err
		}
		second, err := hook.Receive(ctx)
		return first + ", " + second, err
	}},
	{name: "left-event", stands: stepwell.WhyEvent, end: world.Completed, output: "go on", body: waitsForEvent},
	{name: "left-paused", stands: stepwell.WhyPaused, end: world.Completed, output: "while paused", body: waitsForEvent},
	{name: "left-retry", stands: stepwell.WhyRetry, end: world.Completed, output: "attempt 2", body: func(ctx stepwell.Context, leaving bool) (string, error) {
		return stepwell.Step(ctx, "flaky", func(ctx context.Context) (string, error) {
			if leaving {
				return "", errors.New("not yet")
			}
			return fmt.Sprintf("attempt %d", stepwell.Info(ctx).Attempt), nil
		}, stepwell.Retry{Base: 10 * time.Minute})
	}},
	{name: "left-blocked", stands: stepwell.WhyBlocked, end: world.Completed, output: "healed", body: func(ctx stepwell.Context, leaving bool) (string, error) {
		out, err := say(ctx, "healed")
		if leaving {
			panic("a bug")
		}
		return out, err
	}},
	{name: "left-fan", stands: stepwell.WhyWorking, end: world.Completed, output: "[0 1 20 30]", body: func(ctx stepwell.Context, leaving bool) (string, error) {
		all, err := stepwell.Map(ctx, []int{0, 1, 2, 3}, 0, func(ctx stepwell.Context, i int) (int, error) {
			return stepwell.Step(ctx, "part", func(ctx context.Context) (int, error) {
				switch {
				case i < 2:
					return i, nil
				case leaving:
					<-ctx.Done()
					return 0, ctx.Err()
				}
				return 10 * i, nil // done by the release that found it
			})
		})
		return fmt.Sprint(all), err
	}},
	{name: "left-parent", stands: stepwell.WhyChild, end: world.Completed, output: "child grown", body: func(ctx stepwell.Context, leaving bool) (string, error) {
		return leftChild(leaving).Child().Run(ctx, "child")
	}},
	{name: "left-task", stands: stepwell.WhyNoWorker, end: world.Completed, output: "done by a task", body: func(ctx stepwell.Context, _ bool) (string, error) {
		return leftTask.Run(ctx, "done")
	}},
	{name: "left-delayed", stands: stepwell.WhyDelayed, end: world.Completed, output: "begun", opts: []stepwell.StartOption{stepwell.Delay(time.Hour)},
		body: func(ctx stepwell.Context, _ bool) (string, error) { return say(ctx, "begun") }},
	{name: "left-undo", stands: stepwell.WhySleep, end: world.Failed, body: func(ctx stepwell.Context, _ bool) (string, error) {
		if _, err := say(ctx, "charge"); err != nil {
			return "", err
		}
		stepwell.Compensate(ctx, "refund", func(context.Context) error { return nil })
		if err := stepwell.Sleep(ctx, "night", time.Hour); err != nil {
			return "", err
		}
		return "", errors.New("no")
	}},
	{name: "left-completed", stands: stepwell.WhyOver, end: world.Completed, output: "done", body: func(ctx stepwell.Context, _ bool) (string, error) {
		if err := stepwell.SetAttribute(ctx, "city", "Ulm"); err != nil {
			return "", err
		}
		if err := stepwell.WriteStream(ctx, "news", "chunk"); err != nil {
			return "", err
		}
		return say(ctx, "done")
	}},
	{name: "left-failed", stands: stepwell.WhyOver, end: world.Failed, body: func(stepwell.Context, bool) (string, error) { return "", errors.New("no") }},
	{name: "left-cancelled", stands: stepwell.WhyOver, end: world.Cancelled, body: waitsForEvent},
}

func say(ctx stepwell.Context, what string) (string, error) {
	return stepwell.Step(ctx, what, func(context.Context) (string, error) { return what, nil })
}

func waitsForEvent(ctx stepwell.Context, _ bool) (string, error) {
	payload, _, err := leftEvent.Wait(ctx)
	return payload, err
}

// leftDefs are the definitions of the release that leaves the runs, or of the one that finds them.
func leftDefs(leaving bool) []stepwell.Definition {
	defs := []stepwell.Definition{leftChild(leaving)}
	if !leaving {
		defs = append(defs, leftTask)
	}
	for _, l := range lefts {
		defs = append(defs, stepwell.Define(l.name, func(ctx stepwell.Context, _ string) (string, error) { return l.body(ctx, leaving) },
			stepwell.Retention(stepwell.Forever)))
	}
	return defs
}

// Leave brings a run into each state, with a worker that still works on one of them when it returns.
func Leave(t *testing.T, w world.World, build string) {
	r := &answers{T: t, ctx: t.Context(), world: w, stage: Stage{World: w, Mode: func(*stepwell.Config) {}}}
	app := r.beginWith(stepwell.Config{Definitions: leftDefs(true), Build: build, Name: "leaver", MaxRetention: stepwell.Forever})
	for _, l := range lefts {
		_, err := app.Start(r.ctx, l.name, []byte(`"in"`), append(l.opts, stepwell.RunID(l.name), stepwell.Key("key of "+l.name))...)
		r.must(err)
	}
	r.has("left-cancelled", 1, world.WaitCreated)
	r.must(app.Cancel(r.ctx, "left-cancelled", "nobody wants it"))
	r.has("left-hook", 1, world.HookCreated)
	r.must(app.SendHook(r.ctx, "left-door", []byte(`"first"`)))
	r.has("left-hook", 1, world.HookReceived)
	r.has("left-paused", 1, world.WaitCreated)
	r.must(app.Pause(r.ctx, "left-paused", "looked at"))
	r.free("left-paused")
	r.must(app.Signal(r.ctx, "left-paused", "go", []byte(`"while paused"`)))
	r.has("left-fan", 2, world.StepCompleted)
	for _, l := range lefts {
		r.until(l.name+" to stand as "+string(l.stands), func() bool {
			why, err := app.Why(r.ctx, l.name)
			r.must(err)
			return why.Kind == l.stands
		})
	}
}

// Find is the test of a store in which runs were left: they are there, and go on to their ends.
func Find(t *testing.T, w world.World) {
	ctx := t.Context() // hours
	r := &answers{T: t, ctx: ctx, world: w, stage: Stage{World: w, Mode: func(*stepwell.Config) {}}}
	over := map[string]int{}
	for _, l := range lefts {
		info := r.get(l.name)
		if was := l.stands == stepwell.WhyOver; was != info.Status.Terminal() || was && info.Status != l.end {
			r.Errorf("%s is %s", l.name, info.Status)
		}
		if info.Status.Terminal() {
			over[l.name] = len(r.events(l.name))
		}
	}
	app := r.beginWith(stepwell.Config{Definitions: leftDefs(false), Build: "of today", Lease: time.Minute, MaxRetention: stepwell.Forever})
	r.must(app.SendHook(ctx, "left-door", []byte(`"second"`)))
	r.must(app.Signal(ctx, "left-event", "go", []byte(`"go on"`)))
	r.must(app.Resume(ctx, "left-paused"))
	for _, l := range lefts {
		run, err := app.Start(ctx, l.name, []byte(`"in"`), stepwell.Key("key of "+l.name))
		if err != nil || run.ID() != l.name {
			r.Fatalf("%s under its key: %v", l.name, err)
		}
		_, _ = run.Result(ctx) // see what is written
		info := r.get(l.name)
		if info.Status != l.end {
			r.dump(l.name)
			r.Errorf("%s is %s, want %s", l.name, info.Status, l.end)
			continue
		}
		if n := over[l.name]; n > 0 && n != len(r.events(l.name)) {
			r.Errorf("%s was over and has other events now", l.name)
		}
		if l.end == world.Completed {
			if want, _ := json.Marshal(l.output); string(info.Output) != string(want) {
				r.Errorf("%s: %s, want %q", l.name, info.Output, l.output)
			}
		}
	}
	if created := r.types("left-undo", world.StepCreated); !slices.Contains(created, "step_created refund") {
		r.Errorf("left-undo has %v, want an undo", created)
	}
	for c, err := range stepwell.ReadStream[string](ctx, app.App, "left-completed", "news", 0) {
		if err != nil || c.Value != "chunk" {
			r.Errorf("stream: %v, %v", c, err)
		}
	}
}
