package cli

// This file examines a database.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/internal/operate"
	"github.com/stepwell/stepwell/world"
)

func doctorCommand(c *cli) *cobra.Command {
	var q reading
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Examine a database: find stuck runs, and what makes it slow",
		Long: `Examine a database and say what to do about each problem. It looks for:
  - runs that are due and that no worker takes, lost workers, deliveries that no run reads, workflows that are held
  - streams with gaps, damaged rows, payloads that did not fit and were set aside
  - schedules that are overdue, messages that nobody receives, endpoints that fail
  - queues and subscriptions that are paused or lost, dead letters, publications that go nowhere
  - clocks that differ, missing indexes, dead rows, long transactions, settings that can lose data

It changes nothing unless you give --mend. Each check is printed as soon as it is done.

Exit codes:
  0    no problems; there may be warnings
  1    there are problems, or something could not be examined
  2    the command line is wrong
  3    there is no such database
  130  interrupted`,
		Example: `  stepwell doctor --db postgres://app@db.internal/app
  stepwell doctor --full
  stepwell doctor --mend
  stepwell doctor --json | jq 'select(.health != "good")'`,
		Args: arguments(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.with(cmd.Context(), func(db *database) error { return examine(cmd.Context(), c, db, q) })
		},
	}
	c.jsonFlag(cmd, "write one JSON object per check")
	cmd.Flags().BoolVar(&q.full, "full", false, "read all runs, not only the newest 1,000")
	cmd.Flags().StringVar(&q.from, "from", "", "start from this run; an interrupted examination prints it")
	cmd.Flags().BoolVar(&q.mend, "mend", false, "first repair the rows beside the logs and free what lost workers held; then count runs again")
	return cmd
}

func examine(ctx context.Context, c *cli, db *database, q reading) error {
	able := db.world.Abilities()
	if able.Doctor == nil {
		return usagef(validDB, "%s: this kind of database has no doctor", c.place())
	}
	if q.mend && able.Mender == nil {
		return usagef("run it with --db on the database itself", "--mend: %s cannot be mended", c.place())
	}
	all, bads := 0, 0
	enc := c.encoder()
	var failed error
	show := func(f world.Finding) {
		if all++; f.Health == world.HealthBad {
			bads++
		}
		if !c.json {
			t := &table{Gap: "  ", Least: findingWidths(c.output), Wrap: true}
			addFinding(c.output, t, &f)
			t.Write(c.stdout, c.style())
		} else if err := enc.Encode(f); err != nil && failed == nil {
			failed = err
		}
	}
	if q.mend { // first, as it changes what is counted
		verifyWorld(ctx, c, db.world, q, show)
		found, err := able.Mender.Mend(ctx)
		if err != nil {
			return err
		}
		for _, f := range found {
			show(f)
		}
	}
	still := func() {}
	err := able.Doctor.Examine(ctx, func(check string) { still = c.still("looking at " + check) }, func(f world.Finding) { still(); show(f) })
	if still(); err != nil {
		return err
	}
	if f, ok, err := valuesKeys(ctx, db); err != nil {
		return err
	} else if ok {
		show(f)
	}
	show(examineHolds(ctx, c, db))
	show(examineRetries(ctx, c, db))
	examineQueues(ctx, c, db, show)
	if !q.mend {
		verifyWorld(ctx, c, db.world, q, show)
	}
	if failed != nil {
		return failed
	}
	if bads > 0 {
		return &fault{exitFailure, fmt.Errorf("%d of %d checks are bad", bads, all), ""}
	}
	return nil
}

