package sqlite

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell/world"
)

func attrSet(run, worker string, first int64, name, value string) *world.Commit {
	return &world.Commit{ID: commitID(), Run: run, Worker: worker, Claim: 1, Build: "b1", First: first, Events: []world.Event{
		{Type: world.AttrSet, ID: fmt.Sprint("attr_", first), Name: name, Payload: json.RawMessage(value), Time: world.Now()},
	}}
}

// Runs without attributes pay nothing for those that have some: who has none writes none, and who sets one to what it is already writes its event alone.
func TestAttributesCostWhoHasThem(t *testing.T) {
	t.Parallel()
	now := world.Now()
	w := open(t, Options{Now: func() time.Time { return now }})
	wk := join(t, w, 1000*time.Hour, class1)
	wrote := make(map[string]int)
	fault(t, w, func(_ *group, s *statement, run func() error) error {
		if strings.HasSuffix(s.name, "_attribute") || strings.HasSuffix(s.name, "_attributes") {
			wrote[s.name]++
		}
		return run()
	})
	check := func(what string, want map[string]int, do func()) {
		t.Helper()
		clear(wrote)
		do()
		if diff := cmp.Diff(want, maps.Clone(wrote)); diff != "" {
			t.Errorf("%s: statements: -want +got:\n%s", what, diff)
		}
	}
	next := func(run string, first int64, e world.Event) *world.Commit {
		e.Time = world.Now()
		return &world.Commit{ID: commitID(), Run: run, Worker: wk.ID, Claim: 1, Build: "b1", First: first, Events: []world.Event{e}}
	}
	sweep := func() {
		now = now.Add(2 * time.Hour)
		if n, err := w.Sweep(t.Context(), 10); n != 1 || err != nil {
			t.Errorf("swept %d runs, %v; want 1", n, err)
		}
	}
	check("a life without", map[string]int{}, func() {
		must(t, w, eager("bare", "w", wk.ID))
		must(t, w, next("bare", 3, world.Event{Type: world.SignalReceived, Name: "s"}))
		must(t, w, next("bare", 4, world.Event{Type: world.RunContinued, Next: &world.Continuation{}}))
		must(t, w, next("bare", 5, world.Event{Type: world.RunCompleted}))
		sweep()
	})
	created := eager("rich", "w", wk.ID)
	created.Events[0].Birth.Attributes = map[string]json.RawMessage{"a": []byte(`1`), "b": []byte(`{"c":2}`)}
	check("a birth with two", map[string]int{"insert_attribute": 2}, func() { must(t, w, created) })
	check("the same value", map[string]int{}, func() { must(t, w, attrSet("rich", wk.ID, 3, "a", "1")) })
	check("an equal value", map[string]int{"set_attributes": 1}, func() { must(t, w, attrSet("rich", wk.ID, 4, "a", "1.0")) })
	check("another value", map[string]int{"set_attributes": 1, "delete_attribute": 1, "insert_attribute": 1}, func() { must(t, w, attrSet("rich", wk.ID, 5, "a", "2")) })
	check("a new segment with the same", map[string]int{}, func() {
		must(t, w, next("rich", 6, world.Event{Type: world.RunContinued, Next: &world.Continuation{Attributes: map[string]json.RawMessage{"a": []byte(`2`), "b": []byte(`{"c":2}`)}}}))
	})
	check("an end", map[string]int{}, func() { must(t, w, next("rich", 7, world.Event{Type: world.RunCompleted})) })
	check("its deletion", map[string]int{"delete_attribute": 2}, sweep)
}

// oldest is the key of the first run that fillFile makes.
const oldest = 2

// fillFile puts completed runs into a file, by keys, as if they had been created with the attribute tenant: the oldest is of workflow "v" and alone has the attribute
// special.
func fillFile(t testing.TB, path string, from, to int) {
	t.Helper()
	script(t, path, fmt.Sprintf(`
CREATE TEMP TABLE n AS WITH RECURSIVE n(i) AS (SELECT %[1]d UNION ALL SELECT i + 1 FROM n WHERE i < %[2]d) SELECT i FROM n;
INSERT INTO runs (key, id, workflow, version, status, priority, created_us, ended_us, retention_ns, attributes)
  SELECT i, 'wrun_' || i, CASE i WHEN %[3]d THEN 'v' ELSE 'w' END, 1, 'completed', 1, i * 1000000, i * 1000000, 0,
    CASE i WHEN %[3]d THEN '{"special":{"k":1},"tenant":"a","nr":1}' ELSE '{"tenant":"a","nr":' || i || '}' END FROM n;
INSERT INTO attributes (name, value, run) SELECT 'tenant', 'sa', i FROM n UNION ALL SELECT 'special', 'o', i FROM n WHERE i = %[3]d;
INSERT INTO log (run, seq, n, format, head, body)
  SELECT i, 1, 1, 1, '{"c":"AAAAAAAAAAAAAAAAAAAAAA","b":"b","t":1,"e":[{"y":"run_created","o":0,"l":8}]}', CAST('{"in":1}' AS BLOB) FROM n;
INSERT INTO totals (workflow, status, n) SELECT CASE i WHEN %[3]d THEN 'v' ELSE 'w' END, 'completed', count(*) FROM n GROUP BY 1
  ON CONFLICT DO UPDATE SET n = n + excluded.n;
`, from, to, oldest))
}

