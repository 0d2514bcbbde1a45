package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
)

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name string, text []byte, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	other := filepath.Join(dir, "other.db")
	script(t, other, "CREATE TABLE mine (a)")
	newer := filepath.Join(dir, "newer.db")
	if w, err := Open(newer); err != nil {
		t.Fatal(err)
	} else if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	script(t, newer, "PRAGMA user_version = 99")
	tests := []struct{ name, path, says string }{
		{"no directory", filepath.Join(dir, "none", "runs.db"), "directory does not exist"},
		{"a directory", dir, "is a directory"},
		{"behind a file", filepath.Join(file("plain", nil, 0o600), "runs.db"), "not a directory"},
		{"no database", file("text", bytes.Repeat([]byte("not a database "), 1000), 0o600), "not a SQLite database"},
		{"of another program", other, "another program"},
		{"newer", newer, "schema version 99"},
	}
	if os.Getuid() != 0 { // root may write everything
		tests = append(tests, struct{ name, path, says string }{"read-only", file("readonly.db", nil, 0o400), "may not be written"})
	}
	for _, tt := range tests {
		before, _ := os.ReadFile(tt.path)
		w, err := Open(tt.path)
		if err == nil {
			_ = w.Close()
		}
		if !errors.Is(err, world.ErrStorage) || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), tt.path) {
			t.Errorf("%s: got error %v, want ErrStorage that says %q", tt.name, err, tt.says)
		}
		if after, _ := os.ReadFile(tt.path); !bytes.Equal(before, after) {
			t.Errorf("%s: the file was changed", tt.name)
		}
	}
	for _, path := range []string{"", ":memory:"} {
		_, err := Open(path)
		wantErr(t, err, world.ErrInvalid)
	}
}

func script(t testing.TB, path, text string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.Exec(text); err != nil {
		t.Fatal(err)
	}
}

// pagesOfSchema is how many pages a database has that holds nothing.
func pagesOfSchema(t testing.TB) (n int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "empty.db")
	w, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if err := db.QueryRow("PRAGMA page_count").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	w := open(t, Options{MaxPages: pagesOfSchema(t) + 30})
	wk := join(t, w, 0, class1)
	must(t, w, eager("r", "w", wk.ID))
	big := bytes.Repeat([]byte("1"), 60<<10)
	var err error
	next := int64(3)
	for ; err == nil && next < 100; next++ {
		_, err = w.Commit(t.Context(), &world.Commit{ID: commitID(), Run: "r", Worker: wk.ID, Claim: 1, First: next, Events: []world.Event{
			{Type: world.SignalReceived, Name: "s", Time: world.Now(), Payload: big},
		}})
	}
	if !errors.Is(err, world.ErrStorage) || !strings.Contains(err.Error(), "full") {
		t.Fatalf("got error %v, want ErrStorage: full", err)
	}
	next--
	page, err := w.Events(t.Context(), "r", world.EventQuery{})
	if err != nil || int64(len(page.Events)) != next-1 {
		t.Fatalf("got %d events, %v, want %d", len(page.Events), err, next-1)
	}
	// What needs no room goes on.
	must(t, w, &world.Commit{ID: commitID(), Run: "r", Worker: wk.ID, Claim: 1, First: next, Release: &world.Release{}})
}

func TestFullDiskFailsAlone(t *testing.T) {
	t.Parallel()
	w := open(t, Options{MaxPages: pagesOfSchema(t) + 30})
	wk := join(t, w, 0, class1)
	for i := range 9 {
		must(t, w, eager(fmt.Sprint("r", i), "w", wk.ID))
	}
	errs := make([]error, 9)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			c := &world.Commit{ID: commitID(), Run: fmt.Sprint("r", i), Worker: wk.ID, Claim: 1, First: 3, Events: []world.Event{
				{Type: world.SignalReceived, Name: "s", Time: world.Now(), Payload: []byte("1")},
			}}
			if i == 4 {
				c.Events[0].Payload = bytes.Repeat([]byte("1"), 2<<20)
			}
			_, errs[i] = w.Commit(context.Background(), c)
		})
	}
	wg.Wait()
	for i, err := range errs {
		if want := i == 4; errors.Is(err, world.ErrStorage) != want || !want && err != nil {
			t.Errorf("commit %d: got error %v", i, err)
		}
	}
}

func TestOneWorkerProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.db")
	a, b := openAt(t, path), openAt(t, path)
	wa := join(t, a, 0, class1)
	must(t, a, eager("r", "w", wa.ID))
	second := world.Worker{ID: world.NewID(world.PrefixWorker, time.Now()), Name: "second", Classes: []world.Class{class1}}
	_, err := b.Join(t.Context(), second)
	if !errors.Is(err, world.ErrWorkerExists) || !strings.Contains(err.Error(), t.Name()) {
		t.Fatalf("got error %v, want ErrWorkerExists that names %s", err, t.Name())
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	// The next process voids the leases of the one before it, however long they were.
	if _, err := b.Join(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	if got := claim(t, b, second, 5); len(got.Runs) != 1 || got.Runs[0].Run != "r" || got.Runs[0].Claim != 2 {
		t.Fatalf("took %+v, want r", got.Runs)
	}
}

func TestForcedCancelFromAnotherProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.db")
	a, b := openAt(t, path), openAt(t, path)
	wk := join(t, a, 0, class1)
	must(t, a, eager("r", "w", wk.ID))
	heard := make(chan world.Notice, 100)
	stop := a.Notify(func(n world.Notice) {
		select {
		case heard <- n:
		default:
		}
	})
	defer stop()
	d := &world.Delivery{Run: "r", ID: "x", Act: true, Events: []world.Event{{Type: world.RunCancelled, By: "me"}}}
	if got, err := b.Deliver(t.Context(), d); err != nil || got.Owner != wk.ID {
		t.Fatalf("got %+v, %v, want the owner %s", got, err, wk.ID)
	}
	for deadline := time.After(5 * time.Second); ; {
		select {
		case n := <-heard:
			if n.Kind != world.NoticeMail || n.Run != "" {
				continue
			}
		case <-deadline:
			t.Fatal("the bell was not heard")
		}
		break
	}
	heartbeat, err := a.Heartbeat(t.Context(), world.HeartbeatQuery{Worker: wk.ID})
	if err != nil || len(heartbeat.Lost) != 1 || heartbeat.Lost[0] != "r" {
		t.Fatalf("got %+v, %v, want r lost", heartbeat, err)
	}
	_, err = a.Commit(t.Context(), stepCommit("r", wk.ID, 0))
	wantErr(t, err, world.ErrLeaseLost)
}

