package behaviour_test

// This file holds what a retry of a failed run does again: the step that failed, and nothing that had ended.

import (
	"context"
	"slices"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// failures are how the runs to be retried come to their failed step "pay", and what runs in the retry.
var failures = map[string][]string{
	"plain":      {"pay", "thank"},
	"task":       {"pay", "thank"},
	"beside":     {"pay", "thank"}, // others that run at the same time
	"continued":  {"pay", "thank"}, // in its third segment
	"undo fails": {"pay", "thank"}, // what it could not undo counts as done
}

func payer(d *diary, mended *bool) []stepwell.Definition {
	pay := func(c context.Context) error {
		if d.note(c, "pay"); !*mended {
			return stepwell.Fatal(errNoStock)
		}
		return nil
	}
	task := stepwell.DefineStep("pay", func(c context.Context, _ int) (int, error) { return 0, pay(c) })
	wf := stepwell.Define("payer", func(ctx stepwell.Context, in tour) (string, error) {
		for _, name := range []string{"pick", "pack"} {
			if _, err := noted(ctx, d, name, 1); err != nil {
				return "", err
			}
			if in.Got == "undo fails" {
				stepwell.AddUndo(ctx, "un-"+name, func(c context.Context, _ any) error { d.note(c, "un-"+name); return stepwell.Fatal(errStock) }, nil)
			}
		}
		if in.Got == "continued" && in.Left > 0 {
			return "", stepwell.ContinueAsNew(ctx, tour{Left: in.Left - 1, Got: in.Got})
		}
		var err error
		switch in.Got {
		case "task":
			_, err = task.Run(ctx, 0)
		case "beside":
			others := stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) { return noted(ctx, d, "other", 1) })
			err = stepwell.Do(ctx, "pay", pay)
			if _, other := others.Get(ctx); other != nil {
				return "", other
			}
		default:
			err = stepwell.Do(ctx, "pay", pay)
		}
		if err != nil {
			return "", err
		}
		return noted(ctx, d, "thank", "paid")
	})
	return []stepwell.Definition{wf, task}
}

// TestRetryRunsTheFailedStepAlone however the run came to it: of all that had ended, nothing runs again.
func TestRetryRunsTheFailedStepAlone(t *testing.T) {
	everyWay(t, func(r *rig) {
		for how, ran := range failures {
			d, mended := &diary{}, false
			defs := payer(d, &mended)
			wk := r.begin(defs...)
			run := start(r, wk, defs[0].(*stepwell.Workflow[tour, string]), tour{Left: 2, Got: how})
			wantErr(r, run, world.Failed)
			mended = true
			retried, err := wk.Retry(r.ctx, run.ID())
			if err != nil {
				r.Fatalf("%s: %v", how, err)
			}
			if out, err := retried.Result(r.ctx); err != nil || string(out) != `"paid"` {
				r.dump(retried.ID())
				r.Errorf("%s: retried it came to %s, %v, want paid", how, out, err)
			}
			if got := d.of(retried.ID()); !slices.Equal(got, ran) {
				r.Errorf("%s: the retry ran %q, want %q", how, got, ran)
			}
			wk.stop(r.T)
			r.replays(retried.ID(), defs...)
		}
	})
}
