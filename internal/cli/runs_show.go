package cli

// This file shows one run.

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell/internal/draw"
)

func runsShowCommand(c *cli) *cobra.Command {
	full := false
	cmd := &cobra.Command{
		Use:   "show RUN",
		Short: "Show what happened in a run, and why it does not move",
		Long: `Show what happened in a run, what it waits for, and what you can do. RUN is an ID, the beginning of one, or a key.
Long payloads and long journals are folded; --full shows all of them.
With --json the output is one object: run (its row), why, and journal (its steps and waits).

` + exitHelp,
		Example: `  stepwell runs show wrun_01JD3V7Q5ZJ8K2M4N6P8R0T2V4
  stepwell runs show wrun_01JD3V --full
  stepwell runs show wrun_01JD3V --json | jq .why.text`,
		Args:              arguments(1, 1, "RUN"),
		ValidArgsFunction: c.completeRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd.Context(), func(db *database) error {
				run, err := c.find(cmd.Context(), db, args[0])
				if err != nil {
					return err
				}
				story, err := db.app.Story(cmd.Context(), run, true)
				if err != nil {
					return c.explain(err, run)
				}
				if c.json {
					enc := c.encoder()
					enc.SetIndent("", "  ")
					return enc.Encode(story)
				}
				story.Why.At = story.Why.At.In(c.zone)
				p := &picture{draw.Run{Story: &story, Style: c.style(), Full: full, Command: c.command}}
				var b strings.Builder
				p.draw(&b)
				_, err = c.stdout.Write([]byte(b.String()))
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&full, "full", false, "fold nothing")
	c.jsonFlag(cmd, "write the run, its journal and why as one JSON object")
	return cmd
}
