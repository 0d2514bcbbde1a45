package main

// This file holds the root command, what all commands share, and how one is run.

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// cli is one call of the command.
type cli struct {
	*shell
	db         string // --db
	remote     string // --server
	url        string // of the database, once it is known
	place      string // where it is, for people
	json       bool
	onDatabase bool          // the command works on a database, and not on a server
	deliveries time.Duration // for how long deliveries are known; 0: the default
	parsed     bool          // the command line was understood: what fails now is no usage error
}

// run runs one command line and returns its exit code.
func run(ctx context.Context, args []string, sh *shell) int {
	c := &cli{shell: sh}
	root := c.root()
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

func (c *cli) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "stepwell",
		Short: "Durable execution for Go: start runs, look at them, signal and cancel them",
		Long: `Stepwell makes Go functions durable: they survive crashes, restarts and month-long sleeps, and go on where they stopped.
This command starts runs, looks at those in a database and says why one does not move; it signals, wakes, pauses, resumes and cancels them,
and sends to their hooks. A worker may be running on the same database meanwhile.

On a terminal tables fit its width, or COLUMNS: what is last is cut or wrapped. In pipes and files nothing is cut.

` + jsonHelp + `

` + exitHelp,
		Example: `  stepwell demo
  stepwell runs list --db sqlite:app.db
  stepwell runs show wrun_01JD3V7Q5ZJ8K2M4N6P8R0T2V4`,
		SilenceErrors: true, SilenceUsage: true,
		Version:          builtFrom(),
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
	root.PersistentFlags().StringVar(&c.db, "db", "", "`database`: sqlite:PATH, a path, or postgres://user@host/name (env STEPWELL_DB, default sqlite:stepwell.db)")
	root.PersistentFlags().StringVar(&c.remote, "server", "", "`URL` of a server, instead of a database: https://host (env STEPWELL_SERVER; its key is in STEPWELL_API_KEY)")
	root.SuggestionsMinimumDistance = 2
	root.AddCommand(c.demo(), c.demoWorker(), c.runs(), c.hooks(), c.streams(), c.events(), c.bulk(), c.workflows(), c.export(), c.importRuns(), c.check(), c.migrate(), c.doctor(), c.workers())
	root.AddCommand(failuresCommand(c), c.keys(), retentionCommand(c), c.server(), c.dev(), c.health(), exitTopic())
	c.completeFlags(root)
	return root
}

// runs is the group of commands about runs.
func (c *cli) runs() *cobra.Command {
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
	cmd.AddCommand(c.runsStart(), c.runsResult(), c.runsList(), c.runsShow(), c.runsSignal(), c.runsWake(), c.runsPause(), c.runsResume(), c.runsCancel(), c.runsRetry(), c.runsRestart(),
		c.runsFork(), c.runsTail())
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
