package cli

// This file is the group of commands about schedules: it makes them, and acts on them.

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell/api"
	"github.com/stepwell/stepwell/internal/human"
)

func schedulesCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "schedules",
		Short: "List, show, create, pause, trigger, backfill and delete schedules, which start runs",
		Long: `List and show schedules, which start runs of workflows; create and change them, pause and resume them, start one of their
runs now, or the runs of past times. Workers and servers on the database start the runs. See docs/schedules.md.

` + exitHelp,
		Example: `  stepwell schedules create nightly report --time '0 3 * * *' --zone Europe/Berlin
  stepwell schedules show nightly
  stepwell schedules pause nightly --reason holidays`,
		Args:                       known,
		RunE:                       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SuggestionsMinimumDistance: 2,
	}
	cmd.AddCommand(schedulesListCommand(c), schedulesShowCommand(c), schedulesCreateCommand(c), schedulesPauseCommand(c), schedulesResumeCommand(c))
	cmd.AddCommand(schedulesTriggerCommand(c), schedulesBackfillCommand(c), schedulesDeleteCommand(c))
	return cmd
}

// aboutSchedules is what the commands about schedules share.
func aboutSchedules(c *cli) *subject {
	return &subject{
		kind:    "schedule",
		missing: func(string) string { return "see them all:  " + c.command("schedules list") },
		conflict: func(name string) string {
			return "nothing was changed; see it:  " + c.command("schedules show "+shellWord(name))
		},
		complete: completes(c, api.ListSchedulesOp, func(s *api.Schedule) string {
			return s.Name + "\t" + s.Workflow
		}),
	}
}

// momentFlag is a flag with a time: 2026-12-24T18:00:00Z, or a day, which is its midnight in UTC.
func momentFlag(cmd *cobra.Command, into *time.Time, flag, usage string) {
	cmd.Flags().Func(flag, usage, func(text string) (err error) {
		if *into, err = time.Parse(time.RFC3339, text); err != nil {
			*into, err = time.Parse(time.DateOnly, text)
		}
		if err != nil {
			return usagef("", "--%s %q: want 2026-12-24T18:00:00Z, or 2026-12-24", flag, text)
		}
		*into = into.UTC()
		return nil
	})
}

func schedulesCreateCommand(c *cli) *cobra.Command {
	var in api.PutSchedule
	cmd := act(c, aboutSchedules(c), api.PutScheduleOp, &in, &cobra.Command{
		Use: "create NAME WORKFLOW",
		Long: `Create a schedule that starts runs of a workflow, or replace all settings of the one with this name. A --time is a cron
expression of 5 or 6 fields, @daily and the like, "@every 6h", "@every 6h+15m", or "@at 2026-12-24T18:00:00Z"; with
several, each gives times. --overlap says what happens if the last run is not over when the next time comes: skip,
queue-one, queue-all, cancel or allow.`,
		Example: `  stepwell schedules create nightly report --time '0 3 * * *' --zone Europe/Berlin --input '{"kind":"all"}'
  stepwell schedules create poll fetch --time '@every 5m' --overlap queue-one --jitter 30s`,
		Args:   arguments(2, 2, "NAME and WORKFLOW"),
		PreRun: func(_ *cobra.Command, args []string) { in.Workflow = args[1] },
	}, "made", func(out *api.Schedule, _ *actedOn) string {
		text := "made the schedule " + in.Schedule
		if len(out.Next) > 0 {
			text += ", whose next time is " + out.Next[0].UTC().Format(time.RFC3339)
		}
		return text
	})
	cmd.Flags().StringArrayVar(&in.Times, "time", nil,
		"`expression` for its times; may be repeated")
	cmd.Flags().StringVar(&in.Zone, "zone", "", "IANA time `zone` of the expressions (default UTC)")
	momentFlag(cmd, &in.From, "from", "no run before this `time`")
	momentFlag(cmd, &in.Until, "until", "no run after this `time`")
	cmd.Flags().IntVar(&in.Runs, "runs", 0, "start at most this `number` of runs; 0 for no limit")
	durationFlag(cmd, &in.Jitter, "jitter",
		"delay each start by at `most` this long, by a hash of name and time")
	durationFlag(cmd, &in.CatchUp, "catch-up",
		"how `old` a missed time may be and still get its run (default 1d)")
	wordFlag(cmd, (*string)(&in.Overlap), "overlap",
		"if the last run is not over at the next time, a `word` for what to do (default skip)")
	cmd.Flags().BoolVar(&in.PauseOnFailure, "pause-on-failure", false,
		"pause it if its last run failed")
	rawFlag(cmd, &in.Input, "input", "`JSON` input of each run", `{"kind":"all"}`)
	cmd.Flags().IntVar(&in.Version, "version", 0,
		"`version` of the workflow (default: the highest that a live worker has)")
	return cmd
}

