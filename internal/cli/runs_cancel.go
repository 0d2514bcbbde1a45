package cli

// This file cancels a run.

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell"
)

func runsCancelCommand(c *cli) *cobra.Command {
	var reason string
	force := false
	cmd := &cobra.Command{
		Use:   "cancel RUN",
		Short: "Ask a run to end",
		Long: `Ask a run to end: its code sees the cancel and cleans up, and the run ends as cancelled. The request is durable when the
command returns; a worker carries it out. If you ask again it is the same request, and you see its outcome: requested or
cancelled. A run that is about to end may finish before it reads the request; runs show says so then.

With --force the run is over when the command returns, whatever it does. None of its code runs any more, not even to
clean up or undo. Use it for runs whose code ignores a cancel.

` + exitHelp,
		Example: `  stepwell runs cancel wrun_01JD3V7Q5ZJ8K2M4N6P8R0T2V4 --reason "ordered twice"
  stepwell runs cancel wrun_01JD3V --force`,
		Args:              arguments(1, 1, "RUN"),
		ValidArgsFunction: c.completeRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			return actOn(c, cmd, args[0], func(db *database, run string) (any, string, error) {
				if force {
					return acted{Run: run, Action: "cancel", Result: "cancelled"}, "cancelled run " + run + "; its code does not clean up", db.app.ForceCancel(cmd.Context(), run, reason)
				}
				return cancelled(cmd.Context(), db, run, reason)
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "the `reason`, kept in the log")
	cmd.Flags().BoolVar(&force, "force", false, "end it at once, without cleanup")
	c.actFlag(cmd)
	return cmd
}

// cancelled asks a run to end, and says what became of that.
func cancelled(ctx context.Context, db *database, run, reason string) (is any, text string, err error) {
	before, look := db.app.Get(ctx, run) // what it was: a blocked run ends without its code
	err = db.app.Cancel(ctx, run, reason)
	if err != nil && !errors.Is(err, stepwell.ErrTerminal) {
		return nil, "", err
	}
	undone := ""
	if look == nil && before.Queue != nil && before.Queue.Blocked != nil {
		undone = "; it is blocked, so its code does not run, not even to clean up or undo"
	}
	outcome, look := db.app.CancelOutcome(ctx, run)
	switch {
	case err != nil && (look != nil || outcome == stepwell.CancelDone): // it is over, and nobody had asked before
		return nil, "", err
	case err != nil:
		return acted{Run: run, Action: "cancel", Result: string(outcome)}, "cancelled too late: run " + run + " " + string(outcome), nil
	case look == nil && outcome == stepwell.CancelDone:
		return acted{Run: run, Action: "cancel", Result: string(outcome)}, "run " + run + " is cancelled" + undone, nil
	}
	return acted{Run: run, Action: "cancel", Result: "requested"}, "cancel requested: run " + run + undone, nil
}
