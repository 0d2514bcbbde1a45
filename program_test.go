package stepwell_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world/sqlite"
)

// programVariable names what of programs a process of this test is.
const programVariable = "STEPWELL_TEST_PROGRAM"

var greet = stepwell.Define("greet", func(ctx stepwell.Context, name string) (string, error) {
	return stepwell.Step(ctx, "greet", func(ctx context.Context) (string, error) {
		switch name {
		case "patient":
			fmt.Println("begun")
			<-ctx.Done()
			fmt.Println("ended:", context.Cause(ctx))
			return "", ctx.Err()
		case "deaf":
			fmt.Println("begun")
			select {}
		}
		return "hello " + name, nil
	})
})

// greeting is a function of a program that starts a run and prints what it comes to.
func greeting(name string) func(ctx context.Context, app *stepwell.App) error {
	return func(ctx context.Context, app *stepwell.App) error {
		run, err := greet.Start(ctx, app, name)
		if err != nil {
			return err
		}
		result, err := run.Result(ctx)
		if err == nil {
			fmt.Println(result)
		}
		return err
	}
}

var programs = map[string]func(){
	"done":    func() { stepwell.Main(ofMemory(), greeting("ann")) },
	"patient": func() { stepwell.Main(ofMemory(), greeting("patient")) },
	"deaf":    func() { stepwell.Main(ofMemory(), greeting("deaf")) },
	"works":   func() { c := ofMemory(); c.Database = ""; stepwell.Main(c) },
	"fails": func() {
		stepwell.Main(ofMemory(), func(context.Context, *stepwell.App) error { return errors.New("no luck") })
	},
	"nowhere":  func() { stepwell.Main(stepwell.Config{Database: "memories:"}) },
	"checked":  func() { stepwell.Main(stepwell.Config{Database: "memories:"}) },
	"unsound":  func() { stepwell.Main(stepwell.Config{Database: "memory:", MaxRuns: -1}) },
	"nil":      func() { stepwell.Main(ofMemory(), nil) },
	"too much": func() { stepwell.Main(ofMemory(), greeting("ann"), greeting("bob")) },
}

func ofMemory() stepwell.Config {
	return stepwell.Config{Database: "memory:", Definitions: []stepwell.Definition{greet}, Drain: 100 * time.Millisecond}
}

// begun is a database with a run that waits for a worker.
func begun(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "runs.db")
	w, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{greet}})
	if err == nil {
		_, err = greet.Start(t.Context(), app, "patient")
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestMainIsAWholeProgram: how it ends, and what it says then.
func TestMainIsAWholeProgram(t *testing.T) {
	t.Parallel()
	signals := []os.Signal{syscall.SIGTERM, os.Interrupt}
	for _, test := range []struct {
		program   string
		env       string
		signals   int // that are sent when it has begun: one, or as many as it takes
		want      int // exit code; -1: a signal ended it
		out, errs string
	}{
		{program: "done", out: "hello ann\n"},
		{program: "works", env: "STEPWELL_DB=" + begun(t), signals: 1, out: "begun\nended: "},
		{program: "patient", signals: 1, want: 1, errs: "signal", out: "begun\nended: "},
		{program: "deaf", signals: 2, want: -1, out: "begun\n"},
		{program: "fails", want: 1, errs: "no luck\n"},
		{program: "nowhere", want: 1, errs: "memories"},
		{program: "unsound", want: 1, errs: "stepwell.New: invalid: Config.MaxRuns is -1"},
		{program: "nil", want: 1, errs: "the function is nil"},
		{program: "too much", want: 1, errs: "2 functions"},
		{program: "checked", env: "STEPWELL_CHECK=1", out: `{"checked":0}`},
	} {
		if runtime.GOOS == "windows" && test.signals > 0 { // a process cannot be sent any there
			continue
		}
		for _, sig := range signals[:max(1, test.signals)] {
			t.Run(test.program+" "+sig.String(), func(t *testing.T) {
				t.Parallel()
				cmd := exec.CommandContext(t.Context(), os.Args[0])
				cmd.Env = append(os.Environ(), programVariable+"="+test.program, test.env)
				var errs strings.Builder
				cmd.Stderr = &errs
				stdout, err := cmd.StdoutPipe()
				if err == nil {
					err = cmd.Start()
				}
				if err != nil {
					t.Fatal(err)
				}
				out, over := "", make(chan struct{})
				for lines := bufio.NewScanner(stdout); lines.Scan(); {
					if out += lines.Text() + "\n"; test.signals > 0 && lines.Text() == "begun" {
						go func() {
							for range max(1, 1000*(test.signals-1)) {
								_ = cmd.Process.Signal(sig)
								select {
								case <-over:
									return
								case <-time.After(10 * time.Millisecond):
								}
							}
						}()
					}
				}
				_ = cmd.Wait()
				close(over)
				if got := cmd.ProcessState.ExitCode(); got != test.want || !strings.HasPrefix(out, test.out) || !strings.Contains(errs.String(), test.errs) {
					t.Errorf("exit code %d, want %d; it said %q and %q", got, test.want, out, errs.String())
				}
			})
		}
	}
}