// tenant is what all runs of fillFile have, and special what the oldest has.
var (
	tenant  = map[string]json.RawMessage{"tenant": []byte(`"a"`)}
	special = map[string]json.RawMessage{"special": []byte(`{"k":1}`)}
	both    = map[string]json.RawMessage{"tenant": []byte(`"a"`), "special": []byte(`{"k":1}`)}
)

// attributeLists are lists among many runs, and the number of the runs on their first page.
func attributeLists() map[string]struct {
	q    world.RunQuery
	want int
} {
	type list = struct {
		q    world.RunQuery
		want int
	}
	return map[string]list{
		"one has it, the oldest":           {world.RunQuery{Attributes: special}, 1},
		"one has both":                     {world.RunQuery{Attributes: both}, 1},
		"none has it":                      {world.RunQuery{Attributes: map[string]json.RawMessage{"tenant": []byte(`"b"`)}}, 0},
		"all have it":                      {world.RunQuery{Attributes: tenant}, 100},
		"all have it, few of the workflow": {world.RunQuery{Attributes: tenant, Workflow: "v"}, 1},
		"all have it, few are live":        {world.RunQuery{Attributes: tenant, Status: []world.Status{world.Running}}, 1},
		"one has it, and it is over":       {world.RunQuery{Attributes: special, Status: []world.Status{world.Completed}, Workflow: "v"}, 1},
	}
}

// A list by attributes does the same work among many more runs, by whatever way is the shortest.
func TestListsByAttributeReadFew(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.db")
	w := openAt(t, path, Options{Readers: 1})
	steps := func() map[string]int {
		all := make(map[string]int)
		for name, l := range attributeLists() {
			countSteps(t, w)
			page, err := w.Runs(t.Context(), l.q)
			if err != nil || len(page.Runs) != l.want {
				t.Errorf("%s: got %d runs, %v; want %d", name, len(page.Runs), err, l.want)
			}
			all[name] = countSteps(t, w)
		}
		return all
	}
	wk := join(t, w, time.Hour, class1)
	live := eager("live", "w", wk.ID)
	live.Events[0].Birth.Attributes = tenant
	must(t, w, live)
	fillFile(t, path, oldest, few+50)
	before := steps()
	fillFile(t, path, few+51, few+500)
	for name, got := range steps() {
		if want := before[name]; got != want || got == 0 {
			t.Errorf("%s: got %d steps among more runs, %d before", name, got, want)
		}
	}
}

// A page of runs that have a structured attribute looks at a bounded number of them, and the next one goes on.
func TestAStructuredAttributeIsReadInBoundedPages(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.db")
	w := openAt(t, path)
	fillFile(t, path, oldest, few+20)
	script(t, path, fmt.Sprintf(`INSERT INTO attributes SELECT 'special', 'o', key FROM runs WHERE key > %[1]d;
		UPDATE runs SET attributes = '{"special":{"k":2}}' WHERE key > %[1]d`, oldest))
	q := world.RunQuery{Attributes: special}
	for pages := 1; ; pages++ {
		before := w.counters.rowsRead.Load()
		page, err := w.Runs(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if read := w.counters.rowsRead.Load() - before; read > few {
			t.Fatalf("page %d: %d inputs were read, want at most %d", pages, read, few)
		}
		if q.Cursor = page.Cursor; q.Cursor != "" && len(page.Runs) == 0 {
			continue
		}
		if pages != 2 || len(page.Runs) != 1 || page.Runs[0].ID != fmt.Sprint("wrun_", oldest) || q.Cursor != "" {
			t.Fatalf("page %d: got %d runs, cursor %q; want the oldest on page 2, and the end", pages, len(page.Runs), q.Cursor)
		}
		break
	}
}

// BenchmarkListByAttribute100k lists among 100,000 runs.
func BenchmarkListByAttribute100k(b *testing.B) {
	path := filepath.Join(b.TempDir(), "runs.db")
	w := openAt(b, path)
	wk := join(b, w, time.Hour, class1)
	live := eager("live", "w", wk.ID)
	live.Events[0].Birth.Attributes = tenant
	must(b, w, live)
	fillFile(b, path, oldest, 100_000)
	lists := attributeLists()
	lists["by input: a page that finds none"] = struct {
		q    world.RunQuery
		want int
	}{world.RunQuery{Input: []json.RawMessage{[]byte(`{"in":2}`)}}, 0}
	for _, name := range slices.Sorted(maps.Keys(lists)) {
		l := lists[name]
		b.Run(name, func(b *testing.B) {
			before := w.counters.rowsRead.Load()
			for b.Loop() {
				page, err := w.Runs(b.Context(), l.q)
				if err != nil || len(page.Runs) != l.want {
					b.Fatalf("got %d runs, %v; want %d", len(page.Runs), err, l.want)
				}
			}
			b.ReportMetric(float64(w.counters.rowsRead.Load()-before)/float64(b.N), "inputs-read/page")
		})
	}
}
