package sqlite

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
)

// A swept run leaves no row behind, in any table that names it.
func TestSweepLeavesNothing(t *testing.T) {
	t.Parallel()
	now := world.Now()
	w := open(t, Options{Now: func() time.Time { return now }})
	wk := join(t, w, time.Hour*1000, class1)
	const runs = 120 // more than a batch
	for i := range runs {
		c := eager(fmt.Sprint("r", i), "w", wk.ID)
		c.Events = append(c.Events, world.Event{Type: world.HookCreated, ID: "h", Name: "h", Token: fmt.Sprint("t", i), Time: now})
		c.Events[0].Birth.Attributes = map[string]json.RawMessage{"n": fmt.Append(nil, i)}
		must(t, w, c)
		if _, err := w.Deliver(t.Context(), &world.Delivery{Run: c.Run, ID: "d", Events: []world.Event{{Type: world.SignalReceived, Name: "s"}}}); err != nil {
			t.Fatal(err)
		}
	}
	must(t, w, eager("lives", "w", wk.ID))
	for i := range runs {
		if _, err := w.Deliver(t.Context(), &world.Delivery{Run: fmt.Sprint("r", i), ID: "x", Act: true, Events: []world.Event{{Type: world.RunCancelled}}}); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := w.Sweep(t.Context(), 1000); n != 0 || err != nil {
		t.Fatalf("swept %d, %v, want none before the retention ends", n, err)
	}
	now = now.Add(2 * time.Hour)
	for _, want := range []int{70, 50, 0} {
		if n, err := w.Sweep(t.Context(), 70); n != want || err != nil {
			t.Fatalf("swept %d, %v, want %d", n, err, want)
		}
	}
	err := w.read(t.Context(), func(c *conn) error {
		for table, want := range map[string]int64{"runs": 1, "queue": 1, "log": 1, "inbox": 0, "tasks": 0, "hooks": 0, "awaits": 0, "chunks": 0, "attributes": 0} {
			p, err := c.raw.Prepare("SELECT count(*) FROM " + table)
			if err != nil {
				return err
			}
			rows, err := p.(driver.StmtQueryContext).QueryContext(t.Context(), nil)
			if err != nil {
				return err
			}
			got := make(row, 1)
			if err := rows.Next(got); err != nil {
				return err
			}
			if got.int(0) != want {
				t.Errorf("%s: got %d rows, want %d", table, got.int(0), want)
			}
			_ = rows.Close()
			_ = p.Close()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	stats, err := w.Stats(t.Context())
	if err != nil || len(stats.Workflows) != 1 || stats.Workflows[0] != (world.WorkflowStats{Workflow: "w", Running: 1}) {
		t.Errorf("got %+v, %v, want one running", stats.Workflows, err)
	}
}
