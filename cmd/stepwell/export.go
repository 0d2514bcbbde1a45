package main

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
		Short: "Write the logs of runs as JSON, to keep or to hold code against",
		Long: `Write the logs of runs to standard output, as lines of JSON: for each run a head, an event a line, and an end. The runs are named, or those that a
filter finds. stepwell import reads them into another database; stepwell check, App.Check and stepwelltest hold today's code against them.
Payloads are written as they are, secrets included; those of encrypted runs stay encrypted, unless --decrypt is given. What waits in a run's inbox is not
in its log. Values over 1 MiB, and blobs, are kept apart from logs: a run that has any comes to another database only with --values.

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
				return usagef("usage:  stepwell export RUN..., or stepwell export FILTER", "export: runs and a filter; give one of them")
			case !some && len(args) == 0:
				return usagef("usage:  stepwell export RUN..., or stepwell export FILTER", "export: missing argument; it takes one RUN or more, or a filter, or --all")
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
	cmd.Flags().BoolVar(&all, "all", false, "all runs, where no filter is given")
	cmd.Flags().BoolVar(&values, "values", false, "write the values over 1 MiB that are kept apart, and blobs, too")
	cmd.Flags().BoolVar(&decrypt, "decrypt", false, "write the payloads of encrypted runs in plain text; the environment has the keys")
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
		Short: "Read logs of runs into this database",
		Long: `Read logs that stepwell export wrote (- or nothing: from standard input) into this database, as runs with the same IDs; a SQLite file that
is not there is made. A run that is not over is paused: where it came from it may go on, and two of it would do everything twice.
stepwell runs resume lets it go on here. Each run is there as a whole or not at all. An ID that is taken is refused; what stands before it in
the file is imported. With --skip it is passed over, so that an import that was interrupted can be repeated. Values that the file brings are held
against the log before anything is written; until then those of one run are in a file in TMPDIR.

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
	cmd.Flags().BoolVar(&o.Go, "go", false, "let runs that are not over go on at once")
	cmd.Flags().BoolVar(&skip, "skip", false, "pass over runs that are there already")
	c.jsonFlag(cmd, "write one JSON object a run")
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
		return usagef("give what stepwell export wrote", "the file holds no run")
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
	case errors.Is(refused, stepwell.ErrInvalid) && h.Values == nil && slices.ContainsFunc(h.Events, apartOf):
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
		text = fmt.Sprintf("run %s is there already", is.Run)
	case is.Paused:
		text += "; it is paused:  " + c.command("runs resume "+is.Run)
	}
	return c.tell(is, text)
}
