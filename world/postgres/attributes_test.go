package postgres

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

// found are the rows of the attributes' table.
func found(t testing.TB, w *World) (rows []string) {
	t.Helper()
	all, err := w.pool.Query(t.Context(), inSchema("SELECT r.id, a.name, a.value FROM {schema}.attributes a LEFT JOIN {schema}.runs r ON r.key = a.run AND r.created_at = a.created_at", w.opt.Schema))
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	for all.Next() {
		var run, name, value string
		if err := all.Scan(&run, &name, &value); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, run+" "+name+" "+value)
	}
	slices.Sort(rows)
	return rows
}

func wantFound(t testing.TB, w *World, what string, want ...string) {
	t.Helper()
	if got := found(t, w); !slices.Equal(got, want) {
		t.Errorf("%s: lists find %q, want %q", what, got, want)
	}
}

// aboutAttributes are the statements of a commit that are about attributes, in their order.
func aboutAttributes(t testing.TB, w *World, wk world.Worker, c *world.Commit) (names []string) {
	t.Helper()
	d, err := w.newDraft(t.Context(), c, w.crew.worker(wk.ID))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.all(&plan{Plan: rules.Unasked(c)}, w.crew.owned(c.Run)); err != nil {
		t.Fatal(err)
	}
	b := script{db: &w.database}
	b.write(&d.sheet)
	for _, i := range b.items {
		if strings.HasSuffix(i.s.name, "_attributes") {
			names = append(names, i.s.name)
		}
	}
	return names
}

// Runs without attributes pay nothing for those that have some. Who sets an attribute to what it is already writes its event alone, and a swept run leaves nothing behind.
func TestAttributesCostWhoHasThem(t *testing.T) {
	t.Parallel()
	w := open(t)
	wk := join(t, w, time.Hour, class1)
	bare, rich := world.NewID(world.PrefixRun, world.Now()), world.NewID(world.PrefixRun, world.Now())
	attrs := func(a, b string) map[string]json.RawMessage {
		return map[string]json.RawMessage{"a": []byte(a), "b": []byte(b)}
	}
	created := func(run string, attrs map[string]json.RawMessage) *world.Commit {
		c := eager(run, "w", wk.ID)
		c.Events[0].Birth.Retention, c.Events[0].Birth.Attributes = time.Microsecond, attrs
		return c
	}
	seq := map[string]int64{bare: 3, rich: 3}
	next := func(run string, e world.Event) *world.Commit {
		e.Time = world.Now()
		if e.Type == world.AttrSet {
			e.ID = fmt.Sprint("attr_", seq[run])
		}
		c := &world.Commit{ID: commitID(), Run: run, Worker: wk.ID, Claim: 1, Build: "b1", First: seq[run], Events: []world.Event{e}}
		seq[run]++
		return c
	}
	var none []string
	insert, change := []string{"insert_attributes"}, []string{"set_attributes", "delete_attributes", "insert_attributes"}
	first, second, third := []string{rich + " a n1", rich + " b o"}, []string{rich + " a sx", rich + " b o"}, []string{rich + " a sx", rich + " b n3"}
	for _, c := range []struct {
		what       string
		c          *world.Commit
		statements []string
		found      []string
	}{
		{"a birth without", created(bare, nil), none, none},
		{"a birth with two", created(rich, attrs(`1`, `{"c":2}`)), insert, first},
		{"a turn", next(bare, world.Event{Type: world.SignalReceived, Name: "s"}), none, first},
		{"a new segment without", next(bare, world.Event{Type: world.RunContinued, Next: &world.Continuation{}}), none, first},
		{"the same value", next(rich, world.Event{Type: world.AttrSet, Name: "a", Payload: []byte(`1`)}), none, first},
		{"an equal value", next(rich, world.Event{Type: world.AttrSet, Name: "a", Payload: []byte(`1.0`)}), change[:1], first},
		{"another value", next(rich, world.Event{Type: world.AttrSet, Name: "a", Payload: []byte(`"x"`)}), change, second},
		{"a new segment with the same", next(rich, world.Event{Type: world.RunContinued, Next: &world.Continuation{Attributes: attrs(`"x"`, `{"c":2}`)}}), none, second},
		{"a new segment with another", next(rich, world.Event{Type: world.RunContinued, Next: &world.Continuation{Attributes: attrs(`"x"`, `3`)}}), change, third},
		{"an end without", next(bare, world.Event{Type: world.RunCompleted}), none, third},
		{"an end", next(rich, world.Event{Type: world.RunCompleted}), none, third},
	} {
		if got := aboutAttributes(t, w, wk, c.c); !slices.Equal(got, c.statements) {
			t.Errorf("%s: got statements %q, want %q", c.what, got, c.statements)
		}
		must(t, w, c.c)
		wantFound(t, w, c.what, c.found...)
	}
	if n, err := w.Sweep(t.Context(), 10); n != 2 || err != nil {
		t.Errorf("swept %d runs, %v; want 2", n, err)
	}
	wantFound(t, w, "the runs are swept")
}

