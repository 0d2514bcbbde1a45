package main

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
		Short: "List, show, make, pause, trigger, backfill and delete schedules, by which runs start by themselves",
		Long: `List and show schedules, by which runs of workflows start by themselves; make and change them, pause and resume them, start one of their runs now, or
those of past times. Workers and servers on the database start the runs. docs/schedules.md has more.

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
		k := kit.AppOf(db.app).Timetable
		if k == nil {
			return &fault{exitFailure, fmt.Errorf("%s keeps no schedules", c.place()), "name another database, with --db"}
		}
		return explainSchedule(c.target, f(k), name)
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
		Short: "Make a schedule, or say anew what holds for it",
		Long: `Make a schedule by which runs of a workflow start, or say anew what holds for the one with its name, all of it. A --time is a cron expression of 5 or 6
fields, @daily and the like, "@every 6h", "@every 6h+15m", or "@at 2026-12-24T18:00:00Z"; any of several is a time. What becomes of a time whose
schedule's last run is not over says --overlap: skip, queue-one, queue-all, cancel or allow.

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
	cmd.Flags().StringArrayVar(&x.Times, "time", nil, "`expression` of its times; may be repeated")
	cmd.Flags().StringVar(&x.Zone, "zone", "", "IANA time `zone` of the expressions; UTC unless said")
	momentFlag(cmd, &x.From, "from", "no `time` before")
	momentFlag(cmd, &x.Until, "until", "no `time` after")
	cmd.Flags().IntVar(&x.Runs, "runs", 0, "start so many runs at most; 0: any `number`")
	spanFlag(cmd, func(d time.Duration) { x.Jitter = d }, "jitter", "start so much later at `most`, by a hash of name and time")
	spanFlag(cmd, func(d time.Duration) { x.CatchUp = d }, "catch-up", "how `old` a time may be that was missed and still has its run; 1d unless said")
	wordFlag(cmd, &overlap, "overlap", "what becomes of a time whose schedule's last run is not over: a `word`, skip unless said")
	cmd.Flags().BoolVar(&x.PauseOnFailure, "pause-on-failure", false, "pause it where its last run failed")
	cmd.Flags().StringVar(&input, "input", "", "`JSON` with which each run starts")
	cmd.Flags().IntVar(&x.Version, "version", 0, "`version` of the workflow; the highest that a live worker has unless said")
	c.actFlag(cmd)
	return cmd
}

func schedulesPauseCommand(c *cli) *cobra.Command {
	var reason string
	cmd := scheduleCommand(c, &cobra.Command{
		Use: "pause", Short: "Have a schedule start nothing until it is resumed",
		Long:    `Have a schedule start nothing until it is resumed, and keep who asked for that, and why. Its runs go on.`,
		Example: `  stepwell schedules pause nightly --reason holidays`,
	}, func(ctx context.Context, k *timetable.Keeper, name string) (scheduleActed, string, error) {
		_, err := timetable.Pause(ctx, k.Store, name, c.who, reason)
		return didSchedule("paused"), "paused " + name, err
	})
	cmd.Flags().StringVar(&reason, "reason", "", "`why`, for people")
	return cmd
}

func schedulesResumeCommand(c *cli) *cobra.Command {
	return scheduleCommand(c, &cobra.Command{
		Use: "resume", Short: "Have a schedule go on with its next time",
		Long:    `Have a schedule go on with its next time from now. What it would have started meanwhile is started by schedules backfill alone.`,
		Example: `  stepwell schedules resume nightly`,
	}, func(ctx context.Context, k *timetable.Keeper, name string) (scheduleActed, string, error) {
		_, err := timetable.Resume(ctx, k.Store, name)
		return didSchedule("resumed"), "resumed " + name, err
	})
}

func schedulesTriggerCommand(c *cli) *cobra.Command {
	var input string
	cmd := scheduleCommand(c, &cobra.Command{
		Use: "trigger", Short: "Start one run of a schedule now, beside its times",
		Long:    `Start one run of a schedule now, beside its times, whatever its overlap says, and also where it is paused.`,
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
	cmd.Flags().StringVar(&input, "input", "", "`JSON` in the place of the schedule's input")
	return cmd
}

func schedulesBackfillCommand(c *cli) *cobra.Command {
	var from, until time.Time
	cmd := scheduleCommand(c, &cobra.Command{
		Use: "backfill", Short: "Start the runs of past times that have none",
		Long: `Start the runs of all past times of a schedule from one to another, both included, that have none: at once, whatever its overlap says, 1,000 at most. Done
again it starts nothing more.`,
		Example: `  stepwell schedules backfill nightly --from 2026-11-01 --until 2026-11-08`,
	}, func(ctx context.Context, k *timetable.Keeper, name string) (scheduleActed, string, error) {
		done, err := k.Backfill(ctx, name, from, until)
		is := didSchedule("backfilled")
		is.Started, is.Existed = done.Started, done.Existed
		return is, fmt.Sprintf("started %s of %s; %d were there", human.Count(len(done.Started), "run"), name, len(done.Existed)), err
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
