package main

// This file counts runs by workflow.

import (
	"strconv"

	"github.com/spf13/cobra"
)

// counted is a workflow as --json writes it.
type counted struct {
	Name      string `json:"name"`
	Pending   int    `json:"pending"`
	Running   int    `json:"running"`
	Completed int    `json:"completed"`
	Failed    int    `json:"failed"`
	Cancelled int    `json:"cancelled"`
	Blocked   int    `json:"blocked"` // of the pending and running
	Paused    int    `json:"paused"`  // the same
}

func workflowsCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "workflows",
		Short: "Count the runs of each workflow",
		Long: `Count the runs of each workflow that are kept, by status; blocked and paused ones are among the pending and running.

` + exitHelp,
		Example: `  stepwell workflows
  stepwell workflows --json | jq -r 'select(.blocked > 0).name'`,
		Args: arguments(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.with(cmd.Context(), func(db *database) error {
				stats, err := db.world.Stats(cmd.Context())
				if err != nil {
					return err
				}
				t := &table{gap: "  "}
				header := []cell{{text: "WORKFLOW", tone: dim}}
				for _, name := range []string{"PENDING", "RUNNING", "BLOCKED", "PAUSED", "COMPLETED", "FAILED", "CANCELLED"} {
					header = append(header, cell{text: name, tone: dim, right: true})
				}
				t.add(header...)
				for _, w := range stats.Workflows {
					is := counted{w.Workflow, w.Pending, w.Running, w.Completed, w.Failed, w.Cancelled, w.Blocked, w.Paused}
					if c.json {
						if err := c.encoder().Encode(is); err != nil {
							return err
						}
						continue
					}
					row := []cell{{text: is.Name}}
					for _, n := range []int{is.Pending, is.Running, is.Blocked, is.Paused, is.Completed, is.Failed, is.Cancelled} {
						row = append(row, cell{text: strconv.Itoa(n), right: true})
					}
					if is.Blocked > 0 {
						row[3].tone = bad
					}
					t.add(row...)
				}
				if !c.json && len(stats.Workflows) > 0 {
					t.write(c.stdout, c.style())
				}
				return nil
			})
		},
	}
	c.jsonFlag(cmd, "write one JSON object a workflow")
	return cmd
}
