package cli

// This file is the group of commands about schedules, and what they share.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/internal/timetable"
	"github.com/stepwell/stepwell/world"
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

// withSchedules opens the schedules of the database for f. name is the schedule that the command is about; "": none.
func withSchedules(c *cli, ctx context.Context, name string, f func(k *timetable.Keeper) error) error {
	return c.with(ctx, func(db *database) error {
		return explainSchedule(c.target, f(kit.AppOf(db.app).Timetable), name)
	})
}

// explainSchedule says what went wrong with a schedule, and what next.
func explainSchedule(t *target, err error, name string) error {
	var f *fault
	switch {
	case err == nil || errors.As(err, &f):
		return err
	case errors.Is(err, stepwell.ErrNotFound):
		return &fault{exitNotFound, coded{fmt.Errorf("there is no schedule %s in %s", human.Visible(name), t.place()), err}, "see them all:  " + t.command("schedules list")}
	case errors.Is(err, world.ErrConflict):
		return &fault{exitFailure, err, "nothing was changed; see it:  " + t.command("schedules show "+shellWord(name))}
	case errors.Is(err, world.ErrInvalid), errors.Is(err, world.ErrTooLarge):
		return &fault{exitUsage, err, "nothing was changed"}
	}
	return err
}

// completeSchedule offers schedules for the first argument.
func completeSchedule(c *cli) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begins string) (names []string, _ cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		// A shell has no place for an error.
		_ = withSchedules(c, cmd.Context(), "", func(k *timetable.Keeper) error {
			behind := ""
			if begins != "" {
				behind = begins[:len(begins)-1] + string(begins[len(begins)-1]-1) + "~"
			}
			all, err := k.Store.Schedules(cmd.Context(), world.ScheduleQuery{After: behind, Limit: 1_000})
			for _, s := range all {
				if strings.HasPrefix(s.Name, begins) && len(names) < mostCompleted {
					names = append(names, s.Name+"\t"+s.Says.Workflow)
				}
			}
			return err
		})
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// scheduleActed is what --json says of something that was done to a schedule.
type scheduleActed struct {
	acted
	Schedule string   `json:"schedule"`
	Run      string   `json:"run,omitempty"`     // that was started
	Started  []string `json:"started,omitempty"` // runs of past times
	Existed  []string `json:"existed,omitempty"` // runs of past times that had one
}

// scheduleCommand is a command that does one thing to a schedule; f says what was done.
func scheduleCommand(c *cli, cmd *cobra.Command, f func(ctx context.Context, k *timetable.Keeper, name string) (is scheduleActed, text string, err error)) *cobra.Command {
	action := cmd.Use
	cmd.Use += " NAME"
	cmd.Long += "\n\n" + exitHelp
	cmd.Args, cmd.ValidArgsFunction = arguments(1, 1, "NAME"), completeSchedule(c)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return withSchedules(c, cmd.Context(), args[0], func(k *timetable.Keeper) error {
			is, text, err := f(cmd.Context(), k, args[0])
			if err != nil {
				return err
			}
			is.Action, is.Schedule = action, args[0]
			return c.tell(is, text)
		})
	}
	c.actFlag(cmd)
	return cmd
}

func didSchedule(result string) scheduleActed { return scheduleActed{acted: acted{Result: result}} }

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
	s := world.Schedule{}
	x := &s.Says
	var overlap, input string
	cmd := &cobra.Command{
		Use:   "create NAME WORKFLOW",
		Short: "Create a schedule, or change its settings",
		Long: `Create a schedule that starts runs of a workflow, or replace all settings of the one with this name. A --time is a cron
expression of 5 or 6 fields, @daily and the like, "@every 6h", "@every 6h+15m", or "@at 2026-12-24T18:00:00Z"; with
several, each gives times. --overlap says what happens if the last run is not over when the next time comes: skip,
queue-one, queue-all, cancel or allow.

` + exitHelp,
		Example: `  stepwell schedules create nightly report --time '0 3 * * *' --zone Europe/Berlin --input '{"kind":"all"}'
  stepwell schedules create poll fetch --time '@every 5m' --overlap queue-one --jitter 30s`,
		Args: arguments(2, 2, "NAME and WORKFLOW"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s.Name, x.Workflow, x.Overlap = args[0], args[1], world.Overlap(overlap)
			s.Made = world.Provenance{By: c.who, At: c.now().UTC()}
			if input != "" {
				if err := checkJSON("--input", []byte(input), `quote it for the shell: '{"kind":"all"}'`); err != nil {
					return err
				}
				x.Input = json.RawMessage(input)
			}
			return withSchedules(c, cmd.Context(), s.Name, func(k *timetable.Keeper) error {
				is, err := timetable.Put(cmd.Context(), k.Store, s)
				if err != nil {
					return err
				}
				text := "made the schedule " + s.Name
				if !is.Is.Next.IsZero() {
					text += ", whose next time is " + is.Is.Next.Format(time.RFC3339)
				}
				return c.tell(scheduleActed{acted: acted{Action: "create", Result: "made"}, Schedule: s.Name}, text)
			})
		},
	}
	cmd.Flags().StringArrayVar(&x.Times, "time", nil, "`expression` for its times; may be repeated")
	cmd.Flags().StringVar(&x.Zone, "zone", "", "IANA time `zone` of the expressions (default UTC)")
	momentFlag(cmd, &x.From, "from", "no run before this `time`")
	momentFlag(cmd, &x.Until, "until", "no run after this `time`")
	cmd.Flags().IntVar(&x.Runs, "runs", 0, "start at most this `number` of runs; 0 for no limit")
	spanFlag(cmd, func(d time.Duration) { x.Jitter = d }, "jitter", "delay each start by at `most` this long, by a hash of name and time")
	spanFlag(cmd, func(d time.Duration) { x.CatchUp = d }, "catch-up", "how `old` a missed time may be and still get its run (default 1d)")
	wordFlag(cmd, &overlap, "overlap", "if the last run is not over at the next time, a `word` for what to do (default skip)")
	cmd.Flags().BoolVar(&x.PauseOnFailure, "pause-on-failure", false, "pause it if its last run failed")
	cmd.Flags().StringVar(&input, "input", "", "`JSON` input of each run")
	cmd.Flags().IntVar(&x.Version, "version", 0, "`version` of the workflow (default: the highest that a live worker has)")
	c.actFlag(cmd)
	return cmd
}

