package behaviour_test

// What the error of a run says.

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/acting"
	"github.com/stepwell/stepwell/world"
)

// TestARunErrorSaysHowTheRunEnded: to who waits for it, and to a workflow whose step did.
func TestARunErrorSaysHowTheRunEnded(t *testing.T) {
	everywhere(t, func(r *rig) {
		place := ""
		fails := stepwell.Define("fails", func(ctx stepwell.Context, _ int) (int, error) {
			place = line(1)
			return 0, stepwell.Do(ctx, "take", func(context.Context) error { return stepwell.Fatal(coded{"SOLD"}) })
		})
		waits := stepwell.Define("waits", func(ctx stepwell.Context, _ int) (int, error) {
			return 0, stepwell.Sleep(ctx, "nap", 24*time.Hour)
		})
		asks := stepwell.Define("asks", func(ctx stepwell.Context, of string) (stepwell.RunError, error) {
			err := stepwell.Do(ctx, "wait", func(body context.Context) error {
				_, err := fails.Get(stepwell.AppFrom(body), of).Result(body)
				return stepwell.Fatal(err)
			})
			if e := stepwell.Sleep(ctx, "so that it is replayed", time.Minute); e != nil {
				return stepwell.RunError{}, e
			}
			failed, ok := errors.AsType[*stepwell.RunError](err)
			if !ok {
				return stepwell.RunError{}, err
			}
			return *failed, nil
		})
		wk := r.begin(fails, waits, asks)
		failed, cancelled := start(r, wk, fails, 0), start(r, wk, waits, 0)
		until(r, "it to wait", func() bool { return r.count(cancelled.ID(), world.WaitCreated, "") == 1 })
		if err := r.client().Cancel(acting.For(r.ctx, "ann"), cancelled.ID(), "enough"); err != nil {
			r.Fatal(err)
		}
		forced := start(r, wk, waits, 0, stepwell.Delay(time.Hour))
		if err := r.client().ForceCancel(acting.For(r.ctx, "bob"), forced.ID(), "at once"); err != nil {
			r.Fatal(err)
		}
		for _, c := range []struct {
			run  *stepwell.Run[int]
			want stepwell.RunError
			says string
		}{
			{failed, stepwell.RunError{Workflow: "fails", Message: `step "take": it failed`, Code: "SOLD", Where: place}, " of fails failed: step"},
			{cancelled, stepwell.RunError{Workflow: "waits", Cancelled: true, Message: "the run was cancelled", By: "ann"}, " of waits cancelled: the run was cancelled"},
			{forced, stepwell.RunError{Workflow: "waits", Cancelled: true, By: "bob"}, " of waits cancelled"},
		} {
			c.want.Run = c.run.ID()
			_, err := c.run.Result(r.ctx)
			got, ok := errors.AsType[*stepwell.RunError](err)
			if !ok {
				r.Fatalf("got %v, want a RunError", err)
			}
			told, err := start(r, wk, asks, c.run.ID()).Result(r.ctx)
			if err != nil {
				r.Fatal(err)
			}
			for _, got := range []*stepwell.RunError{got, &told} {
				if diff := cmp.Diff(&c.want, got, cmpopts.IgnoreUnexported(stepwell.RunError{})); diff != "" {
					r.Errorf("want -, got +:\n%s", diff)
				}
				if !strings.HasPrefix(got.Error(), "run "+c.run.ID()+c.says) || errors.Is(got, stepwell.ErrCancelled) != c.want.Cancelled {
					r.Errorf("got %v", got)
				}
			}
		}
	})
}

// unread is a store whose logs cannot be read.
type unread struct{ world.World }

func (unread) Events(context.Context, string, world.EventQuery) (world.EventPage, error) {
	return world.EventPage{}, world.ErrStorage
}

// TestARunErrorWithoutTheLog: that a run was cancelled is said also where its log does not tell by whom.
func TestARunErrorWithoutTheLog(t *testing.T) {
	onWorlds(t, func(r *rig) {
		waits := stepwell.Define("waits", func(ctx stepwell.Context, _ int) (int, error) {
			return 0, stepwell.Sleep(ctx, "nap", time.Hour)
		})
		wk := r.begin(waits)
		run := start(r, wk, waits, 0)
		r.cancel(wk.App, run.ID())
		wantErr(r, run, world.Cancelled)
		client, err := stepwell.New(unread{r.world}, stepwell.Config{Definitions: []stepwell.Definition{waits}})
		if err != nil {
			r.Fatal(err)
		}
		_, err = waits.Get(client, run.ID()).Result(r.ctx)
		failed, ok := errors.AsType[*stepwell.RunError](err)
		if !ok || !failed.Cancelled || failed.By != "" || !errors.Is(err, stepwell.ErrCancelled) {
			r.Errorf("got %v, want that it was cancelled", err)
		}
	})
}