// A COMMIT that failed in an unclear way is an unknown outcome. The writer begins anew, and the file tells what became of it.
func TestUnknownOutcome(t *testing.T) {
	t.Parallel()
	for _, written := range []bool{false, true} {
		t.Run(fmt.Sprint("written=", written), func(t *testing.T) {
			t.Parallel()
			w := open(t)
			wk := join(t, w, 0, class1)
			must(t, w, eager("r", "w", wk.ID))
			if err := w.write(t.Context(), func(g *group) error {
				g.tx.conn().fault = func(s *statement, run func() error) error {
					if s != commit {
						return run()
					}
					if written {
						if err := run(); err != nil {
							t.Error(err)
						}
					}
					return errors.New("the disk is gone")
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			c := stepCommit("r", wk.ID, 0)
			_, err := w.Commit(t.Context(), c)
			wantErr(t, err, world.ErrUnknownOutcome)
			_, err = w.Outcome(t.Context(), c)
			if written {
				wantErr(t, err, nil)
			} else {
				wantErr(t, err, world.ErrNotFound)
				must(t, w, c)
			}
			must(t, w, stepCommit("r", wk.ID, 1))
		})
	}
}

func TestIdleTakeIsOneStatement(t *testing.T) {
	t.Parallel()
	w := open(t)
	wk := join(t, w, 0, class1)
	wk.Steps = []string{"a", "b"}
	must(t, w, birthOf("later", "w"))
	claim(t, w, wk, 1)
	must(t, w, &world.Commit{ID: commitID(), Run: "later", Worker: wk.ID, Claim: 1, First: 2, Release: &world.Release{WakeAt: world.Now().Add(time.Hour)}})
	before := w.counters.statements.Load()
	for range 10 {
		if got := claim(t, w, wk, 5); len(got.Runs) != 0 || got.Next.IsZero() {
			t.Fatalf("took %+v, want nothing but the next time", got)
		}
		if _, err := w.Heartbeat(t.Context(), world.HeartbeatQuery{Worker: wk.ID}); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.counters.statements.Load() - before; got != 10 {
		t.Errorf("10 idle claims and heartbeats: got %d statements, want 10", got)
	}
}

func TestEventsView(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.db")
	w := openAt(t, path)
	wk := join(t, w, 0, class1)
	birth := eager("r", "w", wk.ID)
	must(t, w, birth)
	c := stepCommit("r", wk.ID, 0)
	for i := range c.Events {
		c.Events[i].ID = world.CorrelationID("r", birth.Events[0].Time, world.Key{Kind: world.KindClosure, Name: "charge", Occurrence: min(i, 1)})
	}
	must(t, w, c)
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	rows, err := db.Query("SELECT seq, type, time_us, coalesce(correlation, ''), coalesce(payload, '') FROM events WHERE run = 'r' ORDER BY seq")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	want, err := w.Events(t.Context(), "r", world.EventQuery{})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for ; rows.Next(); n++ {
		var seq, us int64
		var typ, id, payload string
		if err := rows.Scan(&seq, &typ, &us, &id, &payload); err != nil {
			t.Fatal(err)
		}
		e := want.Events[n]
		if seq != e.Seq || typ != string(e.Type) || us != e.Time.UnixMicro() || id != e.ID || payload != string(e.Payload) {
			t.Errorf("got %d %s %d %s %s, want %+v", seq, typ, us, id, payload, e)
		}
	}
	if n != len(want.Events) {
		t.Errorf("got %d events, want %d", n, len(want.Events))
	}
}

func TestPathOf(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"sqlite:runs.db": "runs.db", "sqlite:///var/lib/runs.db": "/var/lib/runs.db", "sqlite:/var/a%20b.db": "/var/a b.db", "sqlite:./a.db": "./a.db",
	} {
		if got, err := PathOf(url); err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", url, got, err, want)
		}
	}
	for _, url := range []string{"", "runs.db", "sqlite:", "postgres://host/db", "sqlite://host/runs.db", "sqlite:a?b=c"} {
		if got, err := PathOf(url); !errors.Is(err, world.ErrInvalid) {
			t.Errorf("%s: got %q, %v, want ErrInvalid", url, got, err)
		}
	}
}

func TestOddPaths(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a b.db", "100%.db", "what?.db", "a#b.db", "größe.db"} {
		path := filepath.Join(t.TempDir(), name)
		w := openAt(t, path)
		must(t, w, birthOf("r", "w"))
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
