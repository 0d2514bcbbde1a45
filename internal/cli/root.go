package cli

// This file holds the root command, what all commands share, and how one is run.

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"
)

// cli is one call of the command: what it works on, and where it writes.
type cli struct {
	*target
	*output
	parsed bool // the command line was understood: what fails now is no usage error
}

func newCLI(sh *shell) *cli { return &cli{target: &target{sh: sh}, output: &output{shell: sh}} }

// in is the same call in another shell.
func (c *cli) in(sh *shell) *cli {
	t, o := *c.target, *c.output
	t.sh, o.shell = sh, sh
	return &cli{target: &t, output: &o, parsed: c.parsed}
}

// run runs one command line and returns its exit code.
func run(ctx context.Context, args []string, sh *shell) int {
	c := newCLI(sh)
	root := rootCommand(c)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var f *fault
	if err != nil && !c.parsed && !errors.As(err, &f) {
		text, next, _ := strings.Cut(err.Error(), "\n")
		next = strings.TrimSpace(next)
		if next == "" {
			next = "see stepwell --help"
		}
		err = usagef(strings.ReplaceAll(next, "\n\t", "\n    "), "%s", text)
	}
	return report(sh.stderr, ctx, err, c.json || wantsJSON(args))
}

func rootCommand(c *cli) *cobra.Command {
	root := &cobra.Command{
		Use:   "stepwell",
		Short: "Durable execution for Go: start runs, look at them, signal and cancel them",
		Long: `Stepwell makes Go functions durable: they survive crashes, restarts and month-long sleeps, and continue where they
stopped. With this command you start runs, look at the runs in a database and see why one does not move; you signal,
wake, pause, resume and cancel them, and send to their hooks. A worker can use the same database at the same time.

RUN is the ID of a run, or its beginning as long as that is unique.

On a terminal, tables are cut or wrapped to its width, or to COLUMNS. In pipes and files nothing is cut.

` + jsonHelp + `

` + exitHelp,
		Example: `  stepwell demo
  stepwell runs list --db sqlite:app.db
  stepwell runs show wrun_01JD3V7Q5ZJ8K2M4N6P8R0T2V4`,
		SilenceErrors: true, SilenceUsage: true,
		Version:          builtFrom().String(),
		Args:             known,
		RunE:             func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRun: func(*cobra.Command, []string) { c.parsed = true },
	}
	root.SetIn(c.stdin)
	root.SetOut(c.stdout)
	root.SetErr(c.stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		var f *fault
		if errors.As(err, &f) { // the flag itself says what is wrong
			return f
		}
		return usagef("see "+cmd.CommandPath()+" --help", "%w", err)
	})
	c.flags(root.PersistentFlags())
	root.SuggestionsMinimumDistance = 2
	root.AddCommand(demoCommand(c), demoWorkerCommand(c), runsCommand(c), hooksCommand(c), streamsCommand(c), eventsCommand(c), bulkCommand(c))
	root.AddCommand(workflowsCommand(c), exportCommand(c), importRunsCommand(c), checkCommand(c), vetCommand(c), migrateCommand(c), doctorCommand(c), workersCommand(c))
	root.AddCommand(failuresCommand(c), queuesCommand(c), topicsCommand(c), schedulesCommand(c), limitsCommand(c), keysCommand(c), retentionCommand(c))
	root.AddCommand(serverCommand(c), devCommand(c), healthCommand(c), initCommand(c), mcpCommand(c), versionCommand(c), exitTopic())
	completeFlags(c, root)
	return root
}

// runsCommand is the group of commands about runs.
func runsCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "Start, list and show runs; signal, wake, pause, resume, cancel, retry, restart and fork them",
		Long:  "Start, list and show runs; signal, wake, pause, resume, cancel, retry, restart and fork them.\n\n" + exitHelp,
		Example: `  stepwell runs start onboard-user '{"email":"a@b.c"}'
  stepwell runs list --status running
  stepwell runs show RUN
  stepwell runs signal RUN verify '{"userId":"42"}'`,
		Args:                       known,
		RunE:                       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SuggestionsMinimumDistance: 2,
	}
	cmd.AddCommand(runsStartCommand(c), runsResultCommand(c), runsListCommand(c), runsShowCommand(c), runsSignalCommand(c), runsWakeCommand(c), runsPauseCommand(c), runsResumeCommand(c), runsCancelCommand(c), runsRetryCommand(c), runsRestartCommand(c),
		runsForkCommand(c), runsTailCommand(c), runsValueCommand(c))
	return cmd
}

// known refuses what is no subcommand, and says which may be meant.
func known(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	next := "see " + cmd.CommandPath() + " --help"
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		next = "did you mean " + cmd.CommandPath() + " " + strings.Join(near, " or "+cmd.CommandPath()+" ") + "?"
	}
	return usagef(next, "there is no command %s %s", cmd.CommandPath(), args[0])
}

// arguments checks how many arguments there are; what names them, as they stand in the usage line.
func arguments(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		next := "usage:  " + cmd.UseLine()
		_, name, _ := strings.Cut(cmd.CommandPath(), " ")
		switch {
		case len(args) < least:
			return usagef(next, "%s: missing argument; it takes %s", name, what)
		case len(args) > most:
			return usagef(next, "%s: too many arguments (%q is one); it takes %s", name, args[most], what)
		}
		return nil
	}
}
