package main

// This file does the same to many runs.

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/world"
)

// bulkAct is one thing that can be done to many runs.
type bulkAct struct {
	name, done string
	short      string
	args       cobra.PositionalArgs
	use        string
	status     []world.Status // of the runs that are meant, unless told
	act        func(c *cli, app *stepwell.App, args []string, reason string) (stepwell.Act, error)
}

var live = []world.Status{world.Pending, world.Running}

func bulkActs() []bulkAct {
	none := arguments(0, 0, "no arguments")
	return []bulkAct{
		{"cancel", "cancel requested", "Ask runs to end", none, "cancel", live, func(_ *cli, app *stepwell.App, _ []string, reason string) (stepwell.Act, error) {
			return func(ctx context.Context, r stepwell.RunInfo) error { return app.Cancel(ctx, r.ID, reason) }, nil
		}},
		{"pause", "paused", "Stop runs until they are resumed", none, "pause", live, func(_ *cli, app *stepwell.App, _ []string, reason string) (stepwell.Act, error) {
			return func(ctx context.Context, r stepwell.RunInfo) error { return app.Pause(ctx, r.ID, reason) }, nil
		}},
		{"resume", "resumed", "Let paused runs go on", none, "resume", live, func(_ *cli, app *stepwell.App, _ []string, _ string) (stepwell.Act, error) {
			return func(ctx context.Context, r stepwell.RunInfo) error { return app.Resume(ctx, r.ID) }, nil
		}},
		{"retry", "retried", "Go on from the steps that failed runs, in new runs", none, "retry", []world.Status{world.Failed}, func(_ *cli, app *stepwell.App, _ []string, _ string) (stepwell.Act, error) {
			return func(ctx context.Context, r stepwell.RunInfo) error { _, err := app.Retry(ctx, r.ID); return err }, nil
		}},
		{"signal", "sent", "Send an event to runs", arguments(1, 2, "EVENT and perhaps JSON"), "signal EVENT [JSON|-]", live,
			func(c *cli, app *stepwell.App, args []string, delivery string) (stepwell.Act, error) {
				payload, err := c.payload(args[1:])
				return func(ctx context.Context, r stepwell.RunInfo) error {
					var opts []stepwell.SendOption
					if delivery != "" {
						opts = append(opts, stepwell.DeliveryID(delivery))
					}
					return app.Signal(ctx, r.ID, args[0], payload, opts...)
				}, err
			}},
	}
}

func (c *cli) bulk() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bulk",
		Short: "Cancel, pause, resume, signal and retry many runs, by filter",
		Long: `Cancel, pause, resume, signal and retry the runs that a filter finds. --dry-run counts them and does nothing. A run that refuses stops
nothing; it is told, and the exit code is 7 at the end. It can be stopped at any time and repeated.

` + exitCodes,
		Example: `  stepwell bulk cancel --workflow order --since 2h --dry-run
  stepwell bulk cancel --workflow order --since 2h --reason recalled`,
		Args: known,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },

		SuggestionsMinimumDistance: 2,
	}
	for _, a := range bulkActs() {
		cmd.AddCommand(c.bulkCommand(a))
	}
	return cmd
}

func (c *cli) bulkCommand(a bulkAct) *cobra.Command {
	var flags filterFlags
	var word string // the reason, or the delivery ID
	dry, all := false, false
	cmd := &cobra.Command{
		Use:   a.use,
		Short: a.short,
		Long:  a.short + ": of those that the filter finds, newest first. Without --status it means " + statusWords(a.status) + " runs.\n\n" + exitCodes,
		Example: "  stepwell bulk " + a.use + " --workflow order --since 2h --dry-run\n" +
			"  stepwell bulk " + a.use + " --input customer.id=42",
		Args: a.args,
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := c.listFilter(&flags)
			if err != nil {
				return err
			}
			if len(f.Status) == 0 {
				f.Status = a.status
			}
			if !all && !dry && f.Workflow == "" && f.Since.IsZero() && f.Until.IsZero() && len(f.Input)+len(f.Attributes) == 0 {
				return usagef("give a filter, or --all; count them first with --dry-run", "bulk %s: no filter: that would be all runs", a.name)
			}
			return c.with(cmd.Context(), func(db *database) error {
				if dry {
					return c.bulkCount(cmd.Context(), db, f)
				}
				act, err := a.act(c, db.app, args, word)
				if err != nil {
					return err
				}
				return c.bulkRun(cmd.Context(), db, f, a.done, act)
			})
		},
	}
	flags.add(cmd)
	fl := cmd.Flags()
	fl.BoolVar(&dry, "dry-run", false, "count the runs that are meant, and do nothing")
	fl.BoolVar(&all, "all", false, "all runs, where no filter is given")
	switch a.name {
	case "cancel", "pause":
		fl.StringVar(&word, "reason", "", "`why`, for the log")
	case "signal":
		fl.StringVar(&word, "delivery-id", "", "`ID` of this delivery: repeated, each run gets it once")
	}
	c.jsonFlag(cmd, "write one JSON object a run")
	return cmd
}

func statusWords(all []world.Status) string {
	words := string(all[0])
	for _, s := range all[1:] {
		words += " and " + string(s)
	}
	return words
}

func (c *cli) bulkCount(ctx context.Context, db *database, f stepwell.ListFilter) error {
	n, err := db.app.Count(ctx, f)
	if err != nil {
		return c.explain(err, "")
	}
	if c.json {
		return c.encoder().Encode(map[string]int{"runs": n})
	}
	_, err = fmt.Fprintf(c.stdout, "%s; nothing was done\n", human.Count(n, "run"))
	return err
}

// bulked is a run as --json writes it.
type bulked struct {
	Run      string `json:"run"`
	Workflow string `json:"workflow"`
	Error    string `json:"error,omitempty"`
}

// progressEvery is how many runs are done between two lines about it on a terminal.
const progressEvery = 1000

func (c *cli) bulkRun(ctx context.Context, db *database, f stepwell.ListFilter, done string, act stepwell.Act) error {
	ok, refused := 0, 0
	tell := func() string {
		s := done + ": " + human.Count(ok, "run")
		if refused > 0 {
			s += "; " + human.Count(refused, "run") + " refused"
		}
		return s
	}
	for r, err := range db.app.Bulk(ctx, f, act) {
		if err != nil {
			return errors.Join(err, errors.New(tell()))
		}
		is := bulked{Run: r.Run.ID, Workflow: r.Run.Workflow}
		if ok++; r.Err != nil {
			ok--
			refused++
			is.Error = r.Err.Error()
			fmt.Fprintf(c.stderr, "%v\n", r.Err)
		}
		if c.json {
			if err := c.encoder().Encode(is); err != nil {
				return err
			}
		}
		if c.terminal && (ok+refused)%progressEvery == 0 {
			fmt.Fprintln(c.stderr, tell())
		}
	}
	if !c.json {
		fmt.Fprintln(c.stdout, tell())
	}
	if refused > 0 {
		return &fault{exitPartly, fmt.Errorf("%s refused; what was not is done", human.Count(refused, "run")), "it may be repeated"}
	}
	return nil
}
