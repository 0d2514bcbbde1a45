package cli

// This file holds a program's code against histories: it starts the program, which checks them and works on nothing.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell/check"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/world"
)

func checkCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check [flags] [FILE|-]... -- PROGRAM [ARGUMENT]...",
		Short: "Check a program's code against the logs of runs before you deploy it",
		Long: `Check the code of a program against the logs of runs. You get the logs with stepwell export; without FILE, or with -,
they come from standard input. The command lists the runs that could not continue with this code, and where: what the
log has, what the code asks for, and the line. Use it to stop a bad deployment.

PROGRAM is your worker as you deploy it, or go run with its package. If its main is stepwell.Main, it can be checked as
it is. Any other program needs one line, the first in main, before it opens anything:

  check.Main(stepwell.Config{Definitions: definitions})

The command sets STEPWELL_CHECK in the program's environment. The program then replays the logs, runs no steps, opens no
database and exits. A program that does neither cannot open its database, so it does not start work by mistake. Its
standard error is passed on. A run that continued as new is replayed from its newest segment, as a worker does.

` + exitHelp,
		Example: `  stepwell export --status running | stepwell check -- ./worker
  stepwell check production.jsonl -- go run ./cmd/worker
  stepwell check testdata/*.jsonl --json -- ./worker | jq -r 'select(.check == "diverged").where'`,
		DisableFlagsInUseLine: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if dash := cmd.ArgsLenAtDash(); dash < 0 || dash == len(args) {
				return usagef("usage:  "+cmd.UseLine(), "check: no program; name it after --")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			dash := cmd.ArgsLenAtDash()
			in, files, err := openHistories(c, args[:dash])
			if err != nil {
				return err
			}
			defer func() {
				for _, f := range files {
					_ = f.Close()
				}
			}()
			return runCheck(cmd.Context(), c, in, args[dash:])
		},
	}
	c.jsonFlag(cmd, "write one JSON object per history, and one at the end")
	return cmd
}

// openHistories opens the files that a check is to read, one behind the other.
func openHistories(c *cli, names []string) (in io.Reader, files []*os.File, err error) {
	if len(names) == 0 {
		return c.stdin, nil, nil
	}
	var all []io.Reader
	for _, name := range names {
		if name == "-" {
			all = append(all, c.stdin)
			continue
		}
		f, err := os.Open(name)
		if err != nil {
			for _, f := range files {
				_ = f.Close()
			}
			return nil, nil, usagef("give the path of a file that stepwell export wrote", "%w", err)
		}
		all, files = append(all, f), append(files, f)
	}
	return io.MultiReader(all...), files, nil
}

// checkPatience is how long a check waits, when its program has ended, for what that started.
const checkPatience = 5 * time.Second

// runCheck starts the program, reads its report and says what came of it.
func runCheck(ctx context.Context, c *cli, in io.Reader, program []string) error {
	v := &verdict{c: c, progress: c.progress("checked", "run"), others: &together{to: c.stderr}, classes: map[world.Class]map[check.Result]int{}}
	child := exec.CommandContext(ctx, program[0], program[1:]...)
	child.Env = append(os.Environ(), world.CheckVariable+"=1")
	child.Stdin, child.Stdout, child.Stderr, child.WaitDelay = in, v, v.others, checkPatience
	if err := child.Start(); err != nil {
		return usagef("name a program, or a package to run:  stepwell check FILE -- go run ./cmd/worker", "start %s: %w", program[0], err)
	}
	err := child.Wait()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case v.err != nil:
		return v.err
	case !v.ended:
		return v.broken(program[0], err)
	}
	return v.say()
}

// together lets several write to one place, each a whole piece at a time.
type together struct {
	mu sync.Mutex
	to io.Writer // guarded by mu
}

func (w *together) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(b)
}

// verdict is the report of a program, as it comes on its standard output.
type verdict struct {
	c        *cli
	progress *progress
	others   *together // what is no part of the report
	rest     []byte    // of a line that is not there as a whole
	classes  map[world.Class]map[check.Result]int
	wrong    []check.Report // the first of them
	n, bad   int
	ended    bool // the program said that it is done
	err      error
}

// mostWrong is how many runs that cannot go on are told in full.
const mostWrong = 20

// Write takes what the program wrote, and makes its lines.
func (v *verdict) Write(b []byte) (int, error) {
	v.rest = append(v.rest, b...)
	for v.err == nil {
		line, rest, ok := bytes.Cut(v.rest, []byte("\n"))
		if !ok {
			break
		}
		if len(bytes.TrimSpace(line)) > 0 {
			v.err = v.line(line)
		}
		v.rest = rest
	}
	return len(b), v.err
}

func (v *verdict) line(line []byte) error {
	var l struct {
		check.Report
		Histories *int `json:"checked"`
	}
	if err := json.Unmarshal(line, &l); err != nil || l.Check == "" && l.Histories == nil {
		_, err := fmt.Fprintf(v.others, "%s\n", line)
		return err
	}
	if l.Histories != nil {
		v.ended = true
		return nil
	}
	is := l.Report
	class := world.Class{Workflow: is.Workflow, Version: is.Version}
	if v.classes[class] == nil {
		v.classes[class] = map[check.Result]int{}
	}
	v.classes[class][is.Check]++
	v.n++
	v.progress.step()
	if is.Check != check.Fits {
		if v.bad++; len(v.wrong) < mostWrong {
			v.wrong = append(v.wrong, is)
		}
	}
	if v.c.json {
		return v.c.encoder().Encode(is)
	}
	return nil
}

// broken says that the program ended before it had said that it is done.
func (v *verdict) broken(program string, err error) error {
	how := "and said nothing"
	if err != nil {
		how = "with " + err.Error()
	}
	if v.n > 0 {
		return &fault{exitFailure, fmt.Errorf("%s ended %s, after %s", program, how, human.Count(v.n, "run")),
			"its output is above; a file that was cut off is refused, and workflow code must not end the process"}
	}
	return &fault{exitFailure, fmt.Errorf("%s ended %s and checked nothing", program, how),
		"its output is above; the program must call check.Main(config), first in main"}
}

// checkedAll is the last object that --json writes.
type checkedAll struct {
	acted
	Histories int `json:"histories"`
	Wrong     int `json:"wrong"`
}

// say says what came of it all.
func (v *verdict) say() error {
	result := "fits"
	if v.bad > 0 {
		result = "wrong"
	}
	switch {
	case v.n == 0:
		return usagef("give a file that stepwell export wrote", "there is no history to check")
	case v.c.json:
		if err := v.c.encoder().Encode(checkedAll{acted{Action: "check", Result: result}, v.n, v.bad}); err != nil {
			return err
		}
	default:
		v.draw()
	}
	if v.bad == 0 {
		return nil
	}
	return &fault{exitDiverged, fmt.Errorf("%d of %s cannot continue with this code", v.bad, human.Count(v.n, "run")),
		"keep the version that they began with next to the new one, or guard the change with stepwell.Patched"}
}
