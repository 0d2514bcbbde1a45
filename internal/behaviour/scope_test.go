package behaviour_test

// Parts of a run that are cancelled by themselves: WithCancel, WithTimeout.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// came says what an operation that a cancel ends came to.
func came(err error) string {
	switch {
	case err == nil:
		return "ended"
	case errors.Is(err, stepwell.ErrCancelled):
		return "cancelled"
	}
	return err.Error()
}

var pings = stepwell.Event[int]("ping")

// part asks for all that there is to ask for in a part of a run, cancels that after half a minute, and goes on.
func part(r *rig) (*stepwell.Workflow[string, []string], []stepwell.Definition) {
	task := stepwell.DefineStep("task", func(ctx context.Context, _ int) (string, error) { return asked(ctx) })
	child := stepwell.Define("child", func(ctx stepwell.Context, _ int) (string, error) { return "", stepwell.Sleep(ctx, "long", time.Hour) })
	wf := stepwell.Define("part", func(ctx stepwell.Context, id string) ([]string, error) {
		var got []string
		var all []*stepwell.Future[int]
		part, cancel := stepwell.WithCancel(ctx)
		defer cancel()
		say := func(what string, fn func(ctx stepwell.Context) error) {
			all = append(all, stepwell.Go(part, func(ctx stepwell.Context) (int, error) {
				got = append(got, what+" "+came(fn(ctx)))
				return 0, nil
			}))
		}
		before, err := stepwell.Step(part, "before", func(context.Context) (string, error) { return "before", nil })
		if err != nil {
			return nil, err
		}
		say("sleep", func(ctx stepwell.Context) error { return stepwell.Sleep(ctx, "long", time.Hour) })
		say("event", func(ctx stepwell.Context) error { _, _, err := pings.Wait(ctx); return err })
		say("condition", func(ctx stepwell.Context) error {
			_, err := stepwell.Await(ctx, func() bool { return false })
			return err
		})
		say("hook", func(ctx stepwell.Context) error {
			h, err := stepwell.NewHook[int](ctx)
			if err != nil {
				return err
			}
			_, _, err = h.Wait(ctx)
			return err
		})
		say("child", func(ctx stepwell.Context) error {
			_, err := child.Child(stepwell.RunID(id+"-child")).Run(ctx, 0)
			return err
		})
		say("detached", func(ctx stepwell.Context) error {
			_, err := child.Child(stepwell.RunID(id+"-detached"), stepwell.Detached()).Run(ctx, 0)
			return err
		})
		say("other run", func(ctx stepwell.Context) error {
			if err := stepwell.Sleep(ctx, "soon", time.Second); err != nil {
				return err
			}
			_, err := stepwell.AwaitRun[string](ctx, id+"-detached")
			return err
		})
		say("items", func(ctx stepwell.Context) error {
			_, err := stepwell.Map(ctx, []int{0, 1}, 0, func(ctx stepwell.Context, _ int) (int, error) { return 0, stepwell.Sleep(ctx, "item", time.Hour) })
			return err
		})
		say("step", func(ctx stepwell.Context) error {
			return stepwell.Do(ctx, "obeys", func(ctx context.Context) error {
				why, err := asked(ctx)
				return errors.Join(err, errors.New(why), context.Cause(ctx))
			})
		})
		inPart := stepwell.Go(part, func(ctx stepwell.Context) (string, error) { return task.Run(ctx, 0) })
		if err := stepwell.Sleep(ctx, "half", 30*time.Second); err != nil {
			return nil, err
		}
		cancel()
		cancel()
		said, err := inPart.Get(ctx)
		if err != nil {
			said = came(err)
		}
		never := stepwell.Do(part, "never", func(context.Context) error { return errors.New("it ran") })
		nested, _ := stepwell.WithCancel(part)
		neverToo := stepwell.Sleep(nested, "never", 0)
		if err := stepwell.Do(part.Uncancelled(), "cleans up", nothing); err != nil {
			return nil, err
		}
		if _, err := stepwell.All(ctx, all...); err != nil {
			return nil, err
		}
		after, err := stepwell.Step(ctx, "after", func(context.Context) (string, error) { return "after", nil })
		return append(got, before, said, "new step "+came(never), "new sleep "+came(neverToo), fmt.Sprint(stepwell.CancelCause(part) == stepwell.ErrCancelled, stepwell.CancelCause(ctx)), after), err
	})
	return wf, []stepwell.Definition{wf, child, task}
}

