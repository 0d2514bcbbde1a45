package postgres

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

// TestLinesCostNothing: with 100,000 runs in line for one key, and 10,000 keys for each of which ten stand in line, a
// look for work reads as many pages as with a few, and so does an admission; and neither plan changes.
func TestLinesCostNothing(t *testing.T) {
	t.Parallel()
	u := pgtest.URL(t)
	w, err := Open(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	for _, table := range []string{"queue", "runs", "limit_line", "limit_keys", "limit_news"} {
		execute(t, u, "ALTER TABLE stepwell."+table+" SET (autovacuum_enabled = off)")
	}
	execute(t, u, `INSERT INTO stepwell.classes (key, workflow, version) VALUES (1, 'w', 1); INSERT INTO stepwell.limits VALUES ('l', 2, NULL, false)`)
	line := func(from, keys, each int) {
		t.Helper()
		execute(t, u, fmt.Sprintf(`
CREATE TEMPORARY TABLE fresh AS SELECT %[1]d + k * %[3]d + i AS run, 'l/' || %[1]d + k AS key FROM generate_series(0, %[2]d - 1) k, generate_series(1, %[3]d) i;
INSERT INTO stepwell.queue (run, class, running, priority, wake_at, places, keeps, has, parked_at)
  SELECT run, 1, false, 1, now(), ARRAY[key], 0, 0, now() - interval '1 day' FROM fresh;
INSERT INTO stepwell.limit_line SELECT key, 2, now() - interval '1 day', run FROM fresh;
INSERT INTO stepwell.limit_keys SELECT DISTINCT key, 2 FROM fresh;
DROP TABLE fresh`, from, keys, each))
		execute(t, u, "VACUUM ANALYZE stepwell.queue, stepwell.limit_line, stepwell.limit_keys, stepwell.limit_news")
	}
	none := []string{}
	look := literals([]any{[]int{1, 1, 1, 1}, []int{0, 1, 2, 3}, same("-infinity", 4), 50, none, []int{}, none, none, 50, true, none, none, []int{1}, true, true})
	admit := literals([]any{mostLimitKeys, mostLimitNews, mostAdmitted, int64(rules.RateSlack)})
	pages := func() (looking, admitting int64) {
		t.Helper()
		p := newPlanner(t, w, "force_generic_plan")
		const how = "ANALYZE, BUFFERS, TIMING off, COSTS off, SUMMARY off"
		for of, into := range map[*statement]*int64{ready: &looking, lookLimits: &admitting} {
			name, _ := p.prepare(of)
			args := look
			if of == lookLimits {
				args = admit
			}
			p.explain(of, how, name, args)
			plan := p.explain(of, how, name, args) // the second time all is in memory
			if bad := faults(plan); len(bad) > 0 {
				t.Errorf("%s: %v", of.name, bad)
			}
			*into = plan.pages()
		}
		return looking, admitting
	}
	line(1_000, 20, 20)
	news := func(key int) {
		execute(t, u, fmt.Sprintf("INSERT INTO stepwell.limit_news (key, kind) VALUES ('l/%d', 0)", key))
	}
	for k := range 10 {
		news(1_000 + k)
	}
	looking, admitting := pages()
	line(1_000_000, 1, 100_000)
	line(2_000_000, 10_000, 10)
	execute(t, u, "DELETE FROM stepwell.limit_news")
	execute(t, u, "VACUUM ANALYZE stepwell.limit_news")
	for k := range 9 {
		news(2_000_000 + 1_000*k)
	}
	news(1_000_000)
	later, crowded := pages()
	t.Logf("a look: %d pages, then %d; an admission by ten keys: %d, then %d", looking, later, admitting, crowded)
	if later > looking+2 {
		t.Errorf("a look reads %d pages, and %d without those in line", later, looking)
	}
	if crowded > admitting+60 { // indexes are a level or two deeper, for ten keys and the first of their lines
		t.Errorf("an admission reads %d pages, and %d with short lines", crowded, admitting)
	}
}

// TestStartInSQLUnderALimit: SQL has no code that tells keys, so it starts no run past a limit.
func TestStartInSQLUnderALimit(t *testing.T) {
	t.Parallel()
	w := open(t)
	says := func(limits ...world.SaidLimit) {
		t.Helper()
		if err := w.Define(t.Context(), []world.Definition{{Class: world.Class{Workflow: "pay", Version: 1}, Said: world.Said{Limits: limits}}}); err != nil {
			t.Fatal(err)
		}
	}
	start := func() error {
		_, err := w.pool.Exec(t.Context(), inSchema("SELECT {schema}.start('pay', '1')", w.opt.Schema))
		return err
	}
	says(world.SaidLimit{Name: "bank", Number: 1})
	if err := start(); sqlState(err) != "0A000" {
		t.Errorf("under a limit: got %v, want that it is refused", err)
	}
	says()
	if err := start(); err != nil {
		t.Errorf("without one: %v", err)
	}
}

// TestMendLimits: what keys hold is counted anew, and who has lost his place in line stands there again.
func TestMendLimits(t *testing.T) {
	t.Parallel()
	w := open(t)
	wk := join(t, w, time.Minute, world.Class{Workflow: "w", Version: 1})
	var all []string
	for i := range 3 {
		c := &world.Commit{ID: [16]byte{byte(i + 1)}, Run: fmt.Sprint("run-", i), First: 1, Events: []world.Event{{
			Type: world.RunCreated, Time: world.Now(), Payload: []byte("1"),
			Birth: &world.Birth{Workflow: "w", Version: 1, Priority: 1, Places: []world.Place{{Limit: "bank", Number: 1}}},
		}}}
		if _, err := w.Commit(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		all = append(all, c.Run)
	}
	claim := func() []world.ClaimedRun {
		t.Helper()
		got, err := w.Claim(t.Context(), world.ClaimQuery{Worker: wk.ID, Classes: wk.Classes, Runs: 10})
		if err != nil {
			t.Fatal(err)
		}
		return got.Runs
	}
	held := claim()
	if len(held) != 1 || held[0].Run != all[0] {
		t.Fatalf("got %+v, want the first alone", held)
	}
	for _, text := range []string{"UPDATE {schema}.limit_keys SET used = 5", "DELETE FROM {schema}.limit_line", "DELETE FROM {schema}.limit_news"} {
		if _, err := w.pool.Exec(t.Context(), inSchema(text, w.opt.Schema)); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"counts corrected: 3", "counts corrected: 0"} {
		found, err := w.Mend(t.Context())
		if err != nil || !slices.ContainsFunc(found, func(f world.Finding) bool { return f.Found == want }) {
			t.Fatalf("mended: %+v, %v; want %q", found, err, want)
		}
	}
	if more := claim(); len(more) != 0 {
		t.Errorf("got %+v beside who holds the only place", more)
	}
	end := &world.Commit{ID: [16]byte{9}, Run: all[0], Worker: wk.ID, Claim: held[0].Claim, First: 2, Events: []world.Event{{Type: world.RunFailed, Time: world.Now(), Error: &world.Error{Message: "no"}}}}
	if _, err := w.Commit(t.Context(), end); err != nil {
		t.Fatal(err)
	}
	if next := claim(); len(next) != 1 || next[0].Run != all[1] {
		t.Errorf("got %+v, want the second", next)
	}
}

// TestPausedBesideALook: a run that is paused between a look that found it due and what the look comes to stands in no
// line, though it has mail, or it would be given to a worker while it is paused.
func TestPausedBesideALook(t *testing.T) {
	t.Parallel()
	w := open(t)
	wk := join(t, w, time.Minute, world.Class{Workflow: "w", Version: 1})
	c := &world.Commit{ID: [16]byte{1}, Run: "run", First: 1, Events: []world.Event{{
		Type: world.RunCreated, Time: world.Now(), Payload: []byte("1"),
		Birth: &world.Birth{Workflow: "w", Version: 1, Priority: 1, Places: []world.Place{{Limit: "bank", Number: 1}}},
	}}}
	if _, err := w.Commit(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	deliver := func(d world.Delivery) {
		t.Helper()
		d.Run = "run"
		if _, err := w.Deliver(t.Context(), &d); err != nil {
			t.Fatal(err)
		}
	}
	claim := func() []world.ClaimedRun {
		t.Helper()
		if _, err := w.pool.Exec(t.Context(), w.sql(parkRuns), []int64{1}); err != nil { // as who saw it before
			t.Fatal(err)
		}
		got, err := w.Claim(t.Context(), world.ClaimQuery{Worker: wk.ID, Classes: wk.Classes, Runs: 1})
		if err != nil {
			t.Fatal(err)
		}
		return got.Runs
	}
	deliver(world.Delivery{ID: "s", Events: []world.Event{{Type: world.SignalReceived, Name: "s", Payload: []byte("1")}}})
	deliver(world.Delivery{Act: true, Events: []world.Event{{Type: world.RunPaused}}})
	if got := claim(); len(got) > 0 {
		t.Errorf("paused, it was given: %+v", got)
	}
	deliver(world.Delivery{Act: true, Events: []world.Event{{Type: world.RunResumed}}})
	if got := claim(); len(got) != 1 || got[0].Paused {
		t.Errorf("resumed, got %+v, want the run", got)
	}
}

// TestLimitsOfOthersCostNothing: the commits of a run without limits make as many statements, whether others
// have limits, weights and singletons, or gather, or not.
func TestLimitsOfOthersCostNothing(t *testing.T) {
	t.Parallel()
	w := open(t)
	wk := join(t, w, time.Minute, world.Class{Workflow: "w", Version: 1}, world.Class{Workflow: "other", Version: 1})
	commit := func(c *world.Commit) {
		t.Helper()
		if _, err := w.Commit(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	next := byte(0)
	birth := func(workflow string, places ...world.Place) *world.Commit {
		next++
		return &world.Commit{ID: [16]byte{next}, Run: world.NewID(world.PrefixRun, world.Now()), First: 1, Events: []world.Event{{
			Type: world.RunCreated, Time: world.Now(), Payload: []byte("1"), Birth: &world.Birth{Workflow: workflow, Version: 1, Priority: 1, Places: places},
		}}}
	}
	// The commits of a run of ten steps: how many statements they make.
	serial := func() (statements int64) {
		t.Helper()
		b := birth("w")
		commit(b)
		got, err := w.Claim(t.Context(), world.ClaimQuery{Worker: wk.ID, Classes: wk.Classes[:1], Runs: 1})
		if err != nil || len(got.Runs) != 1 {
			t.Fatalf("claim: %+v, %v", got.Runs, err)
		}
		if got.Runs[0].Run != b.Run {
			t.Fatalf("run %s is given, want %s: %+v", got.Runs[0].Run, b.Run, got.Runs[0])
		}
		before := w.counters.statements.Load()
		for step := range int64(10) {
			next++
			commit(&world.Commit{ID: [16]byte{next}, Run: b.Run, Worker: wk.ID, Claim: got.Runs[0].Claim, First: 2 + step, Events: []world.Event{{Type: world.SignalReceived, Name: "n", Time: world.Now()}}})
		}
		next++
		commit(&world.Commit{ID: [16]byte{next}, Run: b.Run, Worker: wk.ID, Claim: got.Runs[0].Claim, First: 12, Events: []world.Event{{Type: world.RunFailed, Time: world.Now(), Error: &world.Error{Message: "no"}}}})
		return w.counters.statements.Load() - before
	}
	// Some of them may meet a lock for a moment, and come again: the fewest of some runs are those that it needs.
	fewest := func() int64 { return min(serial(), serial(), serial()) }
	serial() // the class is known then
	alone := fewest()
	if err := sayLimits(t.Context(), &w.database, []world.SaidLimit{{Name: "bank", Number: 1, Path: "k", Weights: map[string]int{"k": 3}}}); err != nil {
		t.Fatal(err)
	}
	said := world.NewSingle("other", world.SingleReplace)
	for i := range 5 {
		commit(birth("other", world.Place{Limit: "bank", Key: "k", Number: 1}))
		live := said.Place()
		live.Key = fmt.Sprint("key ", i) // so none of them is cancelled, and claimed before the one that is counted
		commit(birth("other", live))
		c := birth("other")
		c.Events[0].Birth.Gather, c.Items = &world.Gather{Key: c.Run, Quiet: time.Hour, Most: time.Hour}, 1
		commit(c)
	}
	if beside := fewest(); beside != alone {
		t.Errorf("a run without limits: %d statements beside those with some, and %d alone", beside, alone)
	}
	t.Logf("%d statements of ten steps and an end", alone)
}

// TestSetLimitWhileAdmitting: a number that changes while somebody admits by the old one is news of the keys that are
// first held then, too.
func TestSetLimitWhileAdmitting(t *testing.T) {
	t.Parallel()
	for how, change := range map[string]func(w *World) error{
		"an operator": func(w *World) error { two := 2; return w.Limits().SetLimit(t.Context(), "bank", &two) },
		"code":        func(w *World) error { return w.Define(t.Context(), limitSaid(2)) },
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			w := open(t)
			if err := w.Define(t.Context(), limitSaid(1)); err != nil {
				t.Fatal(err)
			}
			admits, err := w.pool.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = admits.Rollback(t.Context()) }()
			for _, text := range []string{"UPDATE {schema}.limiting SET revision = revision + 1", "INSERT INTO {schema}.limit_keys (key, used) VALUES ('bank/new', 1)"} {
				if _, err := admits.Exec(t.Context(), inSchema(text, w.opt.Schema)); err != nil {
					t.Fatal(err)
				}
			}
			done := make(chan error, 1)
			go func() { done <- change(w) }()
			for backends(t, w) == 0 {
				if len(done) > 0 {
					t.Fatalf("the change does not wait: %v", <-done)
				}
			}
			if err := admits.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			n := 0
			news := inSchema("SELECT count(*) FROM {schema}.limit_news WHERE key = 'bank/new' AND kind = 1", w.opt.Schema)
			if err := w.pool.QueryRow(t.Context(), news).Scan(&n); err != nil || n != 1 {
				t.Errorf("the new key has %d news of the change, want 1; %v", n, err)
			}
		})
	}
}

// limitSaid is a workflow with a limit of so many.
func limitSaid(number int) []world.Definition {
	return []world.Definition{{Class: world.Class{Workflow: "pay", Version: 1}, Said: world.Said{Limits: []world.SaidLimit{{Name: "bank", Number: number}}}}}
}
