package cli

// This file counts runs by workflow, and by version.

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/internal/operate"
)

// counted is a workflow as --json writes it.
type counted struct {
	Name      string `json:"name"`
	Pending   int    `json:"pending"`
	Running   int    `json:"running"`
	Completed int    `json:"completed"`
	Failed    int    `json:"failed"`
	Cancelled int    `json:"cancelled"`
	Blocked   int    `json:"blocked"` // not among the pending and running
	Paused    int    `json:"paused"`  // the same

	Held *stepwell.Held `json:"held,omitempty"` // nil: it is not
}

func workflowsCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "workflows [WORKFLOW]",
		Short: "Count the runs of each workflow, or of one by version",
		Long: `Count the runs of each workflow, each once: a blocked or paused run is not counted as pending or running.
With a WORKFLOW, count its runs that are not over by version, and the workers that have each version. It looks at the
newest 20,000. Use it to see which code is still needed.

You can hold a workflow: its starts are accepted, but its runs do not begin until you release it.

` + exitHelp,
		Example: `  stepwell workflows
  stepwell workflows order
  stepwell workflows --json | jq -r 'select(.blocked > 0).name'`,
		Args:              arguments(0, 1, "[WORKFLOW]"),
		ValidArgsFunction: c.completeWorkflow,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd.Context(), func(db *database) error {
				if len(args) == 1 {
					return countVersions(cmd.Context(), c, db, args[0])
				}
				return countWorkflows(cmd.Context(), c, db)
			})
		},
	}
	c.jsonFlag(cmd, "write one JSON object per workflow")
	cmd.AddCommand(workflowsHoldCommand(c), workflowsReleaseCommand(c))
	return cmd
}

func countWorkflows(ctx context.Context, c *cli, db *database) error {
	stats, err := db.world.Stats(ctx)
	if err != nil {
		return err
	}
	once, err := operate.Workflows(ctx, db.app, &stats)
	if err != nil {
		return err
	}
	t := &table{Gap: "  ", Dear: []int{5, 1}} // completed, then pending
	header := []cell{{Text: "WORKFLOW", Tone: dim}}
	for _, name := range []string{"PENDING", "RUNNING", "BLOCKED", "PAUSED", "COMPLETED", "FAILED", "CANCELLED"} {
		header = append(header, cell{Text: name, Tone: dim, Right: true})
	}
	t.Add(header...)
	for _, w := range once {
		is := counted{w.Workflow, w.Pending, w.Running, w.Completed, w.Failed, w.Cancelled, w.Blocked, w.Paused, w.Held}
		if c.json {
			if err := c.encoder().Encode(is); err != nil {
				return err
			}
			continue
		}
		row := []cell{{Text: is.Name}}
		for _, n := range []int{is.Pending, is.Running, is.Blocked, is.Paused, is.Completed, is.Failed, is.Cancelled} {
			row = append(row, cell{Text: strconv.Itoa(n), Right: true})
		}
		if is.Blocked > 0 {
			row[3].Tone = bad
		}
		if is.Held != nil {
			row = append(row, cell{Text: heldText(is.Held), Tone: warm})
		}
		t.Add(row...)
	}
	if !c.json && len(once) > 0 {
		t.Write(c.stdout, c.style())
	}
	return nil
}

// heldText says by whom a workflow is held, and why.
func heldText(h *stepwell.Held) string {
	s := "held"
	if h.By != "" {
		s += " by " + human.Visible(h.By)
	}
	if h.Note != "" {
		s += ": " + human.Cut(h.Note, 100)
	}
	return s
}

// countVersions tells which versions of a workflow are needed still.
func countVersions(ctx context.Context, c *cli, db *database, workflow string) error {
	stats, err := db.world.Stats(ctx)
	if err != nil {
		return err
	}
	all, err := operate.VersionsOf(ctx, db.app, &stats, workflow)
	if err != nil {
		return usagef("see "+c.command("workflows"), "%w", err)
	}
	if c.json {
		return c.encoder().Encode(all)
	}
	t := &table{Gap: "  "}
	t.Add(cell{Text: "VERSION", Tone: dim}, cell{Text: "NOT OVER", Tone: dim, Right: true}, cell{Text: "BLOCKED", Tone: dim, Right: true}, cell{Text: "WORKERS", Tone: dim, Right: true})
	for _, v := range all.Versions {
		name := "v" + strconv.Itoa(v.Version)
		if v.Version == 0 {
			name = "open"
		}
		row := []cell{{Text: name}, {Text: strconv.Itoa(v.Runs), Right: true}, {Text: strconv.Itoa(v.Blocked), Right: true}, {Text: strconv.Itoa(v.Workers), Right: true}}
		if v.Blocked > 0 {
			row[2].Tone = bad
		}
		if v.Workers == 0 && v.Runs > 0 && v.Version > 0 {
			row[3].Tone = bad
		}
		t.Add(row...)
	}
	if len(all.Versions) > 0 {
		t.Write(c.stdout, c.style())
	} else {
		fmt.Fprintf(c.stderr, "all runs of %s are over, and no worker has it\n", workflow)
	}
	if all.More {
		fmt.Fprintln(c.stderr, "there are more runs that are not over than were examined")
	}
	return nil
}
