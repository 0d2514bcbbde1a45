package cli

// This file is the group of commands about streams, and the list of those of a run.

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/human"
)

func streamsCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "streams",
		Short: "List the streams of a run, and follow one",
		Long: `List the streams of a run, and follow one. A stream is output that a run produces while it works: its steps write numbered chunks to it.

` + exitHelp,
		Example: `  stepwell streams list RUN
  stepwell streams tail RUN tokens`,
		Args:                       known,
		RunE:                       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SuggestionsMinimumDistance: 2,
	}
	cmd.AddCommand(streamsListCommand(c), streamsTailCommand(c))
	return cmd
}

func streamsListCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list RUN",
		Short: "List the streams of a run",
		Long: `List the streams of a run: name, number of the next chunk, and whether it is closed. With --json each stream is one line.

` + exitHelp,
		Example: `  stepwell streams list wrun_01JD3V7Q5ZJ8K2M4N6P8R0T2V4
  stepwell streams list wrun_01JD3V --json | jq -r .name`,
		Args:              arguments(1, 1, "RUN"),
		ValidArgsFunction: c.completeRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd.Context(), func(db *database) error {
				run, err := c.find(cmd.Context(), db, args[0])
				if err != nil {
					return err
				}
				return c.explain(listStreams(cmd.Context(), c, db, run), run)
			})
		},
	}
	c.jsonFlag(cmd, "write one JSON object per stream")
	return cmd
}

func listStreams(ctx context.Context, c *cli, db *database, run string) error {
	list, err := db.app.Streams(ctx, run)
	if err != nil {
		return err
	}
	if c.json {
		enc := c.encoder()
		for i := range list {
			if err := enc.Encode(list[i]); err != nil {
				return err
			}
		}
		return nil
	}
	if len(list) == 0 {
		fmt.Fprintf(c.stderr, "run %s has written to no stream\n", run)
		return nil
	}
	writeStreams(c.output, list)
	return nil
}

func writeStreams(o *output, list []stepwell.StreamInfo) {
	t := &table{Gap: "  "}
	t.Add(cell{Text: "STREAM", Tone: dim}, cell{Text: "NEXT", Tone: dim, Right: true}, cell{Text: "AGE", Tone: dim, Right: true}, cell{Text: "STATE", Tone: dim})
	for _, s := range list {
		state := cell{Text: "open", Tone: busy}
		switch {
		case s.Closed == "error":
			state = cell{Text: "closed with an error", Tone: bad}
		case s.Closed != "":
			state = cell{Text: "closed", Tone: good}
		}
		t.Add(cell{Text: human.Visible(s.Name)}, cell{Text: strconv.FormatInt(s.Next, 10), Right: true},
			cell{Text: human.Age(o.now().Sub(s.At)), Right: true}, state)
	}
	t.Write(o.stdout, o.style())
}
