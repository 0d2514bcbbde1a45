package cli

// This file lists runs.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/internal/operate"
	"github.com/stepwell/stepwell/internal/timeline"
	"github.com/stepwell/stepwell/world"
)

// listed is a run as --json writes it in lists.
type listed struct {
	stepwell.RunInfo
	Why stepwell.Why `json:"why"`
}

func runsListCommand(c *cli) *cobra.Command {
	var flags filterFlags
	of, again := listOf{limit: 20}, false
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List runs, newest first",
		Long: `List runs, newest first: their status, how often a worker took them, and what they wait for.

--search takes an ID or its beginning, a key, a workflow, or an attribute as NAME=VALUE. --status takes the status of a
run, or its condition: blocked, paused, held, delayed, limited (in line for a limit), queued, working, retrying,
sleeping or waiting. To see which runs still need old code, use --version, --patch or --unpatched with
--status pending,running. Times are like 90s, 5m, 2h or 7d (that long ago), 2026-11-27 or 2026-11-27T09:12:00Z.

With --json each run is one line. With --json --page the output is one object with runs, and a cursor if there are more.
A filter that finds little stops after about 50,000 runs and says how far it got; continue with --cursor.
A run that did not complete and was replaced says so: retried as RUN, and the status of that run ("newest" in JSON).

` + exitHelp,
		Example: `  stepwell runs list
  stepwell runs list --workflow onboard-user --status running,pending
  stepwell runs list --input customer.id=42 --attr city=Ulm
  stepwell runs list --key order-4711
  stepwell runs list --status blocked,retrying --watch
  stepwell runs list --failed-since 2h
  stepwell runs list --search city=Ulm --status blocked,sleeping
  stepwell runs list --workflow order --version 1 --status pending,running --roots
  stepwell runs list --origin wrun_01JD3V7Q5ZJ8K2M4N6P8R0T2V4
  stepwell runs list --since 2h --json | jq -r .id`,
		Args: arguments(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := listFilterOf(c, &flags)
			if err != nil {
				return err
			}
			switch {
			case of.limit < 1:
				return usagef("give a number from 1", "--limit %d", of.limit)
			case of.page && (!c.json || again):
				return usagef("give --json, and no --watch", "--page needs --json")
			}
			if again {
				if err := mayWatch(c); err != nil {
					return err
				}
			}
			return c.with(cmd.Context(), func(db *database) error {
				if again {
					return watch(cmd.Context(), c, func(c *cli) error { return listRuns(cmd.Context(), c, db, f, of) })
				}
				return listRuns(cmd.Context(), c, db, f, of)
			})
		},
	}
	fl := cmd.Flags()
	flags.add(cmd)
	fl.IntVar(&of.limit, "limit", of.limit, "at most this `many` runs")
	fl.BoolVar(&again, "watch", false, "refresh the list every 2 s until you interrupt it")
	fl.StringVar(&of.cursor, "cursor", "", "continue after this `cursor`, where a list stopped looking")
	fl.BoolVar(&of.page, "page", false, "with --json: write one object with runs and cursor, as the REST API does")
	c.jsonFlag(cmd, "write one JSON object per run")
	return cmd
}

func statuses() []string {
	var names []string
	for _, s := range world.StatusWords() {
		names = append(names, string(s))
	}
	return names
}

// filterFlags say which runs are meant.
type filterFlags struct {
	workflow, since, until string
	parent, origin         string
	search, key, prefix    string
	patch, unpatched       string
	failedSince, cause     string
	version                int
	roots                  bool
	status, input, attrs   []string
}

func (f *filterFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.workflow, "workflow", "", "only runs of this workflow (`name`)")
	fl.StringSliceVar(&f.status, "status", nil, "only runs with this `status`: "+strings.Join(statuses(), ", ")+"; several with commas")
	wordFlag(cmd, &f.since, "since", "only runs created at this `time` or later")
	wordFlag(cmd, &f.until, "until", "only runs created before this `time`")
	fl.StringVar(&f.search, "search", "", "only runs that match `TEXT`: an ID or its beginning, a key, a workflow, or an attribute as NAME=VALUE")
	fl.StringVar(&f.key, "key", "", "only runs with this idempotency `key`, or into which its start was merged, and the newest that replaced each")
	fl.StringVar(&f.prefix, "prefix", "", "only runs whose `ID` begins with this")
	fl.IntVar(&f.version, "version", 0, "only runs of this `version`")
	fl.StringVar(&f.patch, "patch", "", "only runs that recorded the patch with this `ID`, and so take its new path")
	fl.StringVar(&f.unpatched, "unpatched", "", "only runs that did not record the patch with this `ID`")
	f.addFailing(cmd)
	fl.BoolVar(&f.roots, "roots", false, "only runs without a parent")
	fl.StringVar(&f.parent, "parent", "", "only children of this `run`")
	fl.StringVar(&f.origin, "origin", "", "only runs made from this `run`: its forks, restarts and retries")
	fl.StringArrayVar(&f.input, "input", nil, "only runs whose input has this value at a path, `PATH=VALUE`; may be repeated")
	fl.StringArrayVar(&f.attrs, "attr", nil, "only runs with this attribute, `NAME=VALUE`; may be repeated")
	_ = cmd.RegisterFlagCompletionFunc("status", cobra.FixedCompletions(statuses(), cobra.ShellCompDirectiveNoFileComp))
}

