//go:build unix

package limits_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/queue"
	"github.com/stepwell/stepwell/world/postgres"
)

var jobQueue = queue.Define[job]("jobs", queue.Visibility(2*time.Second), queue.MaxReceives(1000),
	queue.Limits(stepwell.Limit{AtOnce: mostAtOnce, By: "tenant"}, stepwell.Limit{AtOnce: tenants*mostAtOnce - 1, Name: "all-jobs"}))

// handled works on messages, and says in a file when it begins and ends with one.
func handled(file string) stepwell.Definition {
	return jobQueue.Handle(func(ctx context.Context, m *queue.Message[job]) error {
		if err := writeLine(file, "+ %s %d\n", m.Payload.Tenant, m.Payload.N); err != nil {
			return err
		}
		select {
		case <-time.After(workingTime):
		case <-ctx.Done():
			return ctx.Err() // it is not its message any more: it says nothing
		}
		return writeLine(file, "- %s %d\n", m.Payload.Tenant, m.Payload.N)
	})
}

// TestNeverTooManyMessagesOfProcesses: three processes that handle messages, of which some are killed and stopped.
// At no time more messages of a key are worked on than it has places, and all are.
func TestNeverTooManyMessagesOfProcesses(t *testing.T) {
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
	app, err := stepwell.New(w, stepwell.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for n := range runsOfEach {
		for tenant := range tenants {
			if _, err := jobQueue.Send(t.Context(), app, job{fmt.Sprint("t", tenant), n}); err != nil {
				t.Fatal(err)
			}
		}
	}
	begin := func() *exec.Cmd { return beginWorker(t, url, file, 0) }
	all := []*exec.Cmd{begin(), begin(), begin()}
	until := func(what string, done func() bool) {
		t.Helper()
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for deadline := time.Now().Add(2 * time.Minute); !done(); <-tick.C {
			if time.Now().After(deadline) {
				t.Fatalf("%s: %d lines", what, len(linesOf(t, file)))
			}
		}
	}
	lines := func(n int) func() bool { return func() bool { return len(linesOf(t, file)) >= n } }
	until("they work", lines(20))
	if err := all[0].Process.Kill(); err != nil {
		t.Fatal(err)
	}
	until("others go on for who was killed", lines(60))
	begin()
	if err := all[1].Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	until("others go on beside who is stopped", lines(100))
	if err := all[1].Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	until("all are done", func() bool {
		stats, err := w.Messages().Queues(t.Context(), "jobs")
		if err != nil {
			t.Fatal(err)
		}
		return len(stats) == 1 && len(stats[0].Counts) == 0
	})
	neverTooMany(t, linesOf(t, file))
}
