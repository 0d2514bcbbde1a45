package main

// This file ends the sleeps of a run.

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/world"
)

// woken is what --json says of sleeps that were ended.
type woken struct {
	acted
	Sleeps int `json:"sleeps"`
}

// triedAgain says that a blocked run is tried again, and what else can be done where that does not help by itself.
func (c *cli) triedAgain(run string, b *world.Block) string {
	text := "run " + run + " is blocked: it is tried again now"
	if b.Code == world.CodeCorrupt {
		text += "\n  its log is damaged, so that helps only where the rows are back: " + human.Visible(b.Message) + "\n  " + c.aroundDamage(run, b.Seq)
	}
	return text
}

func (c *cli) runsWake() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "wake RUN",
		Short: "End the sleeps of a run now",
		Long: `End the sleeps of a run now, and say how many there were. Waits for events, hooks and other runs are not touched. A blocked run
is tried again at once, also one whose log cannot be read. The request is durable when the command returns; a worker carries it out.

` + exitCodes,
		Example:           `  stepwell runs wake wrun_01JD3V7Q5ZJ8K2M4N6P8R0T2V4`,
		Args:              arguments(1, 1, "RUN"),
		ValidArgsFunction: c.completeRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.act(cmd, args[0], func(db *database, run string) (any, string, error) {
				n, err := db.app.Wake(cmd.Context(), run)
				if row, again := db.app.Get(cmd.Context(), run); err == nil && again == nil && row.Queue != nil && row.Queue.Blocked != nil && !row.Queue.Paused {
					return woken{acted{Run: run, Action: "wake", Result: "woken"}, n}, c.triedAgain(run, row.Queue.Blocked), nil
				}
				if err == nil && n == 0 {
					return woken{acted{Run: run, Action: "wake", Result: "unchanged"}, 0},
						fmt.Sprintf("run %s does not sleep: nothing to end; see what it waits for:  %s", run, c.command("runs show "+run)), nil
				}
				return woken{acted{Run: run, Action: "wake", Result: "woken"}, n}, fmt.Sprintf("ended %s of run %s", human.Count(n, "sleep"), run), err
			})
		},
	}
	c.actFlag(cmd)
	return cmd
}
