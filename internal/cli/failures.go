package cli

// This file lists what did not end well, by its cause.

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/internal/operate"
	"github.com/stepwell/stepwell/world"
)

func failuresCommand(c *cli) *cobra.Command {
	var flags filterFlags
	cmd := &cobra.Command{
		Use:   "failures",
		Short: "Group failures, blocked runs and retries by cause",
		Long: `Group three kinds of runs by cause: runs that failed and were not retried, blocked runs, and runs that wait for the next
attempt of a step. A cause is the error message without its numbers and IDs, and the place in the code. The command
looks at the newest 10,000 runs of each kind. A failed run that was retried or restarted does not count; its replacement
does.

"What failed since the deploy?" is --failed-since. The ID of a cause is for --cause, here, in runs list and in bulk.

Times are like 90s, 5m, 2h or 7d (that long ago), 2026-11-27 or 2026-11-27T09:12:00Z.
With --json the output is one object; each cause has the IDs of at most 200 of its runs.

` + exitHelp,
		Example: `  stepwell failures
  stepwell failures --workflow order --since 1d
  stepwell failures --failed-since 2h
  stepwell bulk retry --cause 5f0c9d3a71e4
  stepwell failures --json | jq -r '.causes[0].runs[]' | xargs -n1 stepwell runs retry`,
		Args: arguments(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := listFilterOf(c, &flags)
			if err != nil {
				return err
			}
			filter := ""
			for _, is := range [][2]string{{" --workflow ", flags.workflow}, {" --since ", flags.since}, {" --failed-since ", flags.failedSince}, {" --cause ", flags.cause}} {
				if is[1] != "" {
					filter += is[0] + is[1]
				}
			}
			return c.with(cmd.Context(), func(db *database) error { return listFailures(cmd.Context(), c, db, f, filter) })
		},
	}
	cmd.Flags().StringVar(&flags.workflow, "workflow", "", "only runs of this workflow (`name`)")
	wordFlag(cmd, &flags.since, "since", "only runs created at this `time` or later")
	flags.addFailing(cmd)
	c.jsonFlag(cmd, "write one JSON object")
	return cmd
}

// toneOf is how bad a status is.
func toneOf(s world.Status) tone {
	if s == world.StandsRetrying {
		return warm
	}
	return bad
}

// listFailures lists those that fit a filter; text is the filter as flags.
func listFailures(ctx context.Context, c *cli, db *database, f stepwell.ListFilter, text string) error {
	all, err := operate.FailuresOf(ctx, db.app, f)
	if err != nil {
		return err
	}
	if c.json {
		return c.encoder().Encode(all)
	}
	stats, err := db.world.Stats(ctx)
	if err != nil {
		return err
	}
	t := &table{Gap: "  ", Dear: []int{5, 2}} // the ID, and how old the newest is
	t.Add(cell{Text: "RUNS", Tone: dim, Right: true}, cell{Text: "STATUS", Tone: dim}, cell{Text: "NEWEST", Tone: dim, Right: true}, cell{Text: "RUN", Tone: dim},
		cell{Text: "WORKFLOW", Tone: dim}, cell{Text: "ID", Tone: dim}, cell{Text: "CAUSE", Tone: dim})
	for _, is := range all.Causes {
		cause := human.Line(is.Message)
		if is.Code != "" {
			cause = human.Line(is.Code) + ": " + cause
		}
		if is.Where != "" {
			cause += " (" + human.Line(is.Where) + ")"
		}
		t.Add(cell{Text: strconv.Itoa(is.Count), Right: true}, cell{Text: string(is.Status), Tone: toneOf(is.Status)}, cell{Text: human.Age(stats.Now.Sub(is.Last)), Right: true},
			cell{Text: is.Runs[0]}, cell{Text: strings.Join(is.Workflows, ", ")}, cell{Text: is.ID}, cell{Text: cause})
	}
	if len(all.Causes) > 0 {
		t.Write(c.stdout, c.style())
	} else if !all.More {
		fmt.Fprintln(c.stderr, "no run failed without a retry, none is blocked, and none waits for its next attempt")
	}
	if all.Healed > 0 {
		fmt.Fprintf(c.stderr, "%s more failed and were replaced by a retry or a restart\n", human.Count(all.Healed, "run"))
	}
	if all.More {
		fmt.Fprintf(c.stderr, "there are more than the %d of each kind that were examined: --workflow, --since, --failed-since\n", operate.MostFailures)
	}
	if text == "" {
		text = " --all" // what is done to many wants a filter, or this
	}
	if all.Failed > 0 {
		fmt.Fprintf(c.stderr, "to retry all failed runs: %s\n", c.command("bulk retry --status "+string(world.Failed)+text))
	}
	if all.Retrying > 0 {
		fmt.Fprintf(c.stderr, "to end the retry delays of all of these now: %s\n", c.command("bulk wake --retries --status "+string(world.StandsRetrying)+text))
	}
	if all.Blocked > 0 {
		fmt.Fprintf(c.stderr, "to try all blocked runs now: %s\n", c.command("bulk wake --retries --status "+string(world.StandsBlocked)+text))
	}
	return nil
}
