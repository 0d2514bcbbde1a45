package cli

// This file lists schedules, and shows one.

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell/api"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/internal/ops"
	"github.com/stepwell/stepwell/internal/timetable"
	"github.com/stepwell/stepwell/world"
)

func schedulesListCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the schedules, with their next times",
		Long: `List the schedules: their workflow, their times, the next time, and how many runs they have started. With --json each
schedule is one line, with its next ten times.

` + exitHelp,
		Example: `  stepwell schedules list
  stepwell schedules list --json | jq -r 'select(.paused != null) | .name'`,
		Args: arguments(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withSchedules(c, cmd.Context(), "", func(k *timetable.Keeper) error { return listSchedules(c, cmd.Context(), k.Store) })
		},
	}
	c.jsonFlag(cmd, "write one JSON object per schedule")
	return cmd
}

func listSchedules(c *cli, ctx context.Context, store world.Scheduler) error {
	t := &table{Gap: "  "}
	t.Add(cell{Text: "SCHEDULE", Tone: dim}, cell{Text: "WORKFLOW", Tone: dim}, cell{Text: "TIMES", Tone: dim}, cell{Text: "NEXT", Tone: dim}, cell{Text: "RUNS", Tone: dim, Right: true}, cell{Text: "", Tone: dim})
	for q := (world.ScheduleQuery{Limit: 1_000}); ; {
		page, err := store.Schedules(ctx, q)
		if err != nil {
			return err
		}
		for i := range page {
			s := ops.ScheduleOf(&page[i])
			if c.json {
				if err := c.encoder().Encode(s); err != nil {
					return err
				}
				continue
			}
			next, state := cell{Text: "over"}, scheduleState(c, &s)
			if len(s.Next) > 0 {
				next.Text = s.Next[0].Format(time.RFC3339)
			} else if s.Paused != nil {
				next.Text = "-"
			}
			t.Add(cell{Text: s.Name}, cell{Text: s.Workflow}, cell{Text: s.Words}, next, cell{Text: strconv.Itoa(s.Count), Right: true}, state)
		}
		if len(page) < q.Limit {
			break
		}
		q.After = page[len(page)-1].Name
	}
	switch {
	case c.json:
	case t.Rows() == 1:
		fmt.Fprintf(c.stderr, "no schedules in %s\n", c.place())
	default:
		t.Write(c.stdout, c.style())
	}
	return nil
}

// scheduleState says what keeps a schedule from going on; nothing: it goes on.
func scheduleState(c *cli, s *api.Schedule) cell {
	switch {
	case s.Damage != "":
		return cell{Text: s.Damage, Tone: bad}
	case s.Paused != nil:
		return cell{Text: pausedText(c, s.Paused), Tone: busy}
	case s.Error != "":
		return cell{Text: s.Error, Tone: bad}
	case !s.Waits.IsZero():
		return cell{Text: "waits " + human.Age(c.now().Sub(s.Waits)) + " for the end of " + s.Last.Run, Tone: busy}
	case len(s.Next) > 0 && s.Jitter == "" && c.now().Sub(s.Next[0]) > lateStart:
		return cell{Text: "overdue for " + human.Span(c.now().Sub(s.Next[0])) + ": no worker or server starts its runs", Tone: bad}
	}
	return cell{}
}

func schedulesShowCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show a schedule in words, with its next ten times",
		Long: `Show a schedule: its expressions in words, its next ten times, its last run, how many times had no run and why, and what
you can do.

` + exitHelp,
		Example: `  stepwell schedules show nightly
  stepwell schedules show nightly --json | jq -r '.next[]'`,
		Args:              arguments(1, 1, "NAME"),
		ValidArgsFunction: completeSchedule(c),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withSchedules(c, cmd.Context(), args[0], func(k *timetable.Keeper) error {
				is, err := timetable.Find(cmd.Context(), k.Store, args[0])
				if err != nil {
					return err
				}
				s := ops.ScheduleOf(is)
				if c.json {
					return c.encoder().Encode(s)
				}
				showSchedule(c, &s)
				return nil
			})
		},
	}
	c.jsonFlag(cmd, "write one JSON object")
	return cmd
}

func showSchedule(c *cli, s *api.Schedule) {
	t := &table{Gap: "  ", Wrap: true}
	line := func(name, text string) {
		if text != "" {
			t.Add(cell{Text: name, Tone: dim}, cell{Text: text})
		}
	}
	line("schedule", s.Name)
	if state := scheduleState(c, s); state.Text != "" {
		t.Add(cell{Text: "state", Tone: dim}, state)
	}
	line("workflow", s.Workflow)
	line("times", strings.Join(s.Times, ", "))
	line("that is", s.Words)
	if !s.From.IsZero() {
		line("from", s.From.Format(time.RFC3339))
	}
	if !s.Until.IsZero() {
		line("until", s.Until.Format(time.RFC3339))
	}
	if s.Runs > 0 {
		line("runs", strconv.Itoa(s.Runs)+" at most")
	}
	line("jitter", s.Jitter)
	line("overlap", string(s.Overlap))
	line("catches up", "what is "+s.CatchUp+" old at most")
	if s.PauseOnFailure {
		line("on failure", "it is paused")
	}
	switch {
	case s.Code:
		line("input", "computed by the program")
	case s.Sealed != "":
		line("input", "encrypted with the key "+s.Sealed)
	default:
		line("input", string(s.Input))
	}
	if s.Set != "" {
		line("declared by", fmt.Sprintf("a program, in the set %s, revision %d", s.Set, s.Revision))
	} else {
		line("made by", s.By)
	}
	line("started", human.Count(s.Count, "run"))
	if s.Skipped+s.Missed > 0 {
		line("without a run", fmt.Sprintf("%d skipped, %d missed; the last of them %s", s.Skipped, s.Missed, s.Passed.Format(time.RFC3339)))
	}
	if s.Last != nil {
		if text := s.Last.Run; s.Last.Merged == "" {
			line("last run", text)
		} else {
			line("last start", text+" was merged into run "+s.Last.Merged)
		}
	}
	for i, next := range s.Next {
		name := ""
		if i == 0 {
			name = "next"
		}
		t.Add(cell{Text: name, Tone: dim}, cell{Text: next.Format("Mon 2006-01-02 15:04:05 MST")})
	}
	t.Write(c.stdout, c.style())
	a := &proposal{t: &table{Indent: "  ", Gap: "  ", Wrap: true, Lead: "# "}, command: c.command}
	if s.Paused != nil {
		a.do("resume:", "schedules resume "+s.Name)
	}
	a.note("its runs:", "runs list --attr schedule="+s.Name, "")
	fmt.Fprintln(c.stdout)
	a.t.Write(c.stdout, c.style())
}