func schedulesPauseCommand(c *cli) *cobra.Command {
	var in api.PauseSchedule
	cmd := act(c, aboutSchedules(c), api.PauseScheduleOp, &in, &cobra.Command{
		Use:     "pause NAME",
		Long:    `Stop a schedule from starting runs until you resume it, and record who asked for that, and why. Its current runs continue.`,
		Example: `  stepwell schedules pause nightly --reason holidays`,
	}, "paused", nil)
	cmd.Flags().StringVar(&in.Reason, "reason", "", "the `reason`, for people")
	return cmd
}

func schedulesResumeCommand(c *cli) *cobra.Command {
	return act(c, aboutSchedules(c), api.ResumeScheduleOp, &api.ResumeSchedule{}, &cobra.Command{
		Use:     "resume NAME",
		Long:    `Resume a schedule from its next time. The times that it missed get no runs, unless you use schedules backfill.`,
		Example: `  stepwell schedules resume nightly`,
	}, "resumed", nil)
}

func schedulesTriggerCommand(c *cli) *cobra.Command {
	var in api.TriggerSchedule
	cmd := act(c, aboutSchedules(c), api.TriggerScheduleOp, &in, &cobra.Command{
		Use:     "trigger NAME",
		Long:    `Start one run of a schedule now, in addition to its times. It ignores --overlap, and works while the schedule is paused.`,
		Example: `  stepwell schedules trigger nightly`,
	}, "triggered", func(out *api.TriggeredSchedule, is *actedOn) string {
		is.Run = out.Run
		return "started " + out.Run
	})
	rawFlag(cmd, &in.Input, "input", "`JSON` input instead of the schedule's", `{"kind":"all"}`)
	return cmd
}

func schedulesBackfillCommand(c *cli) *cobra.Command {
	var in api.BackfillSchedule
	cmd := act(c, aboutSchedules(c), api.BackfillScheduleOp, &in, &cobra.Command{
		Use: "backfill NAME",
		Long: `Start the runs of all past times of a schedule from one to another, both included, that have none. They start at once,
whatever --overlap says, 1,000 at most. If you repeat it, it starts nothing more.`,
		Example: `  stepwell schedules backfill nightly --from 2026-11-01 --until 2026-11-08`,
	}, "backfilled", func(out *api.BackfilledSchedule, is *actedOn) string {
		is.Started, is.Existed = out.Started, out.Existed
		runs := human.Count(len(out.Started), "run")
		return fmt.Sprintf("started %s of %s; %d existed already", runs, in.Schedule, len(out.Existed))
	})
	momentFlag(cmd, &in.From, "from", "the first `time`")
	momentFlag(cmd, &in.Until, "until", "the last `time`")
	return cmd
}

func schedulesDeleteCommand(c *cli) *cobra.Command {
	return act(c, aboutSchedules(c), api.DeleteScheduleOp, &api.DeleteSchedule{}, &cobra.Command{
		Use:     "delete NAME",
		Long:    `Delete a schedule. Its runs stay. One that a program declares is made again when that starts: pause it instead.`,
		Example: `  stepwell schedules delete nightly`,
	}, "deleted", nil)
}