func schedulesPauseCommand(c *cli) *cobra.Command {
	var reason string
	cmd := scheduleCommand(c, &cobra.Command{
		Use: "pause", Short: "Stop a schedule from starting runs until you resume it",
		Long:    `Stop a schedule from starting runs until you resume it, and record who asked for that, and why. Its current runs continue.`,
		Example: `  stepwell schedules pause nightly --reason holidays`,
	}, func(ctx context.Context, k *timetable.Keeper, name string) (scheduleActed, string, error) {
		_, err := timetable.Pause(ctx, k.Store, name, c.who, reason)
		return didSchedule("paused"), "paused " + name, err
	})
	cmd.Flags().StringVar(&reason, "reason", "", "the `reason`, for people")
	return cmd
}

func schedulesResumeCommand(c *cli) *cobra.Command {
	return scheduleCommand(c, &cobra.Command{
		Use: "resume", Short: "Resume a schedule from its next time",
		Long:    `Resume a schedule from its next time. The times that it missed get no runs, unless you use schedules backfill.`,
		Example: `  stepwell schedules resume nightly`,
	}, func(ctx context.Context, k *timetable.Keeper, name string) (scheduleActed, string, error) {
		_, err := timetable.Resume(ctx, k.Store, name)
		return didSchedule("resumed"), "resumed " + name, err
	})
}

func schedulesTriggerCommand(c *cli) *cobra.Command {
	var input string
	cmd := scheduleCommand(c, &cobra.Command{
		Use: "trigger", Short: "Start one run of a schedule now, in addition to its times",
		Long:    `Start one run of a schedule now, in addition to its times. It ignores --overlap, and works while the schedule is paused.`,
		Example: `  stepwell schedules trigger nightly`,
	}, func(ctx context.Context, k *timetable.Keeper, name string) (scheduleActed, string, error) {
		var own []byte
		if input != "" {
			if err := checkJSON("--input", []byte(input), `quote it for the shell: '{"kind":"all"}'`); err != nil {
				return scheduleActed{}, "", err
			}
			own = []byte(input)
		}
		run, err := k.Trigger(ctx, name, own)
		is := didSchedule("triggered")
		is.Run = run
		return is, "started " + run, err
	})
	cmd.Flags().StringVar(&input, "input", "", "`JSON` input instead of the schedule's")
	return cmd
}

func schedulesBackfillCommand(c *cli) *cobra.Command {
	var from, until time.Time
	cmd := scheduleCommand(c, &cobra.Command{
		Use: "backfill", Short: "Start the runs of past times that have none",
		Long: `Start the runs of all past times of a schedule from one to another, both included, that have none. They start at once,
whatever --overlap says, 1,000 at most. If you repeat it, it starts nothing more.`,
		Example: `  stepwell schedules backfill nightly --from 2026-11-01 --until 2026-11-08`,
	}, func(ctx context.Context, k *timetable.Keeper, name string) (scheduleActed, string, error) {
		done, err := k.Backfill(ctx, name, from, until)
		is := didSchedule("backfilled")
		is.Started, is.Existed = done.Started, done.Existed
		return is, fmt.Sprintf("started %s of %s; %d existed already", human.Count(len(done.Started), "run"), name, len(done.Existed)), err
	})
	momentFlag(cmd, &from, "from", "the first `time`")
	momentFlag(cmd, &until, "until", "the last `time`")
	return cmd
}

func schedulesDeleteCommand(c *cli) *cobra.Command {
	return scheduleCommand(c, &cobra.Command{
		Use: "delete", Short: "Delete a schedule; its runs stay",
		Long:    `Delete a schedule. Its runs stay. One that a program declares is made again when that starts: pause it instead.`,
		Example: `  stepwell schedules delete nightly`,
	}, func(ctx context.Context, k *timetable.Keeper, name string) (scheduleActed, string, error) {
		return didSchedule("deleted"), "deleted " + name, k.Store.DeleteSchedule(ctx, name)
	})
}