var partCame = []string{
	"sleep cancelled", "event cancelled", "hook cancelled", "child cancelled", "detached cancelled", "other run cancelled", "items cancelled", "condition cancelled",
	"step cancelled", "before", "the workflow no longer waits for this step", "new step cancelled", "new sleep cancelled", "true <nil>", "after",
}

func TestACancelledPartEndsAndTheRestGoesOn(t *testing.T) {
	everyWay(t, func(r *rig) {
		wf, defs := part(r)
		run := start(r, r.begin(defs...), wf, "p", stepwell.RunID("p"))
		want(r, run, partCame)
		until(r, "the child's end", func() bool { return r.get("p-child").Status == world.Cancelled })
		if s := r.get("p-detached").Status; s != world.Running {
			r.Errorf("the detached child is %s", s)
		}
		if n := r.count("p", world.StepCreated, "never") + r.count("p", world.WaitCreated, "never"); n != 0 {
			r.Errorf("%d of what was asked for after the cancel are recorded", n)
		}
		r.replays("p", defs...)
	})
}

// What is within a part ends with it, and not the other way round; a cancel of the run ends all.
func TestPartsAreWithinEachOther(t *testing.T) {
	everyWay(t, func(r *rig) {
		wf := stepwell.Define("nested", func(ctx stepwell.Context, which string) (string, error) {
			outer, cancelOuter := stepwell.WithCancel(ctx)
			inner, cancelInner := stepwell.WithCancel(outer)
			var got []string
			naps := func(name string, ctx stepwell.Context) *stepwell.Future[struct{}] {
				return stepwell.Timer(ctx, name, 2*time.Minute)
			}
			fs := map[string]*stepwell.Future[struct{}]{"run": naps("run", ctx), "outer": naps("outer", outer), "inner": naps("inner", inner)}
			err := stepwell.Sleep(ctx, "minute", time.Minute)
			switch which {
			case "outer":
				cancelOuter()
			case "inner":
				cancelInner()
			}
			for _, name := range []string{"run", "outer", "inner"} {
				_, err := fs[name].Get(ctx)
				got = append(got, name+" "+came(err))
			}
			return strings.Join(got, ", "), err
		})
		wk := r.begin(wf)
		for which, comes := range map[string]string{
			"outer": "run ended, outer cancelled, inner cancelled", "inner": "run ended, outer ended, inner cancelled", "neither": "run ended, outer ended, inner ended",
		} {
			run := start(r, wk, wf, which)
			want(r, run, comes)
			r.replays(run.ID(), wf)
		}
		run := start(r, wk, wf, "the run")
		until(r, "the naps", func() bool { return r.count(run.ID(), world.WaitCreated, "") == 4 })
		r.cancel(wk.App, run.ID())
		wantErr(r, run, world.Cancelled)
	})
}

// A cancel that is deferred does no harm where the code panics, and is done where that is recovered.
func TestACancelMayBeDeferred(t *testing.T) {
	everywhere(t, func(r *rig) {
		wf := stepwell.Define("defers", func(ctx stepwell.Context, _ int) (string, error) {
			var nap *stepwell.Future[struct{}]
			func() {
				defer func() { _ = recover() }()
				part, cancel := stepwell.WithCancel(ctx)
				defer cancel()
				nap = stepwell.Timer(part, "long", time.Hour)
				if err := stepwell.Sleep(part, "short", time.Second); err == nil {
					panic("no such city")
				}
			}()
			_, err := nap.Get(ctx)
			return came(err), stepwell.Do(ctx, "after", nothing)
		})
		run := start(r, r.begin(wf), wf, 0)
		want(r, run, "cancelled")
		r.replays(run.ID(), wf)
	})
}

