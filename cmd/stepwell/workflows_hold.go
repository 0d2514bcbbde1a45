package main

// This file holds workflows, and releases them.

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/flow"
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
		Use: "hold", Short: "Have none of a workflow's runs begin until it is released",
		Long: `Hold a workflow, and keep who asked for that, and why. Its starts are accepted, and none of its runs begins until it is released, whatever restarts. What
has begun goes on, and so does what a worker has in its hands at that moment. A run that is held can be cancelled. Again, it says anew who and why.`,
		Example: `  stepwell workflows hold charge --note 'the bank is down'`,
	}, "held", func(cmd *cobra.Command, db *database, name string) error {
		return flow.Hold(cmd.Context(), db.app, name, note)
	})
	cmd.Flags().StringVar(&note, "note", "", "`why`, for people")
	return cmd
}

func workflowsReleaseCommand(c *cli) *cobra.Command {
	return workflowCommand(c, &cobra.Command{
		Use: "release", Short: "Have the runs of a workflow that is held begin",
		Long:    `Release a workflow: its runs begin, as workers have room, in the order in which they would have. One that is not held stays as it is.`,
		Example: `  stepwell workflows release charge`,
	}, "released", func(cmd *cobra.Command, db *database, name string) error {
		return flow.Release(cmd.Context(), db.app, name)
	})
}
