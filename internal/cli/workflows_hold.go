package cli

// This file holds workflows, and releases them.

import (
	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell/api"
)

// aboutWorkflows is what the commands that hold workflows share.
func aboutWorkflows(c *cli) *subject {
	return &subject{kind: "workflow", complete: c.completeWorkflow}
}

func workflowsHoldCommand(c *cli) *cobra.Command {
	var in api.HoldWorkflow
	cmd := act(c, aboutWorkflows(c), api.HoldWorkflowOp, &in, &cobra.Command{
		Use:   "hold NAME",
		Short: "Stop the new runs of a workflow from beginning until you release it",
		Long: `Hold a workflow, and record who asked for that, and why. Its starts are accepted, but its runs do not begin until you
release it, whatever restarts. Runs that have begun continue, and so does what a worker is just taking. You can cancel a
held run. If you hold the workflow again, you replace who and why.`,
		Example: `  stepwell workflows hold charge --note 'the bank is down'`,
	}, "held", nil)
	cmd.Flags().StringVar(&in.Note, "note", "", "the `reason`, for people")
	return cmd
}

func workflowsReleaseCommand(c *cli) *cobra.Command {
	return act(c, aboutWorkflows(c), api.ReleaseWorkflowOp, &api.ReleaseWorkflow{}, &cobra.Command{
		Use:     "release NAME",
		Long:    `Release a held workflow: its runs begin in their order, as workers have room. A workflow that is not held stays as it is.`,
		Example: `  stepwell workflows release charge`,
	}, "released", nil)
}
