package cli

// This file is the command that says who holds the places of a key of a limit.

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/internal/ops"
	"github.com/stepwell/stepwell/world"
)

func limitsHoldersCommand(c *cli) *cobra.Command {
	var most int
	cmd := &cobra.Command{
		Use:   "holders LIMIT [KEY]",
		Short: "List what holds the places of a key of a limit",
		Long: `List what holds the places of a key of a limit: runs, steps of runs and messages of queues, of each the oldest first. A
limit without keys needs no KEY. Nothing holds a place of a rate for long: what it let in and has not begun is listed. The
command reads all runs and messages under limits. With --json each holder is one line.

` + exitHelp,
		Example: `  stepwell limits holders import
  stepwell limits holders import acme --json | jq -r .run`,
		Args: arguments(1, 2, "LIMIT [KEY]"), ValidArgsFunction: completeLimit(c),
		RunE: func(cmd *cobra.Command, args []string) error {
			if most < 1 || most > mostKeysShown {
				return usagef("nothing was read", "--limit %d: want 1 to %d", most, mostKeysShown)
			}
			key := ""
			if len(args) > 1 {
				key = args[1]
			}
			return withLimits(cmd.Context(), c, args[0], func(l world.Limiter) error {
				held, err := l.ListHolders(cmd.Context(), args[0], key, most)
				if err != nil {
					return err
				}
				return listHolders(c, args[0], key, held, most)
			})
		},
	}
	cmd.Flags().IntVar(&most, "limit", 100, "at most this `many` holders: 1 to 1000")
	c.jsonFlag(cmd, "write one JSON object per holder")
	return cmd
}

func listHolders(c *cli, limit, key string, held []world.LimitHolder, most int) error {
	t := &table{Gap: "  "}
	t.Add(cell{Text: "HOLDER", Tone: dim}, cell{Text: "IS", Tone: dim})
	for i := range held {
		h := &held[i]
		if c.json {
			if err := c.encoder().Encode(h); err != nil {
				return err
			}
			continue
		}
		t.Add(cell{Text: human.Visible(h.Run + h.Message)}, cell{Text: human.Visible(ops.HolderText(h))})
	}
	switch {
	case c.json:
	case len(held) > 0:
		t.Write(c.stdout, c.style())
		if len(held) == most && most < mostKeysShown {
			fmt.Fprintf(c.stderr, "there may be more: --limit %d\n", mostKeysShown)
		}
	case key == "":
		fmt.Fprintf(c.stderr, "nothing holds a place of limit %s without a key; its keys:  %s\n",
			limit, c.command("limits show "+shellWord(limit)))
	default:
		fmt.Fprintf(c.stderr, "nothing holds a place of key %s of limit %s\n", human.Visible(key), limit)
	}
	return nil
}
