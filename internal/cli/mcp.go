package cli

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
	writes, payloads, check := false, false, false
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Give assistants tools to examine runs; with --allow-writes, to act on them",
		Long: `Serve the Model Context Protocol, so that an assistant (Claude, Cursor, VS Code and others) can look at runs, explain why
one does not move, list failures by cause and examine the database. It uses standard input and output: the assistant's
program starts this command. See docs/mcp.md for the settings to give it.

It only reads unless you give --allow-writes. Then the assistant can retry, restart, cancel, pause, resume, wake and
signal runs. To act on many at once it must give the number of runs that a dry run found. The log records who did what,
and through which assistant.

Inputs, outputs, payloads, attributes and error messages are hidden unless you give --show-payloads. Names, IDs, keys,
states, times, error codes and places in the code are shown.

With --http it listens on a port instead, at /mcp. In front of a server, each client uses a key of that server, which
says what it may do. Without keys it accepts connections only from this machine.

With --check it calls a tool itself, says what came of it, and ends: see whether it works before you set up a client.

` + exitHelp,
		Example: `  stepwell mcp --db sqlite:app.db
  stepwell mcp --db sqlite:app.db --check
  stepwell mcp --server https://stepwell.internal --allow-writes
  stepwell mcp --server https://stepwell.internal --http :7375`,
		Args: arguments(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := c.locate(); err != nil {
				return err
			}
			if check && listen != "" {
				return usagef("leave out --http", "--check does not listen")
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
			if check {
				args = append(args, "--check")
			}
			return runMCP(cmd.Context(), c, args)
		},
	}
	fl := cmd.Flags()
	wordFlag(cmd, &listen, "http", "listen at `host:port` instead of standard input; :7375 is this machine only")
	fl.BoolVar(&writes, "allow-writes", false, "let the assistant act on runs, and not only look")
	fl.BoolVar(&check, "check", false, "call a tool, say what came of it, and end")
	fl.BoolVar(&payloads, "show-payloads", false, "show inputs, outputs, payloads, attributes and error messages, each cut if it is long")
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
		return &fault{exitFailure, err, "it is part of each release, next to stepwell; in a checkout:  go -C cmd/" + mcpProgram + " install ."}
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
		return &fault{max(ended.ExitCode(), exitFailure), fmt.Errorf("%s: %w", mcpProgram, err), "its output is above"}
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
		return "", fmt.Errorf("there is no program %s next to stepwell, and none in PATH", name)
	}
	return path, nil
}