// addFailing adds the flags that say of what runs fail, and since when.
func (f *filterFlags) addFailing(cmd *cobra.Command) {
	wordFlag(cmd, &f.failedSince, "failed-since", "only runs that failed at this `time` or later, are blocked since then, or retry a step that failed then")
	cmd.Flags().StringVar(&f.cause, "cause", "", "only runs with this cause of failure: its `ID` as failures lists it")
}

func listFilterOf(c *cli, flags *filterFlags) (f stepwell.ListFilter, err error) {
	f.Workflow, f.Parent, f.Origin = flags.workflow, flags.parent, flags.origin
	f.Search, f.Key, f.Version, f.Roots = flags.search, flags.key, flags.version, flags.roots
	f.Prefix, f.Patch, f.Unpatched, f.Cause = strings.TrimRight(flags.prefix, "…"), flags.patch, flags.unpatched, flags.cause
	if f.Version < 0 {
		return f, usagef("give a number from 1", "--version %d", f.Version)
	}
	for flag, run := range map[string]string{"--parent": f.Parent, "--origin": f.Origin} {
		if run == "" {
			continue
		}
		if err := world.CheckRunID(run); err != nil {
			return f, usagef("give the ID of a run, or its beginning", "%s: %w", flag, err)
		}
	}
	var input json.RawMessage
	for _, text := range flags.input {
		path, value, ok := strings.Cut(text, "=")
		if !ok {
			return f, usagef("write PATH=VALUE: --input customer.id=42", "--input %q has no value", text)
		}
		if input, err = operate.BothPatterns(input, operate.Pattern(path, value)); err != nil {
			return f, usagef("", "--input %s: %w", text, err)
		}
		f.Input = input
	}
	for _, text := range flags.attrs {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			return f, usagef("write NAME=VALUE: --attr city=Ulm", "--attr %q has no value", text)
		}
		if _, twice := f.Attributes[name]; twice {
			return f, usagef("", "--attr %s is there twice: a run has only one value of it", name)
		}
		if f.Attributes == nil {
			f.Attributes = stepwell.Match{}
		}
		f.Attributes[name] = operate.Pattern("", value)
	}
	for _, s := range flags.status {
		if !slices.Contains(statuses(), s) {
			return f, usagef("there are "+strings.Join(statuses(), ", "), "--status %q is not a status", s)
		}
		f.Status = append(f.Status, world.Status(s))
	}
	if f.Since, err = momentOf(c, "--since", flags.since); err != nil {
		return f, err
	}
	if f.FailedSince, err = momentOf(c, "--failed-since", flags.failedSince); err != nil {
		return f, err
	}
	f.Until, err = momentOf(c, "--until", flags.until)
	return f, err
}

// momentOf reads a time: so long ago, or a date, or date and time.
func momentOf(c *cli, flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := human.ParseMoment(text, c.now(), c.zone)
	if err != nil {
		return t, usagef(err.Error(), "%s %q is not a time", flag, text)
	}
	return t, world.CheckTime(flag, t)
}

// A list looks at so many pages, each of which looks at a bounded number of runs, and has so many runs a page.
const (
	mostLooks = 50
	pageSize  = 1000
)

// listOf says which part of a list is shown, and how.
type listOf struct {
	cursor string
	limit  int
	page   bool // as one object
}

// runPage is what --page writes.
type runPage struct {
	Runs   []listed `json:"runs"`
	Cursor string   `json:"cursor,omitempty"` // none: these were the last
}

