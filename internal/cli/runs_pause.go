package cli

// This file pauses a run.

import "github.com/spf13/cobra"

func runsPauseCommand(c *cli) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "pause RUN",
		Short: "Stop a run until you resume it",
		Long: `Stop a run until you resume it: no worker takes it, nothing is delivered to it, and its timers do not fire. Steps that
are running may finish; their results are kept. Pausing again is the same pause; a cancel ends it.

` + exitHelp,
		Example: `  stepwell runs pause wrun_01JD3V7Q5ZJ8K2M4N6P8R0T2V4 --reason "bank is closed"
  stepwell runs pause wrun_01JD3V`,
		Args:              arguments(1, 1, "RUN"),
		ValidArgsFunction: c.completeRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			return actOn(c, cmd, args[0], func(db *database, run string) (any, string, error) {
				if err := db.app.Pause(cmd.Context(), run, reason); err != nil {
					return nil, "", err
				}
				row, err := db.app.Get(cmd.Context(), run)
				if err == nil && row.Queue != nil && !row.Queue.Paused {
					return acted{Run: run, Action: "pause", Result: "requested"}, "pause requested: the worker of run " + run + " carries it out", nil
				}
				return acted{Run: run, Action: "pause", Result: "paused"}, "paused run " + run, err
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "the `reason`, kept in the log")
	c.actFlag(cmd)
	return cmd
}

// actOn does something to the run that arg names, and says what was done: f returns it for programs and for people.
func actOn(c *cli, cmd *cobra.Command, arg string, f func(db *database, run string) (is any, text string, err error)) error {
	return c.with(cmd.Context(), func(db *database) error {
		run, err := findToAct(cmd.Context(), c.target, db, arg)
		if err != nil {
			return err
		}
		is, text, err := f(db, run)
		if err != nil {
			return c.explain(err, run)
		}
		return c.tell(is, text)
	})
}
