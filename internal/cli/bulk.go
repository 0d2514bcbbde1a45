package cli

// This file holds the commands that do the same to many runs.

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/internal/operate"
	"github.com/stepwell/stepwell/world"
)

func bulkCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bulk",
		Short: "Cancel, pause, resume, wake, signal and retry many runs, by filter",
		Long: `Cancel, pause, resume, wake, signal and retry the runs that a filter finds. With --dry-run you only count them, and see how many
would be refused, and why. Give that
count to --expect, and the command acts only if the filter still finds exactly that many runs.

If a run refuses, the others continue; you see how many refused and why, with --json each of them, and the exit code is 7. You can interrupt the command
at any time (Ctrl-C): it prints how far it got and how to continue. Running it again is safe.

` + exitHelp,
		Example: `  stepwell bulk cancel --workflow order --since 2h --dry-run
  stepwell bulk cancel --workflow order --since 2h --reason recalled`,
		Args: known,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },

		SuggestionsMinimumDistance: 2,
	}
	for _, a := range bulkActs() {
		cmd.AddCommand(bulkActCommand(c, a))
	}
	return cmd
}

// bulkFlags are how a bulk command is called.
type bulkFlags struct {
	filterFlags
	word     string // the reason, or the delivery ID
	dry, all bool
	watch    bool
	parallel int
	expect   int // that the filter is to find; -1: however many
	wake     wakeFlags
}

func (f *bulkFlags) add(cmd *cobra.Command, a *bulkAct) {
	f.filterFlags.add(cmd)
	fl := cmd.Flags()
	fl.BoolVar(&f.dry, "dry-run", false, "count the matching runs, and those that would be refused, and change nothing")
	fl.IntVar(&f.expect, "expect", 0, "act only if the filter finds exactly this `many` runs, the count that --dry-run printed")
	fl.BoolVar(&f.all, "all", false, "all runs, if you give no filter")
	fl.IntVar(&f.parallel, "parallel", 32, "how `many` runs to act on at once; they share the transactions of the database")
	fl.BoolVar(&f.watch, "progress", false, "print progress on standard error; always on if that is a terminal")
	switch a.Name {
	case "cancel", "pause":
		fl.StringVar(&f.word, "reason", "", "the `reason`, kept in the log")
	case "wake":
		f.wake.add(cmd)
	case "signal":
		fl.StringVar(&f.word, "delivery-id", "", "`ID` of this delivery: with the same ID, each run gets it only once (default a new one)")
	}
}

// words are the flags as they mean the same later: times are moments, and a delivery is the same one.
func (f *bulkFlags) words(a *bulkAct, l *stepwell.ListFilter) (words []string) {
	put := func(flag, value string) {
		if value != "" {
			words = append(words, "--"+flag, shellWord(value))
		}
	}
	moment := func(flag string, t time.Time) {
		if !t.IsZero() {
			put(flag, t.UTC().Format(time.RFC3339Nano))
		}
	}
	put("workflow", f.workflow)
	put("status", strings.Join(f.status, ","))
	moment("since", l.Since)
	moment("until", l.Until)
	put("search", f.search)
	put("key", f.key)
	put("prefix", f.prefix)
	if f.version != 0 {
		put("version", strconv.Itoa(f.version))
	}
	put("patch", f.patch)
	put("unpatched", f.unpatched)
	moment("failed-since", l.FailedSince)
	put("cause", f.cause)
	if f.roots {
		words = append(words, "--roots")
	}
	put("parent", l.Parent)
	put("origin", l.Origin)
	for _, in := range f.input {
		put("input", in)
	}
	for _, attr := range f.attrs {
		put("attr", attr)
	}
	if f.all {
		words = append(words, "--all")
	}
	if a.Name == "signal" {
		put("delivery-id", f.word)
	} else {
		put("reason", f.word)
	}
	for _, what := range f.wake.what() {
		words = append(words, "--"+string(what))
	}
	return words
}

