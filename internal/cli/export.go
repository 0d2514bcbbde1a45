package cli

// This file writes the logs of runs, and reads them into another database.

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

func exportCommand(c *cli) *cobra.Command {
	var flags filterFlags
	all, decrypt, values := false, false, false
	cmd := &cobra.Command{
		Use:   "export [RUN]...",
		Short: "Write the logs of runs as JSON, to keep them or to check code against them",
		Long: `Write the logs of runs to standard output as lines of JSON: for each run a header, one line per event, and an end. Name
the runs, or give a filter. stepwell import reads the logs into another database; stepwell check, App.Check and
stepwelltest check today's code against them.

Payloads are written as they are, secrets included. Those of encrypted runs stay encrypted unless you give --decrypt.
Deliveries that wait in a run's inbox are not part of its log. Values over 1 MiB and blobs are stored outside of logs:
to move a run that has any to another database, give --values.

` + exitHelp,
		Example: `  stepwell export wrun_01JD3V7Q5ZJ8K2M4N6P8R0T2V4 > order.jsonl
  stepwell export --status running,pending > production.jsonl
  stepwell export wrun_01JD3V --values | stepwell import --db copy.db`,
		Args: func(cmd *cobra.Command, args []string) error {
			some := all
			for _, name := range []string{"workflow", "status", "since", "until", "input", "attr"} {
				some = some || cmd.Flags().Changed(name)
			}
			switch {
			case some && len(args) > 0:
				return usagef("usage:  stepwell export RUN..., or stepwell export FILTER", "export: you gave runs and a filter; give only one of them")
			case !some && len(args) == 0:
				return usagef("usage:  stepwell export RUN..., or stepwell export FILTER", "export: missing argument; give at least one RUN, a filter, or --all")
			}
			return nil
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, begins string) ([]string, cobra.ShellCompDirective) {
			return c.completeRun(cmd, nil, begins)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := listFilterOf(c, &flags)
			if err != nil {
				return err
			}
			return c.with(cmd.Context(), func(db *database) error {
				kept := bufio.NewWriterSize(c.stdout, 1<<16)
				var out io.Writer = kept // byte by byte, so that a replay finds what was recorded
				if c.terminal {
					out = visibleJSON{kept}
				}
				if len(args) == 0 {
					err = exportFound(cmd.Context(), c, db, f, out, exporting(decrypt, values)...)
				} else {
					err = exportNamed(cmd.Context(), c, db, args, out, exporting(decrypt, values)...)
				}
				return errors.Join(err, kept.Flush())
			})
		},
	}
	flags.add(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "all runs, if you give no filter")
	cmd.Flags().BoolVar(&values, "values", false, "also write values over 1 MiB and blobs, which are stored outside of logs")
	cmd.Flags().BoolVar(&decrypt, "decrypt", false, "write the payloads of encrypted runs in plain text; needs the keys in the environment")
	c.jsonFlag(cmd, "write errors as JSON too")
	return cmd
}

func exporting(decrypt, values bool) (opts []stepwell.ExportOption) {
	if values {
		opts = append(opts, stepwell.WithValues())
	}
	if decrypt {
		opts = append(opts, stepwell.Decrypted())
	}
	return opts
}

func exportNamed(ctx context.Context, c *cli, db *database, args []string, out io.Writer, opts ...stepwell.ExportOption) error {
	p := c.progress("exported", "run")
	for _, arg := range args {
		run, err := c.find(ctx, db, arg)
		if err == nil {
			err = c.explain(db.app.Export(ctx, run, out, opts...), run)
		}
		if err != nil {
			return err
		}
		p.step()
	}
	p.end()
	return nil
}

// exportFound exports what a filter finds. A run that is deleted meanwhile is passed over.
func exportFound(ctx context.Context, c *cli, db *database, f stepwell.ListFilter, out io.Writer, opts ...stepwell.ExportOption) error {
	if err := c.relatives(ctx, db, &f); err != nil {
		return err
	}
	p := c.progress("exported", "run")
	for r, err := range db.app.List(ctx, f) {
		if err != nil {
			return c.explain(err, "")
		}
		switch err := db.app.Export(ctx, r.ID, out, opts...); {
		case errors.Is(err, stepwell.ErrNotFound):
		case err != nil:
			return c.explain(err, r.ID)
		default:
			p.step()
		}
	}
	p.end()
	if p.n == 0 && !c.json {
		fmt.Fprintf(c.stderr, "no runs in %s match\n", c.place())
	}
	return nil
}

