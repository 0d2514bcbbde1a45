package stepwell_test

// Damage in a database file: the run that it is of is blocked and named, and the others go on.

import (
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

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
	path := filepath.Join(t.TempDir(), "runs.db")
	good, other := goodDeploy.define(), serial(2)
	cfg := stepwell.Config{Definitions: []stepwell.Definition{good, other}}
	w := openFile(t, path)
	wk := begin(t, w, cfg)
	run, err := good.Start(t.Context(), wk.App, struct{}{})
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the sleep", func() bool { return len(eventsOf(t, w, run.ID(), world.WaitCreated)) == 1 })
	wk.stop(t)
	if err := numbers.Send(t.Context(), wk.App, run.ID(), number{100}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	execute(t, path, change, run.ID())
	w = openFile(t, path)
	wk = begin(t, w, cfg)
	var b *world.Block
	until(t, "the run to be blocked", func() bool {
		row, err := w.Run(t.Context(), run.ID())
		if err != nil {
			t.Fatal(err)
		}
		b = row.Queue.Blocked
		return b != nil
	})
	if b.Code != world.CodeCorrupt || !strings.Contains(b.Message, says) {
		t.Errorf("blocked as %s: %s; want %s, and %q in it", b.Code, b.Message, world.CodeCorrupt, says)
	}
	o, err := other.Start(t.Context(), wk.App, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := o.Result(t.Context()); err != nil || got != 1 {
		t.Errorf("another run = %d, %v", got, err)
	}
	v, err := world.Verify(t.Context(), w, world.VerifyQuery{})
	if err != nil || !strings.Contains(change, "inbox") && (len(v.Damaged) != 1 || v.Damaged[0].Run != run.ID()) { // doctor reads inboxes by themselves
		t.Errorf("verify names %v, %v; want the run", v.Damaged, err)
	}
	if strings.Contains(change, "DELETE FROM log") {
		noBirth(t, wk.App, run.ID())
	}
	if s, err := wk.Story(t.Context(), run.ID(), false); err != nil || s.Why.Kind != stepwell.WhyBlocked {
		t.Errorf("why: %s, %v", s.Why, err)
	}
	if _, err := w.Deliver(t.Context(), &world.Delivery{Run: run.ID(), Act: true, Events: []world.Event{{Type: world.RunCancelled, By: "operator"}}}); err != nil {
		t.Errorf("a forced cancel: %v", err)
	}
	if row, err := w.Run(t.Context(), run.ID()); err != nil || row.Status != world.Cancelled {
		t.Errorf("after it: %s, %v", row.Status, err)
	}
	wk.stop(t)
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
		path := filepath.Join(t.TempDir(), "runs.db")
		good := goodDeploy.define()
		w := openFile(t, path)
		wk := begin(t, w, stepwell.Config{Definitions: []stepwell.Definition{good}})
		run, err := good.Start(t.Context(), wk.App, struct{}{})
		if err != nil {
			t.Fatal(err)
		}
		until(t, "the sleep", func() bool { return len(eventsOf(t, w, run.ID(), world.WaitCreated)) == 1 })
		wk.stop(t)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		execute(t, path, "UPDATE log SET sum = sum + 1 WHERE seq = 5 AND run = (SELECT key FROM runs WHERE id = ?1)", run.ID())
		w = openFile(t, path)
		app, err := stepwell.New(w, stepwell.Config{})
		if err != nil {
			t.Fatal(err)
		}
		fork, err := app.Fork(t.Context(), run.ID(), stepwell.ForkOptions{At: 2})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(eventsOf(t, w, fork.ID())); n != 2 {
			t.Errorf("the fork begins with %d events, want 2", n)
		}
		if _, err := app.Fork(t.Context(), run.ID(), stepwell.ForkOptions{}); !errors.Is(err, world.ErrCorrupt) {
			t.Errorf("a fork of all: %v; want %v", err, world.ErrCorrupt)
		}
	})
}
