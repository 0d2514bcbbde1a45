package cli

// This file lists schedules, and shows one.

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell/api"
	"github.com/stepwell/stepwell/internal/human"
)

func schedulesListCommand(c *cli) *cobra.Command {
	return list(c, aboutSchedules(c), api.ListSchedulesOp, &api.ListSchedules{}, &cobra.Command{
		Use: "list",
		Long: `List the schedules: their workflow, their times, the next time, and how many runs they have started. With --json each
schedule is one line, with its next ten times.`,
		Example: `  stepwell schedules list
  stepwell schedules list --json | jq -r 'select(.paused != null) | .name'`,
	}, heads("SCHEDULE", "WORKFLOW", "TIMES", "NEXT", ">RUNS", ""), func(s *api.Schedule) []cell {
		next := "over"
		if len(s.Next) > 0 {
			next = s.Next[0].Format(time.RFC3339)
		} else if s.Paused != nil {
			next = "-"
		}
		return []cell{{Text: s.Name}, {Text: s.Workflow}, {Text: s.Words}, {Text: next},
			number(s.Count), scheduleState(c, s)}
	}, none(c, "no schedules"))
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
	return show(c, aboutSchedules(c), api.GetScheduleOp, &api.GetSchedule{}, &cobra.Command{
		Use: "show NAME",
		Long: `Show a schedule: its expressions in words, its next ten times, its last run, how many times had no run and why, and what
you can do.`,
		Example: `  stepwell schedules show nightly
  stepwell schedules show nightly --json | jq -r '.next[]'`,
	}, showSchedule)
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
