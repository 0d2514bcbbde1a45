package stepwell_test

// How long runs are kept: the workflow's word, the start's, and the operator's.

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

func TestRetention(t *testing.T) {
	const day = 24 * time.Hour
	bubble(t, kinds[0].open, modes[0].set, func(r *rig) {
		for i, c := range []struct {
			workflow, start, most time.Duration // 0: nothing was said
			want                  time.Duration // 0: for ever
		}{
			{0, 0, 0, 30 * day},
			{time.Hour, 0, 0, time.Hour},
			{time.Hour, 2 * time.Hour, 0, 2 * time.Hour},
			{0, 2 * time.Hour, 0, 2 * time.Hour},
			{400 * day, 0, 0, 365 * day},
			{time.Hour, 400 * day, 0, 365 * day},
			{stepwell.Forever, 0, 0, 365 * day},
			{time.Hour, stepwell.Forever, 0, 365 * day},
			{stepwell.Forever, time.Hour, 0, time.Hour},
			{0, 0, 7 * day, 7 * day},
			{time.Hour, 8 * day, 7 * day, 7 * day},
			{400 * day, 0, stepwell.Forever, 400 * day},
			{time.Hour, stepwell.Forever, stepwell.Forever, 0},
		} {
			var options []stepwell.WorkflowOption
			if c.workflow != 0 {
				options = append(options, stepwell.Retention(c.workflow))
			}
			wf := stepwell.Define("kept", func(stepwell.Context, int) (int, error) { return 0, nil }, options...)
			app, err := stepwell.New(r.world, stepwell.Config{Definitions: []stepwell.Definition{wf}, MaxRetention: c.most})
			if err != nil {
				r.Fatal(err)
			}
			typed, raw, restarted := fmt.Sprint("typed", i), fmt.Sprint("raw", i), fmt.Sprint("restarted", i)
			if _, err := wf.Start(r.ctx, app, 0, stepwell.StartOptions{ID: typed, Retention: c.start}); err != nil {
				r.Fatal(err)
			}
			if _, err := app.Start(r.ctx, "kept", json.RawMessage(`0`), stepwell.StartOptions{ID: raw, Retention: c.start}); err != nil {
				r.Fatal(err)
			}
			if _, err := app.Restart(r.ctx, raw, stepwell.RestartOptions{ID: restarted}); err != nil {
				r.Fatal(err)
			}
			for _, id := range []string{typed, raw, restarted} {
				if got := r.get(id).Retention; got != c.want {
					r.Errorf("workflow %s, start %s, at most %s: run %s is kept %s, want %s", c.workflow, c.start, c.most, id, got, c.want)
				}
			}
		}
	})
}

// The operator's limit of today holds for a run that is made of an older one, which was to be kept for longer.
func TestRetentionOfWhatIsMadeOfOlderRuns(t *testing.T) {
	bubble(t, kinds[0].open, modes[0].set, func(r *rig) {
		wf := stepwell.Define("fails", func(stepwell.Context, int) (int, error) { return 0, stepwell.Fatal(fmt.Errorf("no")) }, stepwell.Retention(stepwell.Forever))
		before := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{wf}, MaxRetention: stepwell.Forever})
		wantErr(r, start(r, before, wf, 0, stepwell.StartOptions{ID: "old"}), world.Failed)
		before.stop(r)
		today, err := stepwell.New(r.world, stepwell.Config{MaxRetention: time.Hour})
		if err != nil {
			r.Fatal(err)
		}
		restarted, err := today.Restart(r.ctx, "old", stepwell.RestartOptions{})
		if err != nil {
			r.Fatal(err)
		}
		retried, err := today.Retry(r.ctx, "old")
		if err != nil {
			r.Fatal(err)
		}
		for id, want := range map[string]time.Duration{"old": 0, restarted.ID(): time.Hour, retried.ID(): time.Hour} {
			if got := r.get(id).Retention; got != want {
				r.Errorf("run %s is kept %s, want %s", id, got, want)
			}
		}
	})
}
