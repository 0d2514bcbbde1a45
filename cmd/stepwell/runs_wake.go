package main

// This file ends the sleeps of a run.

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell/internal/human"
)

func (c *cli) runsWake() *cobra.Command {
	return &cobra.Command{
		Use:   "wake RUN",
		Short: "End the sleeps of a run now",
		Long: `End the sleeps of a run now, and say how many there were. Waits for events, hooks and other runs are not touched. The request is durable
when the command returns; a worker carries it out.

` + exitCodes,
		Example:           `  stepwell runs wake wrun_01JD3V7Q5ZJ8K2M4N6P8R0T2V4`,
		Args:              arguments(1, 1, "RUN"),
		ValidArgsFunction: c.completeRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.act(cmd, args[0], func(db *database, run string) (string, error) {
				n, err := db.app.Wake(cmd.Context(), run)
				if err == nil && n == 0 {
					return fmt.Sprintf("run %s does not sleep: nothing to end; see what it waits for:  %s", run, c.command("runs show "+run)), nil
				}
				return fmt.Sprintf("ended %s of run %s", human.Count(n, "sleep"), run), err
			})
		},
	}
}
