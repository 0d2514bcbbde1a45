package behaviour_test

// Damage in a database file: the run that it is of is blocked and named, and the others go on.

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/sqlite"
)

// damaged is a run in a file that is changed behind its world's back, and the code that goes on beside it.
type damaged struct {
	*testing.T
	path   string
	cfg    stepwell.Config
	good   *stepwell.Workflow[struct{}, int]
	beside *stepwell.Workflow[int, int]
	run    string
	w      *sqlite.World
	wk     *worker
}

// asleepInFile is one whose run sleeps, and whose worker has ended.
func asleepInFile(t *testing.T) *damaged {
	t.Helper()
	d := &damaged{T: t, path: filepath.Join(t.TempDir(), "runs.db"), good: goodDeploy.define(), beside: serial(2)}
	d.cfg = stepwell.Config{Definitions: []stepwell.Definition{d.good, d.beside}}
	d.w = openFile(t, d.path)
	d.wk = begin(t, d.w, d.cfg)
	run, err := d.good.Start(t.Context(), d.wk.App, struct{}{})
	if err != nil {
		t.Fatal(err)
	}
	d.run = run.ID()
	until(t, "the sleep", func() bool { return len(eventsOf(t, d.w, d.run, world.WaitCreated)) == 1 })
	d.wk.stop(t)
	return d
}

// change runs a statement on the closed file, and opens it again.
func (d *damaged) change(query string, args ...any) {
	d.Helper()
	if err := d.w.Close(); err != nil {
		d.Fatal(err)
	}
	execute(d.T, d.path, query, args...)
	d.w = openFile(d.T, d.path)
}

// blocked begins a worker, which blocks the run, while another run goes on.
func (d *damaged) blocked() (b *world.Block) {
	d.Helper()
	d.wk = begin(d.T, d.w, d.cfg)
	until(d.T, "the run to be blocked", func() bool {
		row, err := d.w.Run(d.Context(), d.run)
		if err != nil {
			d.Fatal(err)
		}
		b = row.Queue.Blocked
		return b != nil
	})
	o, err := d.beside.Start(d.Context(), d.wk.App, 0)
	if err != nil {
		d.Fatal(err)
	}
	if got, err := o.Result(d.Context()); err != nil || got != 1 {
		d.Errorf("another run = %d, %v", got, err)
	}
	return b
}

func TestDamageBlocksItsRun(t *testing.T) {
	const key = "(SELECT key FROM runs WHERE id = ?1)"
	for name, c := range map[string]struct{ change, says string }{
		"a payload in the log": {"UPDATE log SET body = cast(replace(cast(body AS text), '1', '3') AS blob) WHERE seq = 5 AND run = " + key, "checksum"},
		"a delivery":           {"UPDATE inbox SET body = cast(replace(cast(body AS text), '100', '101') AS blob) WHERE run = " + key, "of the inbox"},
		"all of its log":       {"DELETE FROM log WHERE run = " + key, "the log has no event 1"},
		"the birth in its log": {"DELETE FROM log WHERE seq = 1 AND run = " + key, "the log has no event 1"},
		"the row of the run":   {"UPDATE runs SET created_us = created_us + 1 WHERE id = ?1", "row"},
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { damagedRun(t, c.change, c.says) }) })
	}
}

func damagedRun(t *testing.T, change, says string) {
	d := asleepInFile(t)
	if err := numbers.Send(t.Context(), d.wk.App, d.run, number{100}); err != nil {
		t.Fatal(err)
	}
	d.change(change, d.run)
	if b := d.blocked(); b.Code != world.CodeCorrupt || !strings.Contains(b.Message, says) {
		t.Errorf("blocked as %s: %s; want %s, and %q in it", b.Code, b.Message, world.CodeCorrupt, says)
	}
	v, err := world.Verify(t.Context(), d.w, world.VerifyQuery{})
	if err != nil || !strings.Contains(change, "inbox") && (len(v.Damaged) != 1 || v.Damaged[0].Run != d.run) { // doctor reads inboxes by themselves
		t.Errorf("verify names %v, %v; want the run", v.Damaged, err)
	}
	if strings.Contains(change, "DELETE FROM log") {
		noBirth(t, d.wk.App, d.run)
	}
	if s, err := d.wk.Story(t.Context(), d.run, false); err != nil || s.Why.Kind != stepwell.WhyBlocked {
		t.Errorf("why: %s, %v", s.Why, err)
	}
	if _, err := d.w.Deliver(t.Context(), &world.Delivery{Run: d.run, Act: true, Events: []world.Event{{Type: world.RunCancelled, By: "operator"}}}); err != nil {
		t.Errorf("a forced cancel: %v", err)
	}
	if row, err := d.w.Run(t.Context(), d.run); err != nil || row.Status != world.Cancelled {
		t.Errorf("after it: %s, %v", row.Status, err)
	}
	d.wk.stop(t)
}