// A run that another worker claims has its attributes known with the claim, where it has none; else they are read when they change.
func TestAttributesOfATakenRun(t *testing.T) {
	t.Parallel()
	w := open(t)
	wk := join(t, w, time.Hour, class1)
	bare, rich := birthOf("bare", "w"), birthOf("rich", "w")
	rich.Events[0].Birth.Attributes = map[string]json.RawMessage{"a": []byte(`1`)}
	must(t, w, bare)
	must(t, w, rich)
	wantFound(t, w, "births", "rich a n1")
	if got := claim(t, w, wk, 5); len(got.Runs) != 2 {
		t.Fatalf("took %d runs, want 2", len(got.Runs))
	}
	for _, run := range []string{"bare", "rich"} {
		if known := w.crew.owned(run).attrsKnown; known != (run == "bare") {
			t.Errorf("run %s: its attributes are known: %v", run, known)
		}
		must(t, w, &world.Commit{ID: commitID(), Run: run, Worker: wk.ID, Claim: 1, First: 2, Events: []world.Event{
			{Type: world.RunStarted, Time: world.Now()}, {Type: world.RunContinued, Time: world.Now(), Next: &world.Continuation{}},
			{Type: world.AttrSet, ID: "attr_1", Name: "b", Payload: []byte(`2`), Time: world.Now()},
		}})
	}
	wantFound(t, w, "changes", "bare b n2", "rich b n2")
}

// fillAttributes makes a database with so many runs: all have the attribute tenant, and the oldest alone has special.
func fillAttributes(t testing.TB, u string, n int) {
	t.Helper()
	execute(t, u, fmt.Sprintf(`
INSERT INTO stepwell.runs (key, id, workflow, version, status, priority, created_at, retention_ns, attributes)
  SELECT i, 'wrun_' || i, CASE i WHEN 1 THEN 'v' ELSE 'w' END, 1, 'completed', 1, now() - interval '10 days' + i * interval '1 second', 0,
    CASE i WHEN 1 THEN '{"special":{"k":1},"tenant":"a"}' ELSE '{"tenant":"a"}' END FROM generate_series(1, %[1]d) i;
INSERT INTO stepwell.attributes (name, value, created_at, run) SELECT 'tenant', 'sa', created_at, key FROM stepwell.runs
  UNION ALL SELECT 'special', 'o', created_at, key FROM stepwell.runs WHERE key = 1;
INSERT INTO stepwell.log (run, seq, n, format, head, body)
  SELECT i, 1, 1, 1, '{"c":"AAAAAAAAAAAAAAAAAAAAAA","b":"b","t":1,"e":[{"y":"run_created","o":0,"l":8}]}', '{"in":1}' FROM generate_series(1, %[1]d) i;
INSERT INTO stepwell.totals (workflow, status, n) SELECT workflow, 'completed', count(*) FROM stepwell.runs GROUP BY 1;
SELECT setval('stepwell.run_keys', %[1]d + 1);
`, n))
	execute(t, u, "VACUUM ANALYZE")
}

// attributeLists are lists among the runs of fillAttributes, and the number of the runs on their first page.
func attributeLists() map[string]struct {
	q    world.RunQuery
	want int
} {
	type list = struct {
		q    world.RunQuery
		want int
	}
	tenant := map[string]json.RawMessage{"tenant": []byte(`"a"`)}
	special := map[string]json.RawMessage{"special": []byte(`{"k":1}`)}
	both := map[string]json.RawMessage{"tenant": []byte(`"a"`), "special": []byte(`{"k":1}`)}
	return map[string]list{
		"one has it, the oldest":           {world.RunQuery{Attributes: special}, 1},
		"one has both":                     {world.RunQuery{Attributes: both}, 1},
		"none has it":                      {world.RunQuery{Attributes: map[string]json.RawMessage{"tenant": []byte(`"b"`)}}, 0},
		"all have it":                      {world.RunQuery{Attributes: tenant}, 100},
		"all have it, few of the workflow": {world.RunQuery{Attributes: tenant, Workflow: "v"}, 1},
		"one has it, and it is over":       {world.RunQuery{Attributes: special, Status: []world.Status{world.Completed}, Workflow: "v"}, 1},
		"one has it, since the beginning":  {world.RunQuery{Attributes: special, Since: time.Unix(0, 0), Until: world.Now()}, 1},
	}
}

// By whatever way is the shortest, the first page of a list by attributes finds what there is among a few thousand runs, and looks at no more than it shows.
func TestListsByAttributeReadFew(t *testing.T) {
	t.Parallel()
	u := pgtest.URL(t)
	w := openAt(t, u)
	fillAttributes(t, u, 3*few)
	for name, l := range attributeLists() {
		before := w.counters.rowsRead.Load()
		page, err := w.Runs(t.Context(), l.q)
		if got := w.counters.rowsRead.Load() - before; err != nil || len(page.Runs) != l.want || got != int64(l.want) {
			t.Errorf("%s: got %d runs, %d looked at, %v; want %d", name, len(page.Runs), got, err, l.want)
		}
	}
}

// BenchmarkListByAttribute100k lists among 100,000 runs.
func BenchmarkListByAttribute100k(b *testing.B) {
	u := pgtest.URL(b)
	w := openAt(b, u)
	fillAttributes(b, u, 100_000)
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
