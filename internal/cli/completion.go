package cli

// This file completes the flags of all commands: --json for groups, and what a shell offers for workflows and runs; find.go and hooks.go offer
// runs and tokens as arguments.

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// completeFlags gives groups of commands their --json, and flags that mean a workflow or a run what there is of these.
func completeFlags(c *cli, root *cobra.Command) {
	offers := map[string]cobra.CompletionFunc{
		"workflow": c.completeWorkflow,
		"run": func(cmd *cobra.Command, _ []string, begins string) ([]string, cobra.ShellCompDirective) {
			return c.completeRun(cmd, nil, begins)
		},
	}
	if root.Flags().Lookup("json") == nil && root.HasSubCommands() { // so that what is wrong with a command line is told as JSON too
		c.jsonFlag(root, "write errors as JSON")
		_ = root.Flags().MarkHidden("json") // it is there
	}
	for _, cmd := range root.Commands() {
		completeFlags(c, cmd)
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if offer := offers[f.Name]; offer != nil && f.Value.Type() == "string" {
				_ = cmd.RegisterFlagCompletionFunc(f.Name, offer) // one that has an offer of its own keeps it
			}
		})
	}
}

// completeWorkflow offers the workflows that have runs.
func (t *target) completeWorkflow(cmd *cobra.Command, _ []string, begins string) (names []string, _ cobra.ShellCompDirective) {
	_ = t.with(cmd.Context(), func(db *database) error { // a shell has no place for an error
		stats, err := db.world.Stats(cmd.Context())
		for _, w := range stats.Workflows {
			if strings.HasPrefix(w.Workflow, begins) {
				names = append(names, w.Workflow+"\t"+strconv.Itoa(w.Pending+w.Running)+" of its runs are not over")
			}
		}
		return err
	})
	return names, cobra.ShellCompDirectiveNoFileComp
}