// imported is what --json says of each run that was imported, or existed.
type imported struct {
	acted
	Events int    `json:"events"`
	Status string `json:"status"`
	Paused bool   `json:"paused"`
}

func importRunsCommand(c *cli) *cobra.Command {
	var o stepwell.ImportOptions
	skip := false
	cmd := &cobra.Command{
		Use:   "import [FILE|-]",
		Short: "Read the logs of runs into this database",
		Long: `Read logs that stepwell export wrote into this database, as runs with the same IDs. Without FILE, or with -, they come
from standard input. A SQLite file that does not exist is created. Each run is imported completely or not at all.

A run that is not over is paused: the original may still be running, and two of them would do everything twice. To let
it continue here, use stepwell runs resume.

If a run with the same ID exists, the import stops there; the runs before it in the file are imported. With --skip it
is passed over, so that you can repeat an interrupted import. Values in the file are checked against the log before
anything is written; meanwhile those of one run are in a file in TMPDIR.

` + exitHelp,
		Example: `  stepwell import order.jsonl --db copy.db
  stepwell export wrun_01JD3V --db app.db | stepwell import --db copy.db`,
		Args: arguments(0, 1, "FILE or -"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			in, files, err := openHistories(c, args)
			if err != nil {
				return err
			}
			for _, f := range files {
				defer func() { _ = f.Close() }()
			}
			return c.withNew(cmd.Context(), func(db *database) error { return importFrom(cmd.Context(), c, db, in, o, skip) })
		},
	}
	cmd.Flags().BoolVar(&o.Go, "go", false, "let runs that are not over continue at once")
	cmd.Flags().BoolVar(&skip, "skip", false, "skip runs that already exist")
	c.jsonFlag(cmd, "write one JSON object per run")
	return cmd
}

func importFrom(ctx context.Context, c *cli, db *database, in io.Reader, o stepwell.ImportOptions, skip bool) error {
	n := 0
	for h, err := range stepwell.ReadHistories(in) {
		if err != nil {
			return c.explain(err, "")
		}
		n++
		if err := importOne(ctx, c, db, h, o, skip); err != nil {
			return err
		}
	}
	if n == 0 {
		return usagef("give a file that stepwell export wrote", "the file contains no runs")
	}
	return nil
}

func apartOf(e world.Event) bool { return e.Apart != "" }

// importOne imports a run, and says so.
func importOne(ctx context.Context, c *cli, db *database, h *stepwell.History, o stepwell.ImportOptions, skip bool) error {
	is := imported{acted: acted{Run: h.Run, Action: "import", Result: "imported"}, Events: len(h.Events)}
	refused := db.app.Import(ctx, h, o)
	switch {
	case errors.Is(refused, stepwell.ErrWrongKey):
		return &fault{exitFailure, refused, "nothing was written; give the key that it was exported with, or export it with --decrypt"}
	case errors.Is(refused, world.ErrCorrupt): // the file, and no rows
		return &fault{exitFailure, refused, "nothing was written; export it again"}
	case errors.Is(refused, stepwell.ErrInvalid) && !h.HasValues() && slices.ContainsFunc(h.Events, apartOf):
		return &fault{exitUsage, refused, "nothing was written; export it again, with --values:  stepwell export " + h.Run + " --values"}
	}
	if refused != nil && !(skip && errors.Is(refused, stepwell.ErrRunExists)) {
		return c.explain(refused, h.Run)
	}
	row, err := db.app.Get(ctx, h.Run)
	if errors.Is(err, stepwell.ErrNotFound) && refused != nil {
		return c.explain(refused, h.Run) // another run has its key
	}
	if err != nil {
		return err
	}
	is.Status, is.Paused = string(row.Status), row.Queue != nil && row.Queue.Paused
	text := fmt.Sprintf("imported run %s, %d events, %s", is.Run, is.Events, is.Status)
	switch {
	case refused != nil:
		is.Result = "existed"
		text = fmt.Sprintf("run %s already exists", is.Run)
	case is.Paused:
		text += "; it is paused:  " + c.command("runs resume "+is.Run)
	}
	return c.tell(is, text)
}