// A part whose time is up is cancelled, never early, and says so; one that ends in time is not, and keeps the run no
// longer.
func TestAPartWithATimeout(t *testing.T) {
	everyWay(t, func(r *rig) {
		wf := stepwell.Define("limited", func(ctx stepwell.Context, lasts time.Duration) (string, error) {
			part, cancel := stepwell.WithTimeout(ctx, "limit", time.Minute)
			defer cancel()
			begun := ctx.Now()
			got, err := stepwell.Step(part, "work", func(ctx context.Context) (string, error) {
				select {
				case <-time.After(lasts):
					return "done", nil
				case <-ctx.Done():
					return fmt.Sprint(context.Cause(ctx), errors.Is(context.Cause(ctx), stepwell.ErrTimeout)), nil
				}
			})
			if took := ctx.Now().Sub(begun); lasts > time.Minute && (took < time.Minute || took > time.Minute+time.Second) {
				return "", fmt.Errorf("it took %s", took)
			}
			cause := stepwell.CancelCause(part)
			return fmt.Sprint(got, ", ", errors.Is(cause, stepwell.ErrTimeout), errors.Is(cause, stepwell.ErrCancelled), ", ", came(stepwell.Sleep(part, "more", time.Second))), err
		})
		wk := r.begin(wf)
		for lasts, comes := range map[time.Duration]string{
			time.Second: "done, false false, ended", time.Hour: "the part of the workflow took longer than its timeout true, true true, cancelled",
		} {
			begun := time.Now()
			run := start(r, wk, wf, lasts)
			want(r, run, comes)
			if took := time.Since(begun); lasts == time.Second && took > 30*time.Second {
				r.Errorf("a part that ends in time keeps the run for %s", took)
			}
			r.replays(run.ID(), wf)
		}
	})
}

// TestAPartWithoutTime: a time of zero or less is over before anything is asked for with the part.
func TestAPartWithoutTime(t *testing.T) {
	everyWay(t, func(r *rig) {
		wf := stepwell.Define("timeless", func(ctx stepwell.Context, d time.Duration) (string, error) {
			part, cancel := stepwell.WithTimeout(ctx, "limit", d)
			defer cancel()
			_, err := stepwell.Step(part, "work", func(context.Context) (string, error) { return "", errors.New("it ran") })
			return fmt.Sprint(came(err), ", ", errors.Is(stepwell.CancelCause(part), stepwell.ErrTimeout)), nil
		})
		wk := r.begin(wf)
		for _, d := range []time.Duration{0, -time.Hour} {
			run := start(r, wk, wf, d)
			want(r, run, "cancelled, true")
			r.replays(run.ID(), wf)
		}
	})
}

// TestKilledWhileAPartIsCancelled: the worker dies before or after each of its commits, and another goes on.
func TestKilledWhileAPartIsCancelled(t *testing.T) {
	killedAtEachCommit(t, 6, func(r *rig) (cfg stepwell.Config, id string, check func()) {
		wf, defs := part(r)
		run := start(r, &worker{App: r.client()}, wf, "p", stepwell.RunID("p"))
		return stepwell.Config{Definitions: defs}, "p", func() {
			got, err := run.Result(r.ctx)
			const task = 10 // ends without its code if its worker died, and the cancel is before another begins it
			if len(got) == len(partCame) && got[task] == "cancelled" {
				got[task] = partCame[task]
			}
			if got, want := slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(partCame)); err != nil || !slices.Equal(got, want) {
				r.dump("p")
				r.Errorf("got %q, %v", got, err)
			}
			until(r, "the child's end", func() bool { return r.get("p-child").Status == world.Cancelled })
			r.replays("p", defs...)
		}
	})
}
