package main

// This file cancels a run.

import (
	"fmt"

	"github.com/spf13/cobra"
)

func (c *cli) runsCancel() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "cancel RUN",
		Short: "Ask a run to end",
		Long: `Ask a run to end: its code sees the cancel, cleans up, and the run ends cancelled. The request is durable when the command returns; a
worker carries it out. Asking again is the same request.

` + exitCodes,
		Example:           `  stepwell runs cancel wrun_01JD3V7Q5ZJ8K2M4N6P8R0T2V4 --reason "ordered twice"`,
		Args:              arguments(1, 1, "RUN"),
		ValidArgsFunction: c.completeRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(func(db *database) error {
				run, err := c.find(cmd.Context(), db, args[0])
				if err != nil {
					return err
				}
				if err := db.app.Cancel(cmd.Context(), run, reason); err != nil {
					return c.explain(err, run)
				}
				fmt.Fprintf(c.stdout, "cancel requested: run %s\n", run)
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "`why`, for the log")
	return cmd
}
