package cli

// This file holds workflows, and releases them.

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/human"
)

// workflowActed is what --json says of something that was done to a workflow.
type workflowActed struct {
	acted
	Workflow string `json:"workflow"`
}

// workflowCommand is a command that does one thing to a workflow.
func workflowCommand(c *cli, cmd *cobra.Command, result string, f func(cmd *cobra.Command, db *database, name string) error) *cobra.Command {
	action := cmd.Use
	cmd.Use += " NAME"
	cmd.Long += "\n\n" + exitHelp
	cmd.Args, cmd.ValidArgsFunction = arguments(1, 1, "NAME"), c.completeWorkflow
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.with(cmd.Context(), func(db *database) error {
			if err := f(cmd, db, args[0]); errors.Is(err, stepwell.ErrInvalid) {
				return &fault{exitUsage, err, "nothing was changed"}
			} else if err != nil {
				return err
			}
			return c.tell(workflowActed{acted{Action: action, Result: result}, args[0]}, result+" "+human.Visible(args[0]))
		})
	}
	c.actFlag(cmd)
	return cmd
}

func workflowsHoldCommand(c *cli) *cobra.Command {
	var note string
	cmd := workflowCommand(c, &cobra.Command{
		Use: "hold", Short: "Stop the new runs of a workflow from beginning until you release it",
		Long: `Hold a workflow, and record who asked for that, and why. Its starts are accepted, but its runs do not begin until you
release it, whatever restarts. Runs that have begun continue, and so does what a worker is just taking. You can cancel a
held run. If you hold the workflow again, you replace who and why.`,
		Example: `  stepwell workflows hold charge --note 'the bank is down'`,
	}, "held", func(cmd *cobra.Command, db *database, name string) error {
		return db.app.Hold(cmd.Context(), name, note)
	})
	cmd.Flags().StringVar(&note, "note", "", "the `reason`, for people")
	return cmd
}

func workflowsReleaseCommand(c *cli) *cobra.Command {
	return workflowCommand(c, &cobra.Command{
		Use: "release", Short: "Let the runs of a held workflow begin",
		Long:    `Release a held workflow: its runs begin in their order, as workers have room. A workflow that is not held stays as it is.`,
		Example: `  stepwell workflows release charge`,
	}, "released", func(cmd *cobra.Command, db *database, name string) error {
		return db.app.Release(cmd.Context(), name)
	})
}
