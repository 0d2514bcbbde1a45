package cli

// This file writes a value that is kept apart from the log of its run.

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/world"
)

func runsValueCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "value RUN ID",
		Short: "Write an input, an output or a result over 1 MiB, or a blob",
		Long: `Write a value that is stored outside of its run's log to standard output: an input, an output or a result over 1 MiB, as
JSON, or a blob that one of them refers to. RUN is an ID, or the beginning of one; stepwell runs show RUN --full lists
the IDs of values. If a part of the value is missing or damaged, the command fails: do not use what it wrote.

` + exitHelp,
		Example:           `  stepwell runs value wrun_01JD3V7Q5ZJ8K2M4N6P8R0T2V4 valu_01JD3V7Q61QK1ZXW0D8F4T6S2B > report.json`,
		Args:              arguments(2, 2, "RUN and ID"),
		ValidArgsFunction: c.completeRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd.Context(), func(db *database) error {
				run, err := c.find(cmd.Context(), db, args[0])
				if err != nil {
					return err
				}
				value, _, err := db.app.OpenValue(cmd.Context(), run, args[1])
				if errors.Is(err, world.ErrNotFound) {
					known, _ := world.CodeOf(err)
					return &fault{
						code: known.Exit, err: coded{fmt.Errorf("run %s does not refer to value %s", run, human.Visible(args[1])), err},
						next: "see what it refers to:  " + c.command("runs show "+run),
					}
				}
				if err != nil {
					return c.explain(err, run)
				}
				kept := bufio.NewWriterSize(c.stdout, 1<<16)
				var out io.Writer = kept
				if c.terminal {
					out = visibleJSON{kept}
				}
				_, err = io.Copy(out, value)
				return errors.Join(err, kept.Flush())
			})
		},
	}
	c.jsonFlag(cmd, "write errors as JSON too")
	return cmd
}

// valueNote tells of the value, kept apart, that an event refers to.
func valueNote(e *world.Event) string {
	of, ok := world.ReadApart(e.Payload, e.Apart)
	if !ok {
		return "kept apart: " + e.Apart
	}
	return fmt.Sprintf("%s, kept outside of the log: %s", human.Size(int(of.Size)), of.ID)
}
