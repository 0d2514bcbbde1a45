package cli

// This file prints the events of a run's log, and follows them.

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/draw"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/internal/timeline"
	"github.com/stepwell/stepwell/world"
)

func eventsCommand(c *cli) *cobra.Command {
	var id, after string
	var types []string
	follow, ids, limit := false, false, 0
	cmd := &cobra.Command{
		Use:   "events RUN",
		Short: "Print the events of a run's log",
		Long: `Print the events of a run's log, in order. With --json each event is one line, exactly as the log has it.
With --follow the command continues with new events until the run is over. With --limit it stops after that many events;
to read on, give the last one to --after.

` + exitHelp,
		Example: `  stepwell events wrun_01JD3V7Q5ZJ8K2M4N6P8R0T2V4
  stepwell events wrun_01JD3V --type step_failed,step_retrying --ids
  stepwell events wrun_01JD3V --after 120 --limit 100
  stepwell events wrun_01JD3V --follow --json`,
		Args:              arguments(1, 1, "RUN"),
		ValidArgsFunction: c.completeRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			f := stepwell.EventFilter{ID: id}
			for _, t := range types {
				if !slices.Contains(world.EventTypes, world.EventType(t)) {
					return usagef("there are "+typeNames(), "--type %q is not a type of event", t)
				}
				f.Types = append(f.Types, world.EventType(t))
			}
			if limit < 0 {
				return usagef("give a number from 1", "--limit %d", limit)
			}
			return c.with(cmd.Context(), func(db *database) error {
				run, err := c.find(cmd.Context(), db, args[0])
				if err != nil {
					return err
				}
				if after != "" {
					seq, err := world.ParseEvent(run, after)
					if err != nil {
						return usagef("see the numbers of its events:  "+c.command("events "+run), "--after: %w", err)
					}
					f.Cursor = world.Cursor(seq)
				}
				p := &eventPrinter{output: c.output, run: run, ids: ids, names: timeline.Names{}, limit: limit}
				return c.explain(printEvents(cmd.Context(), p, db, f, follow), run)
			})
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&id, "id", "", "only events about this step, wait or hook (correlation `ID`)")
	fl.StringSliceVar(&types, "type", nil, "only events of this `type`; several with commas")
	fl.StringVar(&after, "after", "", "only events after this `event`: its number or its ID")
	fl.IntVar(&limit, "limit", 0, "at most this `many` events (default: all)")
	fl.BoolVar(&ids, "ids", false, "with the ID of each event, evnt_…, in the place of its number")
	fl.BoolVarP(&follow, "follow", "f", false, "continue until the run is over")
	c.jsonFlag(cmd, "write one JSON object per event")
	_ = cmd.RegisterFlagCompletionFunc("type", cobra.FixedCompletions(strings.Split(typeNames(), ", "), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func typeNames() string {
	names := make([]string, len(world.EventTypes))
	for i, t := range world.EventTypes {
		names[i] = string(t)
	}
	return strings.Join(names, ", ")
}

// followPause is the time between looks at a log that another process writes.
const followPause = 100 * time.Millisecond

// eventPage is how many events are read at once.
const eventPage = 1000

func printEvents(ctx context.Context, p *eventPrinter, db *database, f stepwell.EventFilter, follow bool) error {
	for {
		info, err := db.app.Get(ctx, p.run) // before the log is read: what ended it is in the log then
		if err != nil {
			return err
		}
		for {
			q := world.EventQuery{Cursor: f.Cursor, CorrelationID: f.ID, Types: f.Types}
			if p.limit > 0 {
				q.Limit = min(p.limit-p.printed, eventPage)
			}
			page, err := db.app.World().Events(ctx, p.run, q)
			if err != nil {
				return err
			}
			for i := range page.Events {
				if p.limit > 0 && p.printed == p.limit {
					return nil
				}
				if err := p.print(&page.Events[i]); err != nil {
					return err
				}
			}
			if page.Cursor != "" {
				f.Cursor = page.Cursor
			}
			if p.limit > 0 && p.printed == p.limit {
				return nil
			}
			if !page.More {
				break
			}
		}
		if !follow || info.Status.Terminal() {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(followPause):
		}
	}
}

// eventPrinter prints one event a line; it knows the names of what it has seen created.
type eventPrinter struct {
	*output
	run   string
	ids   bool // in the place of numbers
	names timeline.Names
	last  time.Time

	limit, printed int // of events; 0: no limit
}

func (p *eventPrinter) print(e *world.Event) error {
	p.printed++
	if p.json {
		return p.encoder().Encode(world.NameEvents(p.run, []world.Event{*e})[0])
	}
	subject := cmp.Or(p.names.Of(e), e.ID)
	since := ""
	if e.Time.Sub(p.last) >= time.Millisecond && !p.last.IsZero() {
		since = "+" + human.Span(e.Time.Sub(p.last))
	}
	p.last = e.Time
	s := p.style()
	number := fmt.Sprintf("%5d", e.Seq)
	if p.ids {
		number = world.EventID(p.run, e.Seq, e.Time)
	}
	line := fmt.Sprintf("%s  %s  %-12s  %s  %-20s  %s", number, s.Paint(dim, e.Time.In(p.zone).Format("2006-01-02 15:04:05.000")), since,
		s.Paint(eventTones[timeline.EventTone(e.Type)], fmt.Sprintf("%-17s", e.Type)), s.Paint("", subject), s.Paint(dim, eventNote(e, p.zone)))
	_, err := fmt.Fprintln(p.stdout, strings.TrimRight(line, " "))
	return err
}

var eventTones = map[timeline.Tone]tone{timeline.Good: good, timeline.Bad: bad, timeline.Warm: warm, timeline.Busy: busy, timeline.Quiet: dim}

func eventNote(e *world.Event, zone *time.Location) string {
	var parts []string
	say := func(text string) { parts = append(parts, text) }
	for _, d := range timeline.Details(e, draw.NoteWidth, func(t time.Time) string { return t.In(zone).Format("2006-01-02 15:04:05.000") }) {
		say(d.Text)
	}
	if e.Error != nil {
		say(human.Cut(e.Error.Message, draw.NoteWidth))
		if e.Error.Where != "" {
			say(e.Error.Where)
		}
	}
	switch {
	case e.Encrypted != "": // the details say so
	case world.WholeApart(e.Apart) != "":
		say(valueNote(e))
	case len(e.Payload) > 0:
		say(human.Fold(string(e.Payload), draw.NoteWidth))
	}
	return strings.Join(parts, "  ")
}
