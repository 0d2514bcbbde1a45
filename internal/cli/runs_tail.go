package cli

// This file follows a run.

import "github.com/spf13/cobra"

// runsTailCommand is events --follow under the name that people look for.
func runsTailCommand(c *cli) *cobra.Command {
	cmd := eventsCommand(c)
	cmd.Use, cmd.Short = "tail RUN", "Follow a run's log until it is over"
	cmd.Long = "Print the events of a run's log, and continue with new ones until the run is over. It is short for events --follow.\n\n" + exitHelp
	cmd.Example = "  stepwell runs tail wrun_01JD3V7Q5ZJ8K2M4N6P8R0T2V4\n  stepwell runs tail wrun_01JD3V --type step_failed,step_retrying --json"
	_ = cmd.Flags().Set("follow", "true") // it is there
	_ = cmd.Flags().MarkHidden("follow")
	return cmd
}
