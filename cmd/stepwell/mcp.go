package main

// This file starts the program behind stepwell mcp, which has the SDK of the Model Context Protocol, and calls this
// one.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// mcpProgram is the program with the SDK. It is a module of its own: the SDK brings six others with it.
const mcpProgram = "stepwell-mcp"

// mcpGrace is how long it has to end the calls that are under way.
const mcpGrace = 10 * time.Second

func mcpCommand(c *cli) *cobra.Command {
	var listen string
	writes, payloads := false, false
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Give assistants tools to look at runs and say why one does not move; with --allow-writes to act",
		Long: `Serve the Model Context Protocol, so that an assistant (Claude, Cursor, VS Code and others) can look at runs, say why one does not move, list
failures by their cause and examine the database. It speaks on standard input and output: the assistant's program starts this command. docs/mcp.md
has the lines for its settings.

It only reads, unless --allow-writes: then runs can be retried, restarted, cancelled, paused, resumed, woken and signalled, many at once too,
where the assistant gives back the number of runs that a dry run told. Each act is in the log with who did it and through which assistant.

Inputs, outputs, payloads, attributes and messages of errors are hidden, unless --show-payloads: names, IDs, keys, states, times, codes of
errors and their places in the code are shown.

With --http it listens there instead, at /mcp. In front of a server each client has a key of that server, which says what it may do; where there are no keys it
listens on this machine alone.

` + exitHelp,
		Example: `  stepwell mcp --db sqlite:app.db
  stepwell mcp --server https://stepwell.internal --allow-writes
  stepwell mcp --server https://stepwell.internal --http :7375`,
		Args: arguments(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := c.locate(); err != nil {
				return err
			}
			args := given(c.target)
			if listen != "" {
				args = append(args, "--http", listen)
			}
			if writes {
				args = append(args, "--allow-writes")
			}
			if payloads {
				args = append(args, "--show-payloads")
			}
			return runMCP(cmd.Context(), c, args)
		},
	}
	fl := cmd.Flags()
	wordFlag(cmd, &listen, "http", "listen at `host:port` and not on standard input; :7375 is this machine alone")
	fl.BoolVar(&writes, "allow-writes", false, "let the assistant act on runs, and not only look")
	fl.BoolVar(&payloads, "show-payloads", false, "show inputs, outputs, payloads, attributes and messages of errors, each cut where it is long")
	return cmd
}

// runMCP runs the program until it ends: on standard input, when that does.
func runMCP(ctx context.Context, c *cli, args []string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	program, err := beside(self, mcpProgram)
	if err != nil {
		return &fault{exitFailure, err, "releases have it beside stepwell; in a checkout:  go -C cmd/" + mcpProgram + " install ."}
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM)
	defer stop()
	cmd := exec.CommandContext(ctx, program, append([]string{"--stepwell", self}, args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.stdin, c.stdout, c.stderr
	cmd.WaitDelay = mcpGrace
	if runtime.GOOS != "windows" {
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	}
	err = cmd.Run()
	if ended, ok := errors.AsType[*exec.ExitError](err); ok && ctx.Err() == nil {
		return &fault{max(ended.ExitCode(), exitFailure), fmt.Errorf("%s: %w", mcpProgram, err), "what it said is above"}
	}
	if ctx.Err() != nil { // it was told to end
		return nil
	}
	return err
}

// beside finds a program in the folder of another one, or else where the shell does.
func beside(program, name string) (string, error) {
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if real, err := filepath.EvalSymlinks(program); err == nil {
		program = real
	}
	if path, err := exec.LookPath(filepath.Join(filepath.Dir(program), name)); err == nil {
		return path, nil
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("there is no program %s beside stepwell, and none in PATH", name)
	}
	return path, nil
}
