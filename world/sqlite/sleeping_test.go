package sqlite

import (
	"database/sql/driver"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"testing"
	"time"

	lib "modernc.org/sqlite/lib"

	"github.com/stepwell/stepwell/world"
)

// sleep creates runs from one number up to another that sleep for a day: a birth with one wait, and its release.
func sleep(t testing.TB, w *World, worker string, from, to int) {
	t.Helper()
	var wg sync.WaitGroup
	const side = 64
	for i := range side {
		wg.Go(func() {
			for n := from + i; n < to; n += side {
				if _, err := w.Commit(t.Context(), sleeper(n, worker)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func sleeper(n int, worker string) *world.Commit {
	now := world.Now()
	c := eager(world.NewID(world.PrefixRun, now), "w", worker)
	id := world.CorrelationID(c.Run, now, world.Key{Kind: world.KindSleep, Name: "a day", Occurrence: 1})
	until := now.Add(24*time.Hour + time.Duration(n)*time.Second)
	c.Events = append(c.Events, world.Event{Type: world.WaitCreated, Time: now, ID: id, Kind: world.KindSleep, Name: "a day", Occurrence: 1, Until: until})
	c.Release = &world.Release{WakeAt: until, Waiting: "sleep a day"}
	return c
}

// However many runs sleep, the calls that everybody makes all the time do the same work: SQLite's virtual machine takes as many steps.
func TestSleepingCostsNothing(t *testing.T) {
	t.Parallel()
	w := open(t, Options{Readers: 1})
	wk := join(t, w, time.Hour, class1)
	must(t, w, eager("busy", "w", wk.ID)) // a worker that owns something has more to ask
	sleep(t, w, wk.ID, 0, 100)
	few := stepsOf(t, w, wk)
	sleep(t, w, wk.ID, 100, 1500)
	many := stepsOf(t, w, wk)
	for name, n := range many {
		if n != few[name] {
			t.Errorf("%s: got %d steps with 1500 sleeping runs, %d with 100", name, n, few[name])
		}
		if n == 0 {
			t.Errorf("%s: got no steps; the test proves nothing", name)
		}
	}
}

// calls are those that are made all the time, or by whoever looks.
func calls(t testing.TB, w *World, wk world.Worker) map[string]func() error {
	ctx := t.Context()
	return map[string]func() error{
		"Stats": func() error { _, err := w.Stats(ctx); return err },
		"Take": func() error {
			got, err := w.Claim(ctx, world.ClaimQuery{Worker: wk.ID, Classes: wk.Classes, Runs: 10, Steps: []string{"s"}, Tasks: 10})
			if err == nil && len(got.Runs) > 0 {
				err = fmt.Errorf("took %d runs that sleep", len(got.Runs))
			}
			return err
		},
		"Beat":     func() error { _, err := w.Heartbeat(ctx, world.HeartbeatQuery{Worker: wk.ID}); return err },
		"Runs":     func() error { _, err := w.Runs(ctx, world.RunQuery{Limit: 50}); return err },
		"Workflow": func() error { _, err := w.Runs(ctx, world.RunQuery{Workflow: "w", Limit: 50}); return err },
		"Sweep":    func() error { _, err := w.Sweep(ctx, 1000); return err },
	}
}

// stepsOf counts the steps that each call takes.
func stepsOf(t *testing.T, w *World, wk world.Worker) map[string]int {
	steps := make(map[string]int)
	for name, call := range calls(t, w, wk) {
		countSteps(t, w)
		if err := call(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		steps[name] = countSteps(t, w)
	}
	return steps
}

// countSteps returns how many steps the statements of the writer and of the one reader took since it was asked last.
func countSteps(t *testing.T, w *World) (n int) {
	t.Helper()
	count := func(c *conn) error {
		for _, s := range c.stmts {
			if s != nil {
				n += vmSteps(lib.Xsqlite3_stmt_status, s)
			}
		}
		return nil
	}
	if err := w.write(t.Context(), func(g *group) error { return count(g.tx.conn()) }); err != nil {
		t.Fatal(err)
	}
	if err := w.read(t.Context(), count); err != nil {
		t.Fatal(err)
	}
	return n
}

// vmSteps takes a statement's counter, which the driver does not show, by the handle that the driver has. TLS is a type of the
// driver's C library.
func vmSteps[TLS any](status func(tls *TLS, stmt uintptr, counter, reset int32) int32, s driver.Stmt) int {
	v := reflect.ValueOf(s).Elem()
	tls := (*TLS)(v.FieldByName("c").Elem().FieldByName("tls").UnsafePointer())
	return int(status(tls, uintptr(v.FieldByName("pstmt").Uint()), lib.SQLITE_STMTSTATUS_VM_STEP, 1))
}

// BenchmarkSleeping measures what 100,000 sleeping runs cost: their place on the disk, and the calls that everybody makes.
func BenchmarkSleeping(b *testing.B) {
	const sleeping = 100_000
	path := filepath.Join(b.TempDir(), "runs.db")
	w := openAt(b, path)
	wk := join(b, w, time.Hour, class1)
	sleep(b, w, wk.ID, 0, sleeping)
	must(b, w, eager("busy", "w", wk.ID)) // a worker that owns something has more to ask
	if err := w.read(b.Context(), func(c *conn) error {
		_, err := c.one(walTruncate, func(row) error { return nil })
		return err
	}); err != nil {
		b.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	for name, call := range calls(b, w, wk) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := call(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(info.Size())/sleeping, "bytes/run")
		})
	}
}
