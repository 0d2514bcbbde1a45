package behaviour_test

// What App.Why says of runs that wait for each other, for a hook, or for an operator.

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

// wantWhy waits until a run does not move for a reason that a test knows.
func (r *rig) wantWhy(app *stepwell.App, run string, kind stepwell.WhyKind, says string) (why stepwell.Why) {
	r.Helper()
	until(r, string(kind)+": "+says, func() bool {
		var err error
		if why, err = app.Why(r.ctx, run); err != nil {
			r.Fatal(err)
		}
		return why.Kind == kind && strings.Contains(why.String(), says)
	})
	return why
}

func TestWhyOfRelatives(t *testing.T) {
	onWorlds(t, func(r *rig) {
		leaf := stepwell.Define("leaf", func(ctx stepwell.Context, token string) (string, error) {
			h, err := stepwell.NewHook[string](ctx, stepwell.Token(token))
			if err != nil {
				return "", err
			}
			v, _, err := h.Wait(ctx)
			return v, err
		})
		root := stepwell.Define("root", func(ctx stepwell.Context, token string) (string, error) {
			return leaf.Child(stepwell.RunID("the-leaf")).Run(ctx, token)
		})
		guest := stepwell.Define("guest", func(ctx stepwell.Context, run string) (string, error) {
			return stepwell.AwaitRun[string](ctx, run)
		})
		app := r.begin(leaf, root, guest)
		parent := start(r, app, root, "t-1")
		r.wantWhy(app.App, parent.ID(), stepwell.WhyChild, "waiting for child run the-leaf (leaf, running) to end since")
		r.wantWhy(app.App, "the-leaf", stepwell.WhyHook, `waiting for a payload at hook "hook" (token t-1) since`)
		other := start(r, app, guest, "the-leaf")
		r.wantWhy(app.App, other.ID(), stepwell.WhyRun, "waiting for run the-leaf (running) to end since")

		if err := app.Pause(r.ctx, "the-leaf", "audit"); err != nil {
			r.Fatal(err)
		}
		r.wantWhy(app.App, "the-leaf", stepwell.WhyPaused, "audit")
		r.wantWhy(app.App, parent.ID(), stepwell.WhyChild, "(leaf, paused)")
		story, err := app.Story(r.ctx, other.ID(), false)
		if got := story.Peers["the-leaf"]; err != nil || got != "paused" {
			r.Errorf("the awaited run is %q, %v, want paused", got, err)
		}
		if err := app.SendHook(r.ctx, "t-1", []byte(`"yes"`)); err != nil {
			r.Fatal(err)
		}
		if err := app.Resume(r.ctx, "the-leaf"); err != nil {
			r.Fatal(err)
		}
		want(r, parent, "yes")
		want(r, other, "yes")
	})
}

// TestWhyOfConditions: a condition with a timeout says until when; one that nothing can make true any more says so.
func TestWhyOfConditions(t *testing.T) {
	onWorlds(t, func(r *rig) {
		wf := stepwell.Define("stuck", func(ctx stepwell.Context, _ int) (int, error) {
			if ok, err := stepwell.Await(ctx, func() bool { return false }, stepwell.Timeout(10*time.Minute)); ok || err != nil {
				return 0, errors.Join(errors.New("the condition came true"), err)
			}
			_, err := stepwell.Await(ctx, func() bool { return false })
			return 0, err
		})
		app := r.begin(wf)
		run := start(r, app, wf, 0)
		if why := r.wantWhy(app.App, run.ID(), stepwell.WhyCondition, "until"); why.Until.IsZero() {
			r.Errorf("%s: it has no time", why)
		}
		r.pass(10 * time.Minute)
		r.wantWhy(app.App, run.ID(), stepwell.WhyCondition, "nothing is open that could make it true")
		if err := app.ForceCancel(r.ctx, run.ID(), "stuck"); err != nil {
			r.Fatal(err)
		}
	})
}

// TestWhyOfSuspects: of two steps whose processes died twice one runs alone, and the other says that it waits for its turn, which comes at last also where the
// first one hangs.
func TestWhyOfSuspects(t *testing.T) {
	onWorlds(t, func(r *rig) {
		gate := make(chan struct{})
		wf := stepwell.Define("boom", func(ctx stepwell.Context, _ int) (int, error) {
			return 0, stepwell.Do(ctx, "boom", func(context.Context) error { <-gate; return nil })
		})
		first := r.begin(wf)
		again := memory.New() // where both die again and again
		runs := make([]string, 2)
		for i := range runs {
			runs[i] = start(r, first, wf, 0).ID()
			var log []world.Event
			until(r, "the step to start", func() bool {
				log = r.events(runs[i])
				return log[len(log)-1].Type == world.StepStarted
			})
			second := log[len(log)-1]
			second.Seq, second.Attempt = second.Seq+1, 2
			forge(r, again, runs[i], append(log, second))
		}
		r.pass(time.Second)
		app := begin(r.T, again, stepwell.Config{Definitions: []stepwell.Definition{wf}, Name: "host:1"})
		kinds := func() map[stepwell.WhyKind]string {
			kinds := map[stepwell.WhyKind]string{}
			for _, run := range runs {
				why, err := app.Why(r.ctx, run)
				if err != nil {
					r.Fatal(err)
				}
				kinds[why.Kind] += why.String()
			}
			return kinds
		}
		until(r, "one to run and one to wait", func() bool { return len(kinds()) == 2 })
		told := kinds()
		if got, want := told[stepwell.WhySuspect], `step "boom" waits for its turn: its process died twice, so it runs alone, when no other quarantined step does`; got != want {
			r.Errorf("got  %s\nwant %s", got, want)
		}
		if got := told[stepwell.WhyWorking]; !strings.HasPrefix(got, `worker host:1 is in step "boom" since `) || !strings.HasSuffix(got, ", attempt 3, alone, because its process died twice") {
			r.Errorf("got %s, want attempt 3, alone", got)
		}
		r.pass(2 * time.Minute)
		until(r, "both to run, as the first one hangs", func() bool {
			return strings.Count(kinds()[stepwell.WhyWorking], "attempt 3, alone") == 2
		})
		close(gate)
		for _, run := range runs {
			want(r, wf.Get(app.App, run), 0)
		}
	})
}
