package behaviour_test

import (
	"context"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
)

// TestPatchedKeepsRunsOnTheirWay: a run that is past a change when it is deployed keeps its old way; one that comes to it afterwards takes the new
// one, and keeps that after another replay.
func TestPatchedKeepsRunsOnTheirWay(t *testing.T) {
	everyWay(t, func(r *rig) {
		say := func(s string) func(context.Context) (string, error) {
			return func(context.Context) (string, error) { return s, nil }
		}
		nap := func(ctx stepwell.Context) error { return stepwell.Sleep(ctx, "nap", time.Minute) }
		before := stepwell.Define("letters", func(ctx stepwell.Context, _ string) (string, error) {
			s, err := stepwell.Step(ctx, "by-mail", say("mail"))
			if err != nil {
				return "", err
			}
			return s, nap(ctx)
		})
		after := stepwell.Define("letters", func(ctx stepwell.Context, _ string) (string, error) {
			name, what := "by-mail", "mail"
			if stepwell.Patched(ctx, "by-letter") {
				name, what = "by-letter", "letter"
			}
			s, err := stepwell.Step(ctx, name, say(what))
			if err != nil {
				return "", err
			}
			return s, nap(ctx)
		})
		w := r.begin(before)
		old, err := before.Start(r.ctx, w.App, "")
		if err != nil {
			r.Fatal(err)
		}
		w.stop(r)
		for range 2 { // the second worker replays what the first recorded
			w = r.begin(after)
			if fresh, err := after.Start(r.ctx, w.App, ""); err != nil {
				r.Fatal(err)
			} else if got, err := fresh.Result(r.ctx); got != "letter" || err != nil {
				r.Errorf("new run = %q, %v, want letter", got, err)
			}
			w.stop(r)
		}
		w = r.begin(after)
		if got, err := after.Get(w.App, old.ID()).Result(r.ctx); got != "mail" || err != nil {
			r.Errorf("old run = %q, %v, want mail", got, err)
		}
	})
}
