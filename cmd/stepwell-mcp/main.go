// Command stepwell-mcp serves the Model Context Protocol; the command stepwell mcp starts it. It
// runs stepwell commands for calls of its tools. It is a separate module, so that programs that
// import Stepwell do not depend on the SDK.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"github.com/stepwell/stepwell/internal/human"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	interrupted := ctx.Err() != nil
	stop()
	if err != nil && !interrupted {
		fmt.Fprintln(os.Stderr, "stepwell-mcp: "+human.VisibleLines(err.Error()))
		os.Exit(1)
	}
}

// settings are what the flags say.
type settings struct {
	stepwell, db, server, http string
	writes, payloads, check    bool
}

func settingsOf(args []string, stderr io.Writer) (s settings, err error) {
	fl := flag.NewFlagSet("stepwell-mcp", flag.ContinueOnError)
	fl.SetOutput(stderr)
	fl.StringVar(&s.stepwell, "stepwell", "stepwell", "the program stepwell")
	fl.StringVar(&s.db, "db", "", "database: see stepwell mcp --help, as for the others")
	fl.StringVar(&s.server, "server", "", "URL of a server")
	fl.StringVar(&s.http, "http", "", "listen at host:port")
	fl.BoolVar(&s.writes, "allow-writes", false, "let the assistant act")
	fl.BoolVar(&s.payloads, "show-payloads", false, "show payloads")
	fl.BoolVar(&s.check, "check", false, "call a tool, say what came of it, and end")
	if err := fl.Parse(args); err != nil {
		return s, err
	}
	if fl.NArg() > 0 {
		return s, fmt.Errorf("%q is no flag", fl.Arg(0))
	}
	return s, nil
}

// target is what commands are told to work on.
func (s *settings) target() []string {
	switch {
	case s.server != "":
		return []string{"--server=" + s.server}
	case s.db != "":
		return []string{"--db=" + s.db}
	}
	return nil
}

// serverURL is the server that it is in front of; "": a database.
func (s *settings) serverURL() string {
	if s.server == "" && s.db == "" {
		return os.Getenv(serverVariable)
	}
	return s.server
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	set, err := settingsOf(args, stderr)
	if err != nil {
		return err
	}
	version, err := versionOf(ctx, set.stepwell)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(stderr, nil))
	t := &tools{commands: newCommands(set.stepwell, set.target()), view: view{set.payloads}, log: log}
	s := t.server(version, set.writes)
	if set.check {
		return check(ctx, s, version, set.writes, stdout)
	}
	if set.http != "" {
		return serveHTTP(ctx, s, &set, log)
	}
	err = s.Run(ctx, overLines(os.Stdin, stdout))
	if errors.Is(err, io.EOF) { // the client has ended
		return nil
	}
	return err
}

// versionOf asks the program which version it is, and so whether it can be run.
func versionOf(ctx context.Context, program string) (string, error) {
	out, err := exec.CommandContext(ctx, program, "version", "--json").Output()
	if err != nil {
		return "", fmt.Errorf("run %s: %w", program, err)
	}
	var is struct {
		Version string `json:"version"`
	}
	if err := json.Unmarshal(out, &is); err != nil || strings.TrimSpace(is.Version) == "" {
		return "", fmt.Errorf("%s is not stepwell: it does not say its version", program)
	}
	return is.Version, nil
}