func listRuns(ctx context.Context, c *cli, db *database, f stepwell.ListFilter, of listOf) error {
	cursor, limit := of.cursor, of.limit
	if err := c.relatives(ctx, db, &f); err != nil {
		return err
	}
	stats, err := db.world.Stats(ctx)
	if err != nil {
		return err
	}
	now := stats.Now
	if !c.json {
		now = now.In(c.zone)
	}
	waits, err := operate.WaitsOf(ctx, db.app, &stats)
	if err != nil {
		return err
	}
	runs := []listed{}
	var reached time.Time
	for looks := 0; len(runs) < limit && looks < mostLooks; looks++ {
		page, err := db.app.Page(ctx, f, cursor, min(limit-len(runs), pageSize))
		if errors.Is(err, stepwell.ErrInvalid) { // the cursor, or what is filtered by
			return &fault{exitUsage, err, "see " + c.command("runs list --help")}
		}
		if err != nil {
			return err
		}
		for i, r := range page.Runs {
			runs = append(runs, listed{r, waits.Why(&page.Runs[i], now)})
		}
		if cursor, reached = page.Cursor, page.Reached; cursor == "" {
			break
		}
	}
	if of.page {
		return c.encoder().Encode(runPage{runs, cursor})
	}
	if c.json {
		enc := c.encoder()
		for _, r := range runs {
			if err := enc.Encode(r); err != nil {
				return err
			}
		}
	} else {
		writeRuns(c.output, runs, now)
		retrying := 0
		for _, r := range runs {
			if (&world.Run{Status: r.Status, Queue: r.Queue}).Stands(now) == world.StandsRetrying {
				retrying++
			}
		}
		if retrying > 1 {
			fmt.Fprintf(c.stderr, "see why their steps failed, and how to retry all of them now: %s\n", c.command("failures"))
		}
	}
	switch {
	case len(runs) < limit && cursor != "":
		since := ""
		if !reached.IsZero() {
			since = ", back to " + reached.In(c.zone).Format("2006-01-02 15:04:05")
		}
		fmt.Fprintf(c.stderr, "looked at many runs%s; %d match so far. To continue: the same with --cursor %s\n", since, len(runs), cursor)
	case len(runs) == 0:
		fmt.Fprintf(c.stderr, "no runs in %s match\n", c.place())
	case cursor != "":
		fmt.Fprintf(c.stderr, "there are more: --limit %d, --since, --until\n", limit*5)
	}
	return nil
}

func writeRuns(o *output, runs []listed, now time.Time) {
	if len(runs) == 0 {
		return
	}
	t := &table{Gap: "  ", Spare: []int{5, 4}, Dear: []int{6, 3}} // priority, then claims; key, then age
	t.Add(cell{Text: "RUN", Tone: dim}, cell{Text: "WORKFLOW", Tone: dim}, cell{Text: "STATUS", Tone: dim}, cell{Text: "AGE", Tone: dim, Right: true},
		cell{Text: "CLAIMS", Tone: dim, Right: true}, cell{Text: "PRIO", Tone: dim, Right: true}, cell{Text: "KEY", Tone: dim}, cell{Text: "WAITS FOR", Tone: dim})
	for _, r := range runs {
		name := r.Workflow
		if r.Version > 1 {
			name += " v" + strconv.Itoa(r.Version)
		}
		t.Add(cell{Text: r.ID}, cell{Text: name}, statusCell(&r), cell{Text: human.Age(now.Sub(r.CreatedAt)), Right: true},
			cell{Text: strconv.FormatInt(r.Claims, 10), Right: true}, cell{Text: strconv.Itoa(r.Priority), Right: true}, cell{Text: keyText(o, &r)}, cell{Text: listReason(&r)})
	}
	t.Write(o.stdout, o.style())
}

// keyText is a run's key, and whether the start with the key that is asked for was merged into it.
func keyText(o *output, r *listed) string {
	key := o.style().Short(timeline.Key(r.Key, r.FirstKey), 40)
	switch {
	case !r.Merged:
		return key
	case key == "":
		return "merged"
	}
	return key + ", merged"
}

func statusCell(r *listed) cell {
	tones := map[world.Status]tone{world.Running: busy, world.Completed: good, world.Failed: bad, world.Cancelled: dim}
	out := cell{Text: string(r.Status), Tone: tones[r.Status]}
	switch {
	case r.Damage != "":
		out = cell{Text: "damaged", Tone: bad}
	case r.Why.Kind == stepwell.WhyBlocked:
		out = cell{Text: "blocked", Tone: bad}
	case r.Why.Kind == stepwell.WhyPaused:
		out = cell{Text: "paused", Tone: warm}
	case r.Why.Kind == stepwell.WhyHeld:
		out = cell{Text: "held", Tone: warm}
	case r.Newest != nil && r.Newest.Status == world.Completed: // it is healed
		out.Tone = dim
	}
	return out
}

// listReason begins with the cause, as what is behind it may be cut; how the run stands is a column of its own. It is short where the run is over: nothing,
// or what took its place and what it failed of.
func listReason(r *listed) string {
	switch {
	case r.Damage == "" && r.Why.Kind == stepwell.WhyBlocked && r.Why.Block != nil:
		stands, cause, _ := strings.Cut(human.Line(r.Why.String()), ": ")
		code := r.Why.Block.Code
		return code + ": " + cause + ";" + strings.TrimPrefix(stands, "blocked ("+code+")")
	case r.Damage == "" && r.Why.Kind == stepwell.WhyHeld:
		text := heldText(&stepwell.Held{By: r.Why.By, Note: r.Why.Reason})
		if !r.Why.Since.IsZero() {
			text += "; since " + human.When(r.Why.Since, r.Why.At)
		}
		return human.Line(text)
	case r.Why.Kind != stepwell.WhyOver, r.Damage != "":
		return human.Line(r.Why.String())
	}
	var parts []string
	if r.Newest != nil {
		parts = append(parts, "retried as "+r.Newest.Run+", "+string(r.Newest.Status))
	}
	if r.Why.Error != nil {
		parts = append(parts, human.Line(r.Why.Error.Message))
	}
	return strings.Join(parts, ": ")
}
