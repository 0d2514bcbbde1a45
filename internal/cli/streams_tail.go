package cli

// This file follows a stream.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/human"
)

func streamsTailCommand(c *cli) *cobra.Command {
	var from int64
	cmd := &cobra.Command{
		Use:   "tail RUN NAME",
		Short: "Print a stream, and follow it until it is closed or its run is over",
		Long: `Print the chunks of a stream and continue with new ones until the stream is closed or its run is over. Chunks that are
JSON strings are printed as plain text, one after the other, like a program's output; other chunks as JSON, one per line.
When a step is tried again, the chunks of its failed attempt may become void; the command says so on stderr. It also
says which chunks are gone because the run does not keep their segments.

With --json each chunk is one line with its number. To continue later, give --from that number + 1: you miss nothing and
get nothing twice.

` + exitHelp,
		Example: `  stepwell streams tail wrun_01JD3V7Q5ZJ8K2M4N6P8R0T2V4 tokens
  stepwell streams tail wrun_01JD3V tokens --from 120 --json | jq .value`,
		Args:              arguments(2, 2, "RUN NAME"),
		ValidArgsFunction: c.completeRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			if from < 0 {
				return usagef("chunks are numbered from 0", "--from %d is not the number of a chunk", from)
			}
			return c.with(cmd.Context(), func(db *database) error {
				run, err := c.find(cmd.Context(), db, args[0])
				if err != nil {
					return err
				}
				return c.explain(tailStream(cmd.Context(), c, db, run, args[1], from), run)
			})
		},
	}
	cmd.Flags().Int64Var(&from, "from", 0, "the `number` of the first chunk")
	c.jsonFlag(cmd, "write one JSON object per chunk")
	return cmd
}

func tailStream(ctx context.Context, c *cli, db *database, run, name string, from int64) error {
	line := true // at the beginning of one
	for chunk, err := range db.app.ReadStream(ctx, run, name, from) {
		if err != nil {
			if !line {
				fmt.Fprintln(c.stdout)
			}
			var broken *stepwell.StreamError
			if errors.As(err, &broken) {
				return &fault{exitFailure, err, "see the state of the run:  " + c.command("runs show "+run)}
			}
			return err
		}
		if line, err = printChunk(c.output, &chunk, line); err != nil {
			return err
		}
	}
	if !line {
		fmt.Fprintln(c.stdout)
	}
	return nil
}

// printChunk prints a chunk, at the beginning of a line or not, and tells where it left off.
func printChunk(o *output, chunk *stepwell.StreamChunk[json.RawMessage], line bool) (atLine bool, err error) {
	if chunk.Trimmed && !o.json {
		if !line {
			fmt.Fprintln(o.stdout)
			line = true
		}
		fmt.Fprintf(o.stderr, "chunks before number %d are gone: the run does not keep the segments that wrote them\n", chunk.Index)
	}
	var text string
	switch {
	case o.json:
		return true, o.encoder().Encode(chunk)
	case chunk.Reset:
		if !line {
			fmt.Fprintln(o.stdout)
		}
		fmt.Fprintf(o.stderr, "attempt %d starts over: what step %s wrote from chunk %d on is void\n", chunk.Attempt, human.Visible(chunk.Step), chunk.From)
		return true, nil
	case json.Unmarshal(chunk.Value, &text) == nil && chunk.Value[0] == '"':
		if o.terminal {
			text = human.VisibleLines(text)
		}
		_, err = fmt.Fprint(o.stdout, text)
		return strings.HasSuffix(text, "\n") || line && text == "", err
	}
	value := string(chunk.Value) + "\n"
	if !line {
		value = "\n" + value
	}
	_, err = fmt.Fprint(visibleJSON{o.stdout}, value)
	return true, err
}