func bulkActCommand(c *cli, a bulkAct) *cobra.Command {
	var flags bulkFlags
	means, example := statusWords(a.Status), ""
	if a.Name == "wake" {
		means += " runs, and with --starts pending"
		example = "  stepwell bulk wake --workflow order --retries\n"
	}
	cmd := &cobra.Command{
		Use:   a.use,
		Short: a.short,
		Long:  a.short + ". The filter selects the runs, newest first. Without --status it selects " + means + " runs." + a.more + "\n\n" + exitHelp,
		Example: example + "  stepwell bulk " + a.use + " --workflow order --since 2h --dry-run\n" +
			"  stepwell bulk " + a.use + " --input customer.id=42",
		Args: a.args,
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := listFilterOf(c, &flags.filterFlags)
			if err != nil {
				return err
			}
			if len(f.Status) == 0 {
				f.Status = a.Means(&operate.Words{Wake: flags.wake.what()})
			}
			expects := cmd.Flags().Changed("expect")
			if !expects {
				flags.expect = -1
			}
			switch {
			case flags.parallel < 1:
				return usagef("give a number from 1", "--parallel %d", flags.parallel)
			case expects && flags.expect < 0:
				return usagef("give the number that --dry-run printed", "--expect %d", flags.expect)
			case !flags.all && !flags.dry && f.Workflow == "" && f.Parent == "" && f.Origin == "" && f.Since.IsZero() && f.Until.IsZero() && f.Input == nil && len(f.Attributes) == 0 &&
				f.Search == "" && f.Key == "" && f.Prefix == "" && f.Version == 0 && f.Patch == "" && f.Unpatched == "" && f.FailedSince.IsZero() && f.Cause == "" && !f.Roots:
				return usagef("give a filter, or --all; count them first with --dry-run", "bulk %s: no filter, so it would act on all runs", a.Name)
			case a.Name == "signal" && flags.word == "":
				flags.word = world.NewID("dlvr", c.now()) // so that it can be repeated
			}
			return c.with(cmd.Context(), func(db *database) error {
				if err := c.relatives(cmd.Context(), db, &f); err != nil {
					return err
				}
				restart := c.command("bulk restart " + strings.Join(flags.words(&a, &f), " "))
				if flags.dry {
					would := a.Would(db.app, operate.Words{Wake: flags.wake.what()})
					return bulkCount(cmd.Context(), c, db, f, would, flags.parallel, &tally{bulkAct: &a, restart: restart})
				}
				words, err := a.words(c, args, &flags)
				if err == nil && expects {
					err = expected(cmd.Context(), c, db, f, flags.expect)
				}
				if err != nil {
					return err
				}
				again := append([]string{"bulk", a.Name}, args...)
				for i := range again {
					again[i] = shellWord(again[i])
				}
				return bulkRun(cmd.Context(), c, db, f, a.On(db.app, words), &flags, &tally{bulkAct: &a, restart: restart, again: c.command(strings.Join(append(again, flags.words(&a, &f)...), " "))})
			})
		},
	}
	flags.add(cmd, &a)
	c.jsonFlag(cmd, "write one JSON object per run")
	return cmd
}

func statusWords(all []world.Status) string {
	words := string(all[0])
	for _, s := range all[1:] {
		words += " and " + string(s)
	}
	return words
}

// expected refuses a filter that does not find as many runs as were expected.
func expected(ctx context.Context, c *cli, db *database, f stepwell.ListFilter, expect int) error {
	n, err := db.app.Count(ctx, f)
	switch {
	case err != nil:
		return c.explain(err, "")
	case n != expect:
		return &fault{exitUsage, fmt.Errorf("the filter now finds %s instead of %d", human.Count(n, "run"), expect), "nothing was changed; see which runs they are, with --dry-run or runs list"}
	}
	return nil
}

// bulkCount says what would be done: each run is asked, as the act itself would ask it.
func bulkCount(ctx context.Context, c *cli, db *database, f stepwell.ListFilter, would stepwell.Act, parallel int, t *tally) error {
	for r, err := range db.app.Bulk(ctx, f, would, stepwell.Parallel(parallel)) {
		if err != nil {
			return c.explain(err, "")
		}
		t.meet(&r)
	}
	n := t.ok + t.already + t.refused
	if c.json {
		return c.encoder().Encode(foreseen{n, t.ok, t.already, t.refused, t.refusals})
	}
	fmt.Fprintf(c.stdout, "%s; nothing was changed\n", human.Count(n, "run"))
	if t.already+t.refused > 0 {
		fmt.Fprintf(c.stdout, "to do: %s; so already: %d; would be refused: %d\n", human.Count(t.ok, "run"), t.already, t.refused)
	}
	t.reasons(c.stdout)
	return nil
}

// foreseen is what --dry-run writes with --json.
type foreseen struct {
	Runs      int              `json:"runs"`  // that the filter finds
	Would     int              `json:"would"` // that would be acted on
	Unchanged int              `json:"unchanged"`
	Refused   int              `json:"refused"`
	Refusals  operate.Refusals `json:"refusals,omitempty"`
}
