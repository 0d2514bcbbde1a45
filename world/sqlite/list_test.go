package sqlite

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

// listed is the first page of a list, by IDs, with what it took: its statement, and how many rows that one handed out.
func listed(t *testing.T, w *World, q world.RunQuery) (ids []string, by string, rows int) {
	t.Helper()
	page, err := w.Runs(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range page.Runs {
		ids = append(ids, r.ID)
	}
	before, _ := rules.ParseRunCursor(q.Cursor)
	if err := w.read(t.Context(), func(c *conn) error {
		l, err := way(c, &q, before)
		if err != nil {
			return err
		}
		edge, err := l.reach(c, before, rules.MostScanned)
		if err != nil {
			return err
		}
		by = l.list.name
		return c.query(l.list, func(row) (bool, error) { rows++; return true, nil }, append([]any{before, edge}, l.args...)...)
	}); err != nil {
		t.Fatal(err)
	}
	return ids, by, rows
}

// Who lists the few runs that matter among many that do not is handed no more than those few, by whichever way is the shorter.
func TestListsPassOverWhatDoesNotMatch(t *testing.T) {
	t.Parallel()
	w := open(t)
	wk := join(t, w, time.Hour, class1)
	end := func(run string, kind world.EventType) {
		e := world.Event{Type: kind, Time: world.Now()}
		if kind == world.RunFailed {
			e.Error = &world.Error{Message: "no"}
		}
		must(t, w, eager(run, "w", wk.ID))
		must(t, w, &world.Commit{ID: commitID(), Run: run, Worker: wk.ID, Claim: 1, Build: "b1", First: 3, Events: []world.Event{e}})
	}
	must(t, w, birthOf("pending", "w"))
	end("failed", world.RunFailed)
	must(t, w, eager("running", "w", wk.ID))
	for i := range 30 {
		end(fmt.Sprintf("over-%d", i), world.RunCompleted)
	}
	check := func(what string, q world.RunQuery, wantBy string, want ...string) {
		t.Helper()
		got, by, rows := listed(t, w, q)
		if !slices.Equal(got, want) || by != wantBy || rows != len(want) {
			t.Errorf("%s: got %q by %s, which handed out %d rows; want %q by %s", what, got, by, rows, want, wantBy)
		}
	}
	live := []world.Status{world.Running, world.Pending}
	check("running", world.RunQuery{Status: live[:1]}, "list_live_runs", "running")
	check("pending", world.RunQuery{Status: live[1:]}, "list_live_runs", "pending")
	check("running of w", world.RunQuery{Workflow: "w", Status: live[:1]}, "list_live_runs", "running")
	check("not over of w", world.RunQuery{Workflow: "w", Status: live}, "list_live_runs", "running", "pending")
	check("not over, behind a cursor", world.RunQuery{Status: live, Cursor: "r3"}, "list_live_runs", "pending")
	failed, cancelled := []world.Status{world.Failed}, []world.Status{world.Cancelled}
	check("failed", world.RunQuery{Status: failed}, "list_failed_runs", "failed")
	check("failed of w", world.RunQuery{Workflow: "w", Status: failed}, "list_failed_runs", "failed")
	check("failed of w, behind a cursor", world.RunQuery{Workflow: "w", Status: failed, Cursor: "r3"}, "list_failed_runs", "failed")
	check("failed with another version", world.RunQuery{Version: 2, Status: failed}, "list_failed_runs")
	check("failed, where none did", world.RunQuery{Status: failed, Cursor: "r2"}, "list_failed_runs")
	check("cancelled, where none was", world.RunQuery{Status: cancelled}, "list_failed_runs")
	check("cancelled of w, where none was", world.RunQuery{Workflow: "w", Status: cancelled}, "list_failed_runs")
	check("failed or pending", world.RunQuery{Workflow: "w", Status: []world.Status{world.Failed, world.Pending}, Cursor: "r3"}, "list_workflow_runs",
		"failed", "pending")
	check("created after the end of the world", world.RunQuery{Since: world.MaxTime}, "list_runs")
	check("created before its beginning", world.RunQuery{Until: time.Time{}.Add(time.Microsecond)}, "list_runs")

	for i := range 40 { // now the queue is the longer way to those of w
		must(t, w, birthOf(fmt.Sprintf("sleeper-%d", i), "v"))
	}
	check("running of w, in a long queue", world.RunQuery{Workflow: "w", Status: live}, "list_workflow_runs", "running", "pending")
	check("running, in a long queue", world.RunQuery{Status: live[:1]}, "list_live_runs", "running")
	check("of an unknown workflow", world.RunQuery{Workflow: "u", Status: live}, "list_workflow_runs")
}

// A page is one statement, however many runs it has and whatever they wait for; a filter reads inputs until the page is full, and no further.
func TestAListIsOneStatement(t *testing.T) {
	t.Parallel()
	w := open(t)
	for i := range 30 {
		must(t, w, birthOf(fmt.Sprintf("r%d", i), "w"))
	}
	for _, c := range []struct {
		q                world.RunQuery
		statements, rows int64
	}{
		{world.RunQuery{}, 1, 30},
		{world.RunQuery{Workflow: "w", Limit: 5}, 1, 5},
		{world.RunQuery{Status: []world.Status{world.Pending}, Limit: 5}, 2, 5},                // and how far it may look
		{world.RunQuery{Workflow: "w", Status: []world.Status{world.Pending}, Limit: 5}, 3, 5}, // and by which way
		{world.RunQuery{Input: []json.RawMessage{json.RawMessage(`{"in":1}`)}, Limit: 5}, 1, 5},
		{world.RunQuery{Input: []json.RawMessage{json.RawMessage(`{"in":2}`)}, Limit: 5}, 1, 30},
	} {
		before := w.counters.read()
		if _, err := w.Runs(t.Context(), c.q); err != nil {
			t.Fatal(err)
		}
		after := w.counters.read()
		if got, rows := after.Statements-before.Statements, after.RowsRead-before.RowsRead; got != c.statements || rows != c.rows {
			t.Errorf("%+v: got %d statements and %d inputs read, want %d and %d", c.q, got, rows, c.statements, c.rows)
		}
	}
}

// A page of a filtered list passes over a bounded number of runs, by each way; the next one goes on behind the last of them.
func TestAFilteredPageIsBounded(t *testing.T) {
	t.Parallel()
	const most = 5
	w := open(t)
	wk := join(t, w, time.Hour, class1)
	must(t, w, birthOf("pending", "w"))
	for i := range 12 {
		must(t, w, eager(fmt.Sprintf("running-%d", i), "w", wk.ID))
	}
	for what, c := range map[string]struct {
		q     world.RunQuery
		pages int
	}{
		"by key":            {world.RunQuery{Status: []world.Status{world.Pending, world.Failed}}, 3},
		"by workflow":       {world.RunQuery{Workflow: "w", Status: []world.Status{world.Pending, world.Failed}}, 3},
		"by the queue":      {world.RunQuery{Status: []world.Status{world.Pending}}, 3},
		"by time of birth":  {world.RunQuery{Until: time.Unix(0, 0)}, 3},
		"with no filter":    {world.RunQuery{}, 1},
		"all but few match": {world.RunQuery{Status: []world.Status{world.Running}}, 3},
	} {
		var got []string
		before, pages := int64(math.MaxInt64), 0
		for more := true; more; pages++ {
			page, err := w.runs(t.Context(), &c.q, before, most)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range page.Runs {
				got = append(got, r.ID)
			}
			if more = page.Cursor != ""; more {
				before, _ = rules.ParseRunCursor(page.Cursor)
			}
		}
		var want []string
		for _, id := range allOf(t, w) {
			r, err := w.Run(t.Context(), id)
			if err == nil && c.q.Fits(&r) {
				want = append(want, id)
			}
		}
		if pages != c.pages || !slices.Equal(got, want) {
			t.Errorf("%s: got %q in %d pages, want %q in %d", what, got, pages, want, c.pages)
		}
	}
}

// allOf is every run, newest first.
func allOf(t *testing.T, w *World) (ids []string) {
	t.Helper()
	page, err := w.Runs(t.Context(), world.RunQuery{})
	if err != nil || page.Cursor != "" {
		t.Fatalf("cursor %q, %v", page.Cursor, err)
	}
	for _, r := range page.Runs {
		ids = append(ids, r.ID)
	}
	return ids
}
