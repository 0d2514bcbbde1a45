package behaviour_test

import (
	"context"
	"errors"
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

// TestPatchedIsDecidedOnceAlsoInACancelledPart: a part that is cancelled, and the code behind it, take the same way.
func TestPatchedIsDecidedOnceAlsoInACancelledPart(t *testing.T) {
	for name, first := range map[string]bool{"decided before": true, "decided in it": false} {
		t.Run(name, func(t *testing.T) {
			everyWay(t, func(r *rig) {
				wf := stepwell.Define("patched-part", func(ctx stepwell.Context, _ string) ([]bool, error) {
					var took []bool
					if first {
						took = append(took, stepwell.Patched(ctx, "p"))
					}
					part, cancel := stepwell.WithCancel(ctx)
					cancel()
					took = append(took, stepwell.Patched(part, "p"))
					if err := stepwell.Sleep(ctx, "nap", time.Minute); err != nil {
						return nil, err
					}
					return append(took, stepwell.Patched(part, "p"), stepwell.Patched(ctx, "p")), nil
				})
				w := r.begin(wf)
				run, err := wf.Start(r.ctx, w.App, "")
				if err != nil {
					r.Fatal(err)
				}
				got, err := run.Result(r.ctx)
				for _, on := range got {
					if !on {
						err = errors.New("it took two ways")
					}
				}
				if err != nil || len(got) < 3 {
					r.Errorf("took %v, %v, want the new way each time", got, err)
				}
				r.replays(run.ID(), wf)
			})
		})
	}
}