// valuesKeys holds the keys of values that are kept apart against those of this environment. ok is false where nothing
// can be said. Where there are no keys here, that is a warning: workers may have them.
func valuesKeys(ctx context.Context, db *database) (f world.Finding, ok bool, err error) {
	keys, err := db.world.Values().ValueKeys(ctx)
	if errors.Is(err, world.ErrForbidden) {
		return f, false, nil
	}
	f = world.Finding{Check: "keys of large values", Health: world.HealthGood, Found: "all keys are available"}
	var missing []string
	for _, of := range keys {
		if of.Key != "" && (db.ring == nil || !slices.Contains(db.ring.IDs(), of.Key)) {
			missing = append(missing, fmt.Sprintf("%s of %s", strconv.Quote(of.Key), human.Count(int(of.Runs), "run")))
		}
	}
	if len(missing) > 0 {
		f.Health, f.Found = world.HealthBad, "large values need keys that this environment does not have: "+strings.Join(missing, ", ")
		if db.ring == nil {
			f.Health = world.HealthWarning
		}
		f.Advice = "set STEPWELL_ENCRYPTION_KEYS or STEPWELL_ENCRYPTION_KEY_FILE, here and for all workers"
	}
	return f, db.ring != nil || len(missing) > 0, err
}

// examineHolds tells which workflows are held: somebody may have forgotten it.
func examineHolds(ctx context.Context, c *cli, db *database) world.Finding {
	f := world.Finding{Check: "held workflows", Health: world.HealthGood, Found: "none is held"}
	held, err := operate.Holds(ctx, db.app)
	if err != nil {
		f.Health, f.Found = world.HealthWarning, "could not be examined: "+err.Error()
	}
	var all []string
	for i := range held {
		h := &held[i]
		all = append(all, human.Visible(h.Workflow)+", "+heldText(h)+", since "+human.When(h.Since.In(c.zone), c.now()))
	}
	if len(all) > 0 {
		f.Health, f.Found = world.HealthWarning, "none of their runs begins: "+strings.Join(all[:min(len(all), mostTold)], "; ")
		if n := len(all) - mostTold; n > 0 {
			f.Found += fmt.Sprintf("; and %d more", n)
		}
		f.Advice = "to let them begin:  " + c.command("workflows release "+shellWord(held[0].Workflow))
	}
	return f
}

// manyRetry is how many runs that wait for the next attempt of a step are worth a warning.
const manyRetry = 100

// examineRetries tells of runs that wait for the next attempt of a step: many do where something that they all need is
// away.
func examineRetries(ctx context.Context, c *cli, db *database) world.Finding {
	f := world.Finding{Check: "retries", Health: world.HealthGood}
	page, err := db.app.Page(ctx, stepwell.ListFilter{Status: []world.Status{world.StandsRetrying}}, "", manyRetry)
	switch n := len(page.Runs); {
	case err != nil:
		f.Health, f.Found = world.HealthWarning, "could not be examined: "+err.Error()
	case n >= manyRetry:
		f.Health, f.Found = world.HealthWarning, fmt.Sprintf("%d runs or more wait for the next attempt of a step", n)
		f.Advice = "see why they failed, and how to retry all of them now:  " + c.command("failures")
	case n > 0:
		f.Found = human.Count(n, "run") + " before the next attempt of a step"
	default:
		f.Found = "no run waits for the next attempt of a step"
	}
	return f
}

// findingWidths are the widths of columns that are known before there is anything in them: each finding is shown as it comes.
func findingWidths(o *output) []int {
	const longestCheck = len("runs without a worker")
	if o.style().Symbols {
		return []int{1, longestCheck}
	}
	return []int{len(world.HealthWarning), longestCheck}
}

// addFinding adds a line for what was found, and one for what to do.
func addFinding(o *output, t *table, f *world.Finding) {
	s := o.style()
	mark, tone := s.Mark("✓", "good"), good
	switch f.Health {
	case world.HealthWarning:
		mark, tone = s.Mark("!", "warning"), warm
	case world.HealthBad:
		mark, tone = s.Mark("✗", "bad"), bad
	}
	t.Add(cell{Text: mark, Tone: tone}, cell{Text: f.Check, Tone: bold}, cell{Text: f.Found})
	if f.Advice != "" {
		t.Add(cell{}, cell{}, cell{Text: s.Mark("→ ", "") + f.Advice, Tone: tone})
	}
}
