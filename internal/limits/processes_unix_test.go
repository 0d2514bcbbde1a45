//go:build unix

package limits_test

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/world/postgres"
)

// A process with both of these works for the test that started it.
const (
	workerURL  = "STEPWELL_LIMIT_TEST_URL"
	workerFile = "STEPWELL_LIMIT_TEST_FILE"

	workerLease = "STEPWELL_LIMIT_TEST_LEASE" // of the worker; none: as ever
)

func TestMain(m *testing.M) {
	if url := os.Getenv(workerURL); url != "" {
		lease, _ := time.ParseDuration(os.Getenv(workerLease))
		if err := workFor(url, os.Getenv(workerFile), lease); err != nil {
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
	say := func(j job, what string) error { return writeLine(file, "%s %s %d\n", what, j.Tenant, j.N) }
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
	}, stepwell.Limit{AtOnce: mostAtOnce, Key: stepwell.KeyOf(tenantOf)}, stepwell.Limit{AtOnce: tenants*mostAtOnce - 1, Name: "all-counted"})
}

// writeLine appends to a file with one write: lines of several processes do not mix.
func writeLine(file, format string, args ...any) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, format, args...)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

// paced are runs under a rate whose bodies say in a file when they begin.
func paced(file string) *stepwell.Workflow[job, int] {
	return stepwell.Define("paced", func(ctx stepwell.Context, j job) (int, error) {
		return stepwell.Step(ctx, "work", func(ctx context.Context) (int, error) {
			if err := writeLine(file, "%d %d\n", j.N, time.Now().UnixNano()); err != nil {
				return 0, err
			}
			select {
			case <-time.After(10 * workingTime): // so some are at work when their process is killed
			case <-ctx.Done():
				return 0, ctx.Err()
			}
			return j.N, nil
		})
	}, stepwell.Limit{Rate: pacedRate, Per: time.Second})
}

// workFor works until it is killed, or its parent is gone.
func workFor(url, file string, lease time.Duration) error {
	ctx, stop := context.WithTimeout(context.Background(), 3*time.Minute)
	defer stop()
	w, err := postgres.Open(ctx, url)
	if err != nil {
		return err
	}
	app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{counted(file), paced(file), handled(file)}, Lease: lease})
	if err != nil {
		return err
	}
	go func() {
		_, _ = os.Stdin.Read(make([]byte, 1)) // it ends with who started this
		stop()
	}()
	return app.Run(ctx)
}

// beginWorker begins a process that works, until it is killed or the test is over.
func beginWorker(t *testing.T, url, file string, lease time.Duration) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), workerURL+"="+url, workerFile+"="+file, workerLease+"="+lease.String())
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
	begin := func() *exec.Cmd { return beginWorker(t, url, file, 0) }
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

const (
	pacedRate = 20 // a second
	pacedRuns = 100
)

// TestNeverTooOftenOfProcesses: three processes work under a rate, and are killed on the way. In no time more begin
// than the rate says, and none is lost; who goes on with what a killed one had does not pay again.
func TestNeverTooOftenOfProcesses(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t, pgtest.Config{NoSync: true}).URL(t)
	file := filepath.Join(t.TempDir(), "bodies")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := postgres.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	workflow := paced(file)
	app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{workflow}})
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]string, pacedRuns)
	for n := range ids {
		r, err := workflow.Start(t.Context(), app, job{"t", n})
		if err != nil {
			t.Fatal(err)
		}
		ids[n] = r.ID()
	}
	begin := func() *exec.Cmd { return beginWorker(t, url, file, 2*time.Second) }
	all := []*exec.Cmd{begin(), begin(), begin()}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for i, lines := range []int{20, 50, 80} {
		for deadline := time.Now().Add(time.Minute); len(linesOf(t, file)) < lines; <-tick.C {
			if time.Now().After(deadline) {
				t.Fatalf("%d have begun, want %d", len(linesOf(t, file)), lines)
			}
		}
		if err := all[i].Process.Kill(); err != nil {
			t.Fatal(err)
		}
		all = append(all, begin())
	}
	for n, id := range ids {
		if got, err := workflow.Get(app, id).Result(t.Context()); got != n || err != nil {
			t.Fatalf("run %s: got %d, %v, want %d", id, got, err, n)
		}
	}
	neverTooOften(t, linesOf(t, file))
}

// neverTooOften holds the first beginnings of runs against the rate. What is late, as on a machine that is busy, may
// come together with what follows: a second's share.
func neverTooOften(t *testing.T, lines []string) {
	t.Helper()
	first := map[int]int64{}
	for _, line := range lines {
		var n int
		var at int64
		if _, err := fmt.Sscan(line, &n, &at); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if was, is := first[n]; !is || at < was {
			first[n] = at
		}
	}
	if len(lines) == len(first) {
		t.Log("nothing was at work when its process was killed")
	}
	times := slices.Sorted(maps.Values(first))
	for i := range times {
		for j := i; j < len(times); j++ {
			span := time.Duration(times[j] - times[i])
			if most := 1 + int((span+3*time.Second/2)*pacedRate/time.Second); j-i+1 > most {
				t.Fatalf("%d began within %s, want %d at most", j-i+1, span, most)
			}
		}
	}
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
