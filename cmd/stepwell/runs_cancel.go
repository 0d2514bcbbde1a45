package main

// This file cancels a run.

import "github.com/spf13/cobra"

func (c *cli) runsCancel() *cobra.Command {
	var reason string
	force := false
	cmd := &cobra.Command{
		Use:   "cancel RUN",
		Short: "Ask a run to end",
		Long: `Ask a run to end: its code sees the cancel, cleans up, and the run ends cancelled. The request is durable when the command returns; a
worker carries it out. Asking again is the same request.

With --force the run is over when the command returns, whatever it does: none of its code runs any more, not to clean up or to undo
either. It is for runs whose code does not heed a cancel.

` + exitCodes,
		Example: `  stepwell runs cancel wrun_01JD3V7Q5ZJ8K2M4N6P8R0T2V4 --reason "ordered twice"
  stepwell runs cancel wrun_01JD3V --force`,
		Args:              arguments(1, 1, "RUN"),
		ValidArgsFunction: c.completeRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.act(cmd, args[0], func(db *database, run string) (any, string, error) {
				if force {
					return acted{run, "cancel", "cancelled"}, "cancelled run " + run + "; its code does not clean up", db.app.ForceCancel(cmd.Context(), run, reason)
				}
				return acted{run, "cancel", "requested"}, "cancel requested: run " + run, db.app.Cancel(cmd.Context(), run, reason)
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "`why`, for the log")
	cmd.Flags().BoolVar(&force, "force", false, "end it at once, without cleaning up")
	c.actFlag(cmd)
	return cmd
}
