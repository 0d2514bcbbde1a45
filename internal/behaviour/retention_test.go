package behaviour_test

// How long runs are kept: the workflow's word, the start's, and the operator's.

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
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
			want                  time.Duration
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
			{time.Hour, stepwell.Forever, stepwell.Forever, stepwell.Forever},
			{stepwell.Forever, 0, stepwell.Forever, stepwell.Forever},
		} {
			var options []stepwell.WorkflowOption
			if c.workflow != 0 {
				options = append(options, stepwell.Retention(c.workflow))
			}
			wf := stepwell.Define("kept", func(stepwell.Context, int) (int, error) { return 0, nil }, options...)
			said := &heeded{}
			app, err := stepwell.New(r.world, stepwell.Config{Definitions: []stepwell.Definition{wf}, MaxRetention: c.most, Logger: slog.New(said)})
			if err != nil {
				r.Fatal(err)
			}
			said.want(r, "New", above(c.workflow, c.most))
			typed, raw, restarted := fmt.Sprint("typed", i), fmt.Sprint("raw", i), fmt.Sprint("restarted", i)
			first, err := wf.Start(r.ctx, app, 0, stepwell.RunID(typed), stepwell.Retention(c.start))
			if err != nil {
				r.Fatal(err)
			}
			second, err := app.Start(r.ctx, "kept", json.RawMessage(`0`), stepwell.RunID(raw), stepwell.Retention(c.start))
			if err != nil {
				r.Fatal(err)
			}
			said.want(r, "two starts", 2*above(c.start, c.most))
			third, err := app.Restart(r.ctx, raw, stepwell.RestartOptions{ID: restarted})
			if err != nil {
				r.Fatal(err)
			}
			said.want(r, "a restart of what is kept so already", 0)
			for id, told := range map[string]time.Duration{typed: first.Retention(), raw: second.Retention(), restarted: third.Retention()} {
				if info, err := app.Get(r.ctx, id); err != nil || info.Retention != stepwell.Span(c.want) || told != c.want {
					r.Errorf("workflow %s, start %s, at most %s: run %s is kept %s, its start says %s, want %s, %v", c.workflow, c.start, c.most, id, info.Retention, told, c.want, err)
				}
			}
		}
	})
}

// heeded counts warnings about what is kept for less than was asked for.
type heeded struct{ n int }

func (h *heeded) Enabled(context.Context, slog.Level) bool { return true }
func (h *heeded) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h *heeded) WithGroup(string) slog.Handler            { return h }

func (h *heeded) Handle(_ context.Context, rec slog.Record) error {
	if rec.Level == slog.LevelWarn && strings.HasPrefix(rec.Message, "kept for less") {
		h.n++
	}
	return nil
}

// want holds how many there were since it was asked last.
func (h *heeded) want(r *rig, what string, n int) {
	r.Helper()
	if h.n != n {
		r.Errorf("%s: %d warnings, want %d", what, h.n, n)
	}
	h.n = 0
}

// above is 1 where a retention is above a limit.
func above(asked, most time.Duration) int {
	if most != stepwell.Forever && (asked == stepwell.Forever || asked > cmp.Or(most, 365*24*time.Hour)) {
		return 1
	}
	return 0
}

// A child that asks for more than the operator's limit is kept for that long, and the log says so, once.
func TestRetentionOfChildren(t *testing.T) {
	bubble(t, kinds[0].open, modes[0].set, func(r *rig) {
		child := stepwell.Define("child", func(stepwell.Context, int) (int, error) { return 0, nil })
		parent := stepwell.Define("parent", func(ctx stepwell.Context, _ int) (string, error) {
			c := child.Child(stepwell.RunID("kept"), stepwell.Retention(stepwell.Forever)).Start(ctx, 0)
			_, err := c.Get(ctx)
			return c.ID(), err
		})
		said := &heeded{}
		app := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{child, parent}, MaxRetention: time.Hour, Logger: slog.New(said)})
		want(r, start(r, app, parent, 0), "kept")
		if got := r.get("kept").Retention; got != stepwell.Span(time.Hour) {
			r.Errorf("the child is kept %s, want 1h", got)
		}
		app.stop(r)
		said.want(r, "a child", 1)
	})
}

// The operator's limit of today holds for a run that is made of an older one, which was to be kept for longer.
func TestRetentionOfWhatIsMadeOfOlderRuns(t *testing.T) {
	bubble(t, kinds[0].open, modes[0].set, func(r *rig) {
		wf := stepwell.Define("fails", func(stepwell.Context, int) (int, error) { return 0, stepwell.Fatal(fmt.Errorf("no")) }, stepwell.Retention(stepwell.Forever))
		before := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{wf}, MaxRetention: stepwell.Forever})
		wantErr(r, start(r, before, wf, 0, stepwell.RunID("old")), world.Failed)
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
		if restarted.Retention() != time.Hour || retried.Retention() != time.Hour {
			r.Errorf("restart says %s, retry %s; want 1h", restarted.Retention(), retried.Retention())
		}
		for id, want := range map[string]stepwell.Span{"old": stepwell.Span(stepwell.Forever), restarted.ID(): stepwell.Span(time.Hour), retried.ID(): stepwell.Span(time.Hour)} {
			if got := r.get(id).Retention; got != want {
				r.Errorf("run %s is kept %s, want %s", id, got, want)
			}
		}
	})
}
