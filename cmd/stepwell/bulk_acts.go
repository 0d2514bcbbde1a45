package main

// This file holds what can be done to many runs.

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// bulkAct is one thing that can be done to many runs.
type bulkAct struct {
	name, done string
	result     string // the same as --json says it
	short      string
	args       cobra.PositionalArgs
	use        string
	status     []world.Status // of the runs that are meant, unless told
	act        func(c *cli, app *stepwell.App, args []string, word string) (stepwell.Act, error)
}

// errAlready says that a run is already as it was to be.
var errAlready = errors.New("it is so already")

var live = []world.Status{world.Pending, world.Running}

func bulkActs() []bulkAct {
	none := arguments(0, 0, "no arguments")
	return []bulkAct{
		{"cancel", "cancel requested", "requested", "Ask runs to end", none, "cancel", live, func(_ *cli, app *stepwell.App, _ []string, reason string) (stepwell.Act, error) {
			return func(ctx context.Context, r stepwell.RunInfo) error { return app.Cancel(ctx, r.ID, reason) }, nil
		}},
		{"pause", "paused", "paused", "Stop runs until they are resumed", none, "pause", live, func(_ *cli, app *stepwell.App, _ []string, reason string) (stepwell.Act, error) {
			return unless(true, func(ctx context.Context, r stepwell.RunInfo) error { return app.Pause(ctx, r.ID, reason) }), nil
		}},
		{"resume", "resumed", "resumed", "Let paused runs go on", none, "resume", live, func(_ *cli, app *stepwell.App, _ []string, _ string) (stepwell.Act, error) {
			return unless(false, func(ctx context.Context, r stepwell.RunInfo) error { return app.Resume(ctx, r.ID) }), nil
		}},
		{"wake", "woken", "woken", "End the sleeps of runs now", none, "wake", []world.Status{world.Running}, func(_ *cli, app *stepwell.App, _ []string, _ string) (stepwell.Act, error) {
			return func(ctx context.Context, r stepwell.RunInfo) error {
				n, err := app.Wake(ctx, r.ID)
				if blocked := r.Queue != nil && r.Queue.Blocked != nil && !r.Queue.Paused; err == nil && n == 0 && !blocked {
					err = errAlready // it does not sleep
				}
				return err
			}, nil
		}},
		{"retry", "retried", "created", "Go on from the steps that failed runs, in new runs", none, "retry", []world.Status{world.Failed}, func(_ *cli, app *stepwell.App, _ []string, _ string) (stepwell.Act, error) {
			return func(ctx context.Context, r stepwell.RunInfo) error {
				retried, err := app.Retry(ctx, r.ID)
				if err == nil && retried.Existed() {
					err = errAlready
				}
				return err
			}, nil
		}},
		{"signal", "sent", "sent", "Send an event to runs", arguments(1, 2, "EVENT and perhaps JSON"), "signal EVENT [JSON|-]", live,
			func(c *cli, app *stepwell.App, args []string, delivery string) (stepwell.Act, error) {
				payload, err := c.payload(args[1:])
				return func(ctx context.Context, r stepwell.RunInfo) error {
					return app.Signal(ctx, r.ID, args[0], payload, stepwell.DeliveryID(delivery))
				}, err
			}},
	}
}

// unless leaves out runs that are paused, or are not. What waits in an inbox may say otherwise: such a run is not left out.
func unless(paused bool, act stepwell.Act) stepwell.Act {
	return func(ctx context.Context, r stepwell.RunInfo) error {
		if q := r.Queue; q != nil && q.Paused == paused && q.Mail == 0 {
			return errAlready
		}
		return act(ctx, r)
	}
}
