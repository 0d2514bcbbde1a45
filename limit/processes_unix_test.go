//go:build unix

package limit_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/limit"
	"github.com/stepwell/stepwell/world/postgres"
)

// A process with both of these works for the test that started it.
const (
	workerURL  = "STEPWELL_LIMIT_TEST_URL"
	workerFile = "STEPWELL_LIMIT_TEST_FILE"
)

func TestMain(m *testing.M) {
	if url := os.Getenv(workerURL); url != "" {
		if err := workFor(url, os.Getenv(workerFile)); err != nil {
			fmt.Fprintln(os.Stderr, "worker:", err)
			os.Exit(1)
		}
		return
	}
	pgtest.Main(m, pgtest.Config{NoSync: true})
}

const (
	mostAtOnce  = 3
	tenants     = 2
	runsOfEach  = 40
	workingTime = 40 * time.Millisecond
)

// counted are runs whose bodies say in a file when they begin and end.
func counted(file string) *stepwell.Workflow[job, int] {
	say := func(j job, what string) error {
		f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(f, "%s %s %d\n", what, j.Tenant, j.N) // one write: lines of several processes do not mix
		if closed := f.Close(); err == nil {
			err = closed
		}
		return err
	}
	return stepwell.Define("counted", func(ctx stepwell.Context, j job) (int, error) {
		return stepwell.Step(ctx, "work", func(ctx context.Context) (int, error) {
			if err := say(j, "+"); err != nil {
				return 0, err
			}
			select {
			case <-time.After(workingTime):
			case <-ctx.Done():
				return 0, ctx.Err() // it is not its run any more: it says nothing
			}
			return j.N, say(j, "-")
		})
	}, limit.Concurrency(mostAtOnce, limit.Key(tenantOf)), limit.Concurrency(tenants*mostAtOnce-1, limit.Name("all-counted")))
}

// workFor works until it is killed, or its parent is gone.
func workFor(url, file string) error {
	ctx, stop := context.WithTimeout(context.Background(), 3*time.Minute)
	defer stop()
	w, err := postgres.Open(ctx, url)
	if err != nil {
		return err
	}
	app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{counted(file)}})
	if err != nil {
		return err
	}
	go func() {
		_, _ = os.Stdin.Read(make([]byte, 1)) // it ends with who started this
		stop()
	}()
	return app.Run(ctx)
}

// TestNeverTooManyOfProcesses: three processes, of which some are killed and stopped, and a database that crashes. At
// no time more runs of a key are at work than it has places, and all of them end.
func TestNeverTooManyOfProcesses(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t, pgtest.Config{NoSync: true})
	url := server.URL(t)
	file := filepath.Join(t.TempDir(), "bodies")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	begin := func() *exec.Cmd {
		t.Helper()
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), workerURL+"="+url, workerFile+"="+file)
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = in.Close()
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		return cmd
	}
	w, err := postgres.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	workflow := counted(file)
	app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{workflow}})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for n := range runsOfEach {
		for tenant := range tenants {
			r, err := workflow.Start(t.Context(), app, job{fmt.Sprint("t", tenant), n})
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, r.ID())
		}
	}
	all := []*exec.Cmd{begin(), begin(), begin()}
	until := func(what string, lines int) {
		t.Helper()
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for deadline := time.Now().Add(2 * time.Minute); len(linesOf(t, file)) < lines; <-tick.C {
			if time.Now().After(deadline) {
				t.Fatalf("%s: %d lines, want %d", what, len(linesOf(t, file)), lines)
			}
		}
	}
	until("they work", 20)
	if err := all[0].Process.Kill(); err != nil {
		t.Fatal(err)
	}
	until("others go on for who was killed", 60)
	begin()
	if err := all[1].Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	until("others go on beside who is stopped", 90)
	if err := server.Restart(pgtest.Immediate); err != nil {
		t.Fatal(err)
	}
	until("they go on when the database has crashed", 110)
	if err := all[1].Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if _, err := workflow.Get(app, id).Result(t.Context()); err != nil {
			t.Fatalf("run %s: %v", id, err)
		}
	}
	neverTooMany(t, linesOf(t, file))
}

func linesOf(t *testing.T, file string) (lines []string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for s := bufio.NewScanner(f); s.Scan(); {
		lines = append(lines, s.Text())
	}
	return lines
}

// neverTooMany counts runs at work. One whose process was killed has begun, and is at work until it ends elsewhere: its
// place is its own all the while.
func neverTooMany(t *testing.T, lines []string) {
	t.Helper()
	at := map[string]map[string]bool{}
	total, most := 0, 0
	for i, line := range lines {
		word := strings.Fields(line)
		if at[word[1]] == nil {
			at[word[1]] = map[string]bool{}
		}
		runs := at[word[1]]
		switch had := runs[word[2]]; {
		case word[0] == "+" && !had:
			runs[word[2]] = true
			total++
		case word[0] == "-" && had:
			delete(runs, word[2])
			total--
		}
		most = max(most, len(runs))
		if len(runs) > mostAtOnce || total > tenants*mostAtOnce-1 {
			t.Fatalf("line %d: %d of tenant %s at work, and %d of all", i+1, len(runs), word[1], total)
		}
	}
	if most < mostAtOnce {
		t.Errorf("at most %d at once, want that %d were", most, mostAtOnce)
	}
}
