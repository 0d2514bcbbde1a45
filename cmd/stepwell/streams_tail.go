package main

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
		Short: "Print a stream, and go on until it is closed or its run is over",
		Long: `Print the chunks of a stream and go on with what is written, until the stream is closed or its run is over. Chunks that are JSON strings are
printed as their text, one behind the other, as a program's output would be; all others as JSON, a line each. When a step is tried again, what it had
written may become void: that is said on stderr, and so is what is gone with segments that the run does not keep.

With --json each chunk is one line, with its number: --from that number + 1 goes on behind it, and nothing is missed and nothing comes twice.

` + exitHelp,
		Example: `  stepwell streams tail wrun_01JD3V7Q5ZJ8K2M4N6P8R0T2V4 tokens
  stepwell streams tail wrun_01JD3V tokens --from 120 --json | jq .value`,
		Args:              arguments(2, 2, "RUN NAME"),
		ValidArgsFunction: c.completeRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			if from < 0 {
				return usagef("chunks are numbered from 0", "--from %d is no number of a chunk", from)
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
	c.jsonFlag(cmd, "write one JSON object a chunk")
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
				return &fault{exitFailure, err, "see how the run fares:  " + c.command("runs show "+run)}
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
		fmt.Fprintf(o.stderr, "the run does not keep the segments that wrote what was before chunk %d\n", chunk.Index)
	}
	var text string
	switch {
	case o.json:
		return true, o.encoder().Encode(chunk)
	case chunk.Reset:
		if !line {
			fmt.Fprintln(o.stdout)
		}
		fmt.Fprintf(o.stderr, "attempt %d begins anew: what step %s wrote from chunk %d on is void\n", chunk.Attempt, human.Visible(chunk.Step), chunk.From)
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
