package sqlite

// What other processes do to the file stalls the writer at most, and costs no worker its lease.

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
)

// foreign is a connection of another program's.
func foreign(t testing.TB, path string) *sql.Conn {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	c, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func sqlOf(t testing.TB, c *sql.Conn, text string) {
	t.Helper()
	if _, err := c.ExecContext(context.Background(), text); err != nil {
		t.Fatal(err)
	}
}

// read begins a transaction that reads.
func read(t testing.TB, c *sql.Conn) {
	t.Helper()
	sqlOf(t, c, "BEGIN")
	n := 0
	if err := c.QueryRowContext(t.Context(), "SELECT count(*) FROM runs").Scan(&n); err != nil {
		t.Fatal(err)
	}
}

// grow writes until the log's file has a size.
func grow(t testing.TB, w *World, prefix string, size int64) {
	t.Helper()
	for i := 0; logSize(w.path) < size; i++ {
		c := birthOf(fmt.Sprint(prefix, i), "w")
		c.Events[0].Payload = fmt.Appendf(nil, `"%0200000d"`, i)
		must(t, w, c)
	}
}

// While a reader holds the log the writer never waits for it; the log names it; and when it has gone the log is cut to its size.
func TestReaderStallsNoWriter(t *testing.T) {
	t.Parallel()
	const size = 256 << 10
	w := open(t, Options{CheckpointSize: size})
	log := &lines{}
	defer w.Report(slog.New(slog.NewTextHandler(log, nil)))()
	// A wait would be as long as the busy timeout, and a statement that waits is one that TRUNCATE or its like makes on the writer's connection.
	waits := 0
	fault(t, w, func(_ *group, s *statement, run func() error) error {
		if s == walTruncate {
			waits++
		}
		return run()
	})
	c := foreign(t, w.path)
	read(t, c)
	grow(t, w, "a", 10*size)
	if !strings.Contains(log.text(), "a reader keeps the write-ahead log from being copied") {
		t.Errorf("the log says nothing of the reader: %q", log.text())
	}
	sqlOf(t, c, "ROLLBACK")
	for i := 0; logSize(w.path) > truncateAt*size; i++ {
		if i > 200 {
			t.Fatalf("the log still has %d bytes", logSize(w.path))
		}
		c := birthOf(fmt.Sprint("c", i), "w")
		c.Events[0].Payload = fmt.Appendf(nil, `"%020000d"`, i)
		must(t, w, c)
	}
	must(t, w, birthOf("last", "w")) // what follows the group before is over
	if waits > 0 {
		t.Errorf("the writer's connection waited for readers %d times", waits)
	}
	if !strings.Contains(log.text(), "could be copied") {
		t.Errorf("the log does not say that it is over: %q", log.text())
	}
}

// lines is a log for tests.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer // guarded by mu
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// A worker whose writer stood still for longer than its lease is not dead: who sends heartbeats as soon as it can keeps what it holds, though another worker of the process asks first.
func TestStalledWriterEndsNoLease(t *testing.T) {
	t.Parallel()
	const lease = 300 * time.Millisecond
	w := open(t)
	c := foreign(t, w.path)
	first, second := join(t, w, lease, class1), join(t, w, lease, class1)
	must(t, w, eager("r", "w", first.ID))
	sqlOf(t, c, "BEGIN IMMEDIATE")
	began := time.Now()
	var wg sync.WaitGroup
	var claimed world.Claimed
	var errs [2]error
	wg.Go(func() { // it is in the writer's hands, which waits
		_, errs[0] = w.Commit(context.Background(), birthOf("s", "other"))
	})
	waitFor(func() bool { return time.Since(began) > 2*lease })
	wg.Go(func() {
		claimed, errs[1] = w.Claim(context.Background(), world.ClaimQuery{Worker: second.ID, Classes: second.Classes, Runs: 5})
	})
	waitFor(func() bool { return len(w.requests) > 0 })
	sqlOf(t, c, "ROLLBACK")
	wg.Wait()
	if errs[0] != nil || errs[1] != nil || len(claimed.Runs) > 0 {
		t.Fatalf("got %v, %+v: want nothing to be taken from a worker that lives", errs, claimed.Runs)
	}
	if _, err := w.Heartbeat(t.Context(), world.HeartbeatQuery{Worker: first.ID}); err != nil {
		t.Fatal(err)
	}
	must(t, w, stepCommit("r", first.ID, 0))
}

// A worker that asks is alive, however late: it ends no lease of its own.
func TestWhoAsksIsAlive(t *testing.T) {
	t.Parallel()
	now := world.Now()
	w := open(t, Options{Now: func() time.Time { return now }})
	wk := join(t, w, 10*time.Second, class1)
	must(t, w, eager("r", "w", wk.ID))
	now = now.Add(time.Minute)
	if got := claim(t, w, wk, 5); len(got.Runs) > 0 {
		t.Fatalf("took %+v, which it holds", got.Runs)
	}
	must(t, w, stepCommit("r", wk.ID, 0))
}

// Processes that come and go copy the log too, though each writes little and another one never closes the file; doctor finds a log that is too large.
func TestShortLivedProcessesCopyTheLog(t *testing.T) {
	t.Parallel()
	const size = 256 << 10
	path := filepath.Join(t.TempDir(), "runs.db")
	idle := openAt(t, path, Options{CheckpointSize: size}) // keeps the file open
	c := foreign(t, path)
	read(t, c)
	grow(t, idle, "a", 6*size)
	found := false
	all, err := world.Findings(t.Context(), idle)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		found = found || f.Check == "file" && f.Health == world.HealthWarning && strings.Contains(f.Found, "write-ahead log of 1 MiB")
	}
	if !found {
		t.Errorf("got %+v, want a warning of the log", all)
	}
	sqlOf(t, c, "ROLLBACK")
	most := int64(0)
	for i := range 40 {
		w, err := Open(path, Options{CheckpointSize: size})
		if err != nil {
			t.Fatal(err)
		}
		c := birthOf(fmt.Sprint("short", i), "w")
		c.Events[0].Payload = fmt.Appendf(nil, `"%060000d"`, i)
		must(t, w, c)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		most = max(most, logSize(path)) // Close has waited for the writer
		if i == 0 && most > truncateAt*size {
			t.Errorf("the first one leaves a log of %d bytes, want at most %d", most, truncateAt*size)
		}
	}
	if most > truncateAt*size {
		t.Errorf("the log had %d bytes, want at most %d", most, truncateAt*size)
	}
}

// readVariable makes this program another process that reads the database it names, until its input ends.
const readVariable = "STEPWELL_TEST_READ"

func readUntilTheEnd(path string) {
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		panic(err)
	}
	tx, err := db.Begin()
	if err != nil {
		panic(err)
	}
	n := 0
	if err := tx.QueryRow("SELECT count(*) FROM runs").Scan(&n); err != nil {
		panic(err)
	}
	fmt.Println("reads")
	_, _ = os.Stdin.Read(make([]byte, 1))
	os.Exit(0)
}
