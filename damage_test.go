package stepwell_test

// Damage in a database file: the run that it is of is blocked and named, and the others go on.

import (
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
