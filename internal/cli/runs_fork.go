package cli

// This file makes new runs from old ones: fork, retry, restart.

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// made is what --json says of a run that was made from another: created, or existed, as it had been made before.
type made struct {
	acted
	From string `json:"from"`
}

// makeRun makes a run from the one that arg names, and says so.
func makeRun(c *cli, cmd *cobra.Command, arg, action, how string, f func(db *database, run string) (*stepwell.Run[json.RawMessage], error)) error {
	return c.with(cmd.Context(), func(db *database) error {
		run, err := findToAct(cmd.Context(), c.target, db, arg)
		if err != nil {
			return err
		}
		fresh, err := f(db, run)
		if err != nil {
			return c.explain(err, run)
		}
		is := made{acted{Run: fresh.ID(), Action: action, Result: "created"}, run}
		text := fmt.Sprintf("%s run %s as run %s\n  see it:  %s", how, run, is.Run, c.command("runs show "+is.Run))
		if fresh.Existed() {
			is.Result = "existed"
			text = fmt.Sprintf("run %s already replaces run %s\n  see it:  %s", is.Run, run, c.command("runs show "+is.Run))
		}
		return c.tell(is, text)
	})
}

func runsForkCommand(c *cli) *cobra.Command {
	var o stepwell.ForkOptions
	var input, at string
	var results []string
	cmd := &cobra.Command{
		Use:   "fork RUN",
		Short: "Start a new run from any event of another",
		Long: `Start a new run that has everything RUN had at an event. Steps that had ended do not run again, other steps do, and
waits keep their deadlines. stepwell events RUN lists the numbers of the events. You can replace the input and the
results of steps.

RUN does not change, whether it is over or not. If it is not over, its hooks keep their tokens and the fork's hooks get
new ones.

` + exitHelp,
		Example: `  stepwell runs fork wrun_01JD3V7Q5ZJ8K2M4N6P8R0T2V4 --at 12
  stepwell runs fork wrun_01JD3V --at 12 --result 'charge={"id":"ch_7"}'
  stepwell runs fork wrun_01JD3V --at 2 --input '{"email":"a@b.c"}'`,
		Args:              arguments(1, 1, "RUN"),
		ValidArgsFunction: c.completeRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			if n, err := strconv.ParseInt(at, 10, 64); cmd.Flags().Changed("at") && (err == nil && n < 1 || err != nil && !strings.HasPrefix(at, world.PrefixEvent+"_")) {
				return usagef("see the numbers of its events:  "+c.command("events "+args[0]), "--at %s is not an event", at)
			}
			var err error
			if o.Input, err = givenValue(c, cmd, "input", input); err != nil {
				return err
			}
			o.Results = map[string]json.RawMessage{}
			for _, text := range results {
				name, value, ok := strings.Cut(text, "=")
				const next = `write NAME=JSON, quoted for the shell: --result 'charge={"id":"ch_7"}'`
				if !ok {
					return usagef(next, "--result %q does not name a step and its result", text)
				}
				if err := checkJSON(fmt.Sprintf("--result %q", text), []byte(value), next); err != nil {
					return err
				}
				o.Results[name] = json.RawMessage(value)
			}
			return makeRun(c, cmd, args[0], "fork", "forked", func(db *database, run string) (*stepwell.Run[json.RawMessage], error) {
				if at != "" {
					var err error
					if o.At, err = world.ParseEvent(run, at); err != nil {
						return nil, err
					}
				}
				return db.app.Fork(cmd.Context(), run, o)
			})
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&at, "at", "", "number or ID of the last `event` to copy (default: the last one)")
	wordFlag(cmd, &o.ID, "id", "`ID` of the new run (default: a new one)")
	fl.StringVar(&input, "input", "", "a different input, as `JSON`")
	fl.StringArrayVar(&results, "result", nil, "a different result of a step, as `NAME=JSON`; may be repeated")
	fl.IntVar(&o.Version, "version", 0, "`version` of the workflow (default: the same as RUN)")
	c.actFlag(cmd)
	return cmd
}

// givenValue is the JSON of a flag; nil where it was not given.
func givenValue(c *cli, cmd *cobra.Command, flag, text string) (json.RawMessage, error) {
	if !cmd.Flags().Changed(flag) {
		return nil, nil
	}
	return payloadOf(c, []string{text})
}

func runsRetryCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "retry RUN",
		Short: "Continue a failed run from the step that failed, in a new run",
		Long: `Continue a failed run from where it failed, in a new run. The step that failed the run runs again, with all its
attempts; completed steps do not. If the code failed without a failing step, it runs again from the last event; if the
run timed out, the new run has its full timeout again.

A retry is refused if it cannot be right, for example if the run has undone its work; the command then says what to do
instead. The new run replaces RUN: a start with its key, or a wait for its result, gets the new one. If you retry again
you get the same new run; if that failed too, that one is retried. RUN does not change.

` + exitHelp,
		Example: `  stepwell runs retry wrun_01JD3V7Q5ZJ8K2M4N6P8R0T2V4
  stepwell runs retry wrun_01JD3V --json | jq -r .run`,
		Args:              arguments(1, 1, "RUN"),
		ValidArgsFunction: c.completeRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			return makeRun(c, cmd, args[0], "retry", "retried", func(db *database, run string) (*stepwell.Run[json.RawMessage], error) {
				return db.app.Retry(cmd.Context(), run)
			})
		},
	}
	c.actFlag(cmd)
	return cmd
}

func runsRestartCommand(c *cli) *cobra.Command {
	var o stepwell.RestartOptions
	var input string
	cmd := &cobra.Command{
		Use:   "restart RUN",
		Short: "Start a new run with the input of another",
		Long: `Start a new run with the workflow, input and settings of RUN, from the beginning: all steps run again, with new
idempotency keys. It uses the highest version of the workflow that a live worker has, unless you give another. RUN does
not change.

With --in-place the new run replaces RUN, which must be over and not completed, as a retry does: a start with its key,
or a wait for its result, gets the new one.

` + exitHelp,
		Example: `  stepwell runs restart wrun_01JD3V7Q5ZJ8K2M4N6P8R0T2V4
  stepwell runs restart wrun_01JD3V --input '{"email":"a@b.c"}' --json | jq -r .run`,
		Args:              arguments(1, 1, "RUN"),
		ValidArgsFunction: c.completeRun,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if o.Input, err = givenValue(c, cmd, "input", input); err != nil {
				return err
			}
			return makeRun(c, cmd, args[0], "restart", "restarted", func(db *database, run string) (*stepwell.Run[json.RawMessage], error) {
				return db.app.Restart(cmd.Context(), run, o)
			})
		},
	}
	fl := cmd.Flags()
	wordFlag(cmd, &o.ID, "id", "`ID` of the new run (default: a new one)")
	fl.StringVar(&input, "input", "", "a different input, as `JSON`")
	fl.IntVar(&o.Version, "version", 0, "`version` of the workflow")
	fl.BoolVar(&o.InPlace, "in-place", false, "a start with the key of RUN, or a wait for its result, gets the new run")
	c.actFlag(cmd)
	return cmd
}