// noBirth asks for all that reads a log from its birth on.
func noBirth(t *testing.T, app *stepwell.App, run string) {
	t.Helper()
	for what, do := range map[string]func() error{
		"export":  func() error { return app.Export(t.Context(), run, io.Discard) },
		"fork":    func() error { _, err := app.Fork(t.Context(), run, stepwell.ForkOptions{At: 2}); return err },
		"restart": func() error { _, err := app.Restart(t.Context(), run, stepwell.RestartOptions{}); return err },
		"retry":   func() error { _, err := app.Retry(t.Context(), run); return err },
	} {
		if err := do(); !errors.Is(err, world.ErrCorrupt) || !strings.Contains(err.Error(), "the log has no event 1") {
			t.Errorf("%s: %v; want that the log has no event 1", what, err)
		}
	}
}

// TestForkBeforeDamage: what is damaged behind the cut is not needed.
func TestForkBeforeDamage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := asleepInFile(t)
		d.change("UPDATE log SET sum = sum + 1 WHERE seq = 5 AND run = (SELECT key FROM runs WHERE id = ?1)", d.run)
		app, err := stepwell.New(d.w, stepwell.Config{})
		if err != nil {
			t.Fatal(err)
		}
		fork, err := app.Fork(t.Context(), d.run, stepwell.ForkOptions{At: 2})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(eventsOf(t, d.w, fork.ID())); n != 2 {
			t.Errorf("the fork begins with %d events, want 2", n)
		}
		if _, err := app.Fork(t.Context(), d.run, stepwell.ForkOptions{}); !errors.Is(err, world.ErrCorrupt) {
			t.Errorf("a fork of all: %v; want %v", err, world.ErrCorrupt)
		}
	})
}

// TestWakeOfADamagedRun: a run that an unreadable log blocks is woken like any other that is blocked, so that it goes on as soon as its rows are back; one that is not
// blocked yet says what is wrong.
func TestWakeOfADamagedRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const spoil = "UPDATE log SET sum = sum + %d WHERE seq = 5 AND run = (SELECT key FROM runs WHERE id = ?1)"
		d := asleepInFile(t)
		d.change(fmt.Sprintf(spoil, 1), d.run)
		if _, err := d.wk.Wake(t.Context(), d.run); !errors.Is(err, world.ErrClosed) {
			t.Fatalf("the world that was closed: %v", err)
		}
		app, err := stepwell.New(d.w, stepwell.Config{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := app.Wake(t.Context(), d.run); !errors.Is(err, world.ErrCorrupt) {
			t.Errorf("before it is blocked: %v; want %v", err, world.ErrCorrupt)
		}
		if err := numbers.Send(t.Context(), app, d.run, number{100}); err != nil {
			t.Fatal(err)
		}
		d.blocked()
		d.wk.stop(t)
		row := func() world.Run {
			row, err := d.w.Run(t.Context(), d.run)
			if err != nil {
				t.Fatal(err)
			}
			return row
		}
		before := row().Queue
		app, err = stepwell.New(d.w, stepwell.Config{})
		if err != nil {
			t.Fatal(err)
		}
		if n, err := app.Wake(t.Context(), d.run); n.Total() != 0 || !n.Tried || err != nil {
			t.Errorf("blocked by its log: %+v, %v; want it woken", n, err)
		}
		if after := row().Queue; after.Blocked == nil || after.Blocked.Tries != 0 || !after.WakeAt.Before(before.WakeAt) {
			t.Errorf("after it: %+v, was %+v; want it to be tried again at once", after, before)
		}
		d.change(fmt.Sprintf(spoil, -1), d.run)
		d.wk = begin(t, d.w, d.cfg)
		until(t, "the run to go on", func() bool { q := row().Queue; return q == nil || q.Blocked == nil })
		d.wk.stop(t)
	})
}
