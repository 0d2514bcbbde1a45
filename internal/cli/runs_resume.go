package cli

// This file lets a paused run go on.

import "github.com/spf13/cobra"

func runsResumeCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "resume RUN",
		Short: "Let a paused run continue",
		Long: `Let a paused run continue. Deliveries and timers that came up during the pause follow, in the order of their times.
Resuming a run that is not paused changes nothing, unless it is blocked: then it is tried again at once.

` + exitHelp,
		Example:           `  stepwell runs resume wrun_01JD3V7Q5ZJ8K2M4N6P8R0T2V4`,
		Args:              arguments(1, 1, "RUN"),
		ValidArgsFunction: c.completeRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			return actOn(c, cmd, args[0], func(db *database, run string) (any, string, error) {
				before, err := db.app.Get(cmd.Context(), run)
				if err != nil {
					return nil, "", err
				}
				if err := db.app.Resume(cmd.Context(), run); err != nil {
					return nil, "", err
				}
				if q := before.Queue; q != nil && !q.Paused && q.Blocked != nil {
					return acted{Run: run, Action: "resume", Result: "resumed"}, c.triedAgain(run, q.Blocked), nil
				}
				if q := before.Queue; q != nil && !q.Paused && q.Owner == "" {
					return acted{Run: run, Action: "resume", Result: "unchanged"}, "run " + run + " was not paused", nil
				}
				return acted{Run: run, Action: "resume", Result: "resumed"}, "resumed run " + run, nil
			})
		},
	}
	c.actFlag(cmd)
	return cmd
}
