package main

// This file writes the logs of runs, and reads them into another database.

import (
	"bufio"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell"
)

func (c *cli) export() *cobra.Command {
	return &cobra.Command{
		Use:   "export RUN...",
		Short: "Write the logs of runs as JSON, to keep or to hold code against",
		Long: `Write the logs of runs to standard output, as lines of JSON: for each run a head, an event a line, and an end. stepwell import reads
them into another database; App.Check and stepwelltest hold today's code against them, without a database. Payloads are written as they
are, secrets included. What waits in a run's inbox is not in its log.

` + exitCodes,
		Example: `  stepwell export wrun_01JD3V7Q5ZJ8K2M4N6P8R0T2V4 > order.jsonl
  stepwell runs list --status running --json | jq -r .id | xargs stepwell export > production.jsonl`,
		Args:              arguments(1, 100_000, "one RUN or more"),
		ValidArgsFunction: c.completeRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd.Context(), func(db *database) error {
				out := bufio.NewWriterSize(c.stdout, 1<<16)
				for _, arg := range args {
					run, err := c.find(cmd.Context(), db, arg)
					if err == nil {
						err = c.explain(db.app.Export(cmd.Context(), run, out), run)
					}
					if err != nil {
						return err
					}
				}
				return out.Flush()
			})
		},
	}
}

// imported is what --json says of each run that was imported.
type imported struct {
	Run    string `json:"run"`
	Events int    `json:"events"`
	Status string `json:"status"`
	Paused bool   `json:"paused"`
}

func (c *cli) importRuns() *cobra.Command {
	var o stepwell.ImportOptions
	cmd := &cobra.Command{
		Use:   "import [FILE|-]",
		Short: "Read logs of runs into this database",
		Long: `Read logs that stepwell export wrote (- or nothing: from standard input) into this database, as runs with the same IDs; a SQLite file that
is not there is made. A run that is not
over is paused: where it came from it may go on, and two of it would do everything twice. stepwell runs resume lets it go on here. An ID
that is taken is refused; what stands before it in the file is imported.

` + exitCodes,
		Example: `  stepwell import order.jsonl --db copy.db
  stepwell export wrun_01JD3V --db app.db | stepwell import --db copy.db`,
		Args: arguments(0, 1, "FILE or -"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			in := c.stdin
			if len(args) == 1 && args[0] != "-" {
				f, err := os.Open(args[0])
				if err != nil {
					return usagef("give the path of a file that stepwell export wrote", "%w", err)
				}
				defer func() { _ = f.Close() }()
				in = f
			}
			return c.withNew(cmd.Context(), func(db *database) error { return c.importFrom(cmd, db, in, o) })
		},
	}
	cmd.Flags().BoolVar(&o.Go, "go", false, "let runs that are not over go on at once")
	c.jsonFlag(cmd, "write one JSON object a run")
	return cmd
}

func (c *cli) importFrom(cmd *cobra.Command, db *database, in io.Reader, o stepwell.ImportOptions) error {
	n := 0
	for h, err := range stepwell.ReadHistories(in) {
		if err != nil {
			return c.explain(err, "")
		}
		if err := db.app.Import(cmd.Context(), h, o); err != nil {
			return c.explain(err, h.Run)
		}
		n++
		row, err := db.app.Get(cmd.Context(), h.Run)
		if err != nil {
			return err
		}
		is := imported{Run: h.Run, Events: len(h.Events), Status: string(row.Status), Paused: row.Queue != nil && row.Queue.Paused}
		switch {
		case c.json:
			err = c.encoder().Encode(is)
		case is.Paused:
			_, err = fmt.Fprintf(c.stdout, "imported run %s, %d events, %s; it is paused:  %s\n", is.Run, is.Events, is.Status, c.command("runs resume "+is.Run))
		default:
			_, err = fmt.Fprintf(c.stdout, "imported run %s, %d events, %s\n", is.Run, is.Events, is.Status)
		}
		if err != nil {
			return err
		}
	}
	if n == 0 {
		return usagef("give what stepwell export wrote", "the file holds no run")
	}
	return nil
}
