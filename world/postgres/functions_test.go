package postgres_test

// What SQL does by the functions of the schema, beside what Go does: rights, transactions, news, names, waiting.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world/postgres"
)

// TestFunctionsGiveNothingElse: a role that may call them can neither read nor write anything, and has no other
// function; in a schema of another name.
func TestFunctionsGiveNothingElse(t *testing.T) {
	t.Parallel()
	w := openShop(t, postgres.Options{Schema: `own "name"`})
	const schema = `"own ""name"""`
	c := asCaller(t, w.url, schema)
	id := told[string](t, c, "SELECT "+schema+`.start('w', '1')`)
	if !told[bool](t, c, "SELECT "+schema+`.signal($1, 'go')`, id) || told[string](t, c, "SELECT "+schema+`.send('mails', '1')`) == "" || told[string](t, c, "SELECT "+schema+`.publish('a', '1')`) == "" {
		t.Error("a call did nothing")
	}
	if run, err := w.Run(t.Context(), id); err != nil || run.Queue.Mail != 1 {
		t.Errorf("got %+v, %v", run, err)
	}
	may := told[[]string](t, c, `SELECT coalesce(array_agg(p.proname::text ORDER BY p.proname), '{}') FROM pg_proc p WHERE p.pronamespace = $1::regnamespace AND has_function_privilege(p.oid, 'EXECUTE')`, schema)
	// readable is a cast; limit_need and merged read tables as their caller
	if diff := cmp.Diff([]string{"limit_need", "merged", "publish", "readable", "send", "signal", "start"}, may); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	tables := told[[]string](t, c, `SELECT array_agg(format('%I', relname)) FROM pg_class WHERE relnamespace = $1::regnamespace AND relkind IN ('r', 'v', 'S')`, schema)
	if len(tables) < 20 {
		t.Errorf("got %d tables", len(tables))
	}
	for _, name := range tables {
		for _, sql := range []string{"SELECT FROM %s.%s", "INSERT INTO %s.%s DEFAULT VALUES", "DELETE FROM %s.%s", "TRUNCATE %s.%s", "SELECT nextval($$%s.%s$$)"} {
			_, err := c.Exec(t.Context(), fmt.Sprintf(sql, schema, name), pgx.QueryExecModeSimpleProtocol)
			// not allowed, or not of this kind
			if state := stateOf(err); state != "42501" && state != "42809" && state != "55000" && state != "42P01" {
				t.Errorf("%s: %v", fmt.Sprintf(sql, schema, name), err)
			}
		}
	}
	if _, err := c.Exec(t.Context(), "CREATE TABLE "+schema+".mine ()"); stateOf(err) != "42501" {
		t.Errorf("create: %v", err)
	}
	asOwner(t, w.url, fmt.Sprintf("REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA %s FROM %s", schema, c.Config().User))
	if _, err := c.Exec(t.Context(), "SELECT "+schema+".start('w')"); stateOf(err) != "42501" {
		t.Errorf("a role with nothing: %v", err)
	}
}

// TestFunctionsAreOfTheTransaction: nothing is there before the commit, and nothing after a rollback; a signal to a run
// of the same transaction arrives.
func TestFunctionsAreOfTheTransaction(t *testing.T) {
	t.Parallel()
	w := openShop(t)
	c := asCaller(t, w.url, "stepwell")
	ctx := t.Context()
	before := written(t, w, true)
	for _, commit := range []bool{false, true} {
		tx, err := c.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		id := told[string](t, tx, "SELECT stepwell.start('w', '1', 'k')")
		if !told[bool](t, tx, "SELECT stepwell.signal($1, 'go', '1', 'd')", id) || told[bool](t, tx, "SELECT stepwell.signal($1, 'go', '1', 'd')", id) {
			t.Error("the signal was not sent once")
		}
		for _, call := range []string{"send('mails', '1', dedupe_id => 'd')", "publish('a', '1', delivery_id => 'd')"} {
			if a, b := told[string](t, tx, "SELECT stepwell."+call), told[string](t, tx, "SELECT stepwell."+call); a != b {
				t.Errorf("%s: got %s, then %s", call, a, b)
			}
		}
		if diff := cmp.Diff(before, written(t, w, true)); diff != "" {
			t.Errorf("seen before the end:\n%s", diff)
		}
		if !commit {
			err = tx.Rollback(ctx)
		} else {
			err = tx.Commit(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := written(t, w, true); commit != (len(got) > len(before)) {
			t.Errorf("after the end, commit %v: got %s", commit, got)
		}
		if !commit {
			continue
		}
		if run, err := w.Run(ctx, id); err != nil || run.Queue.Mail != 1 {
			t.Errorf("got %+v, %v", run, err)
		}
	}
}

// TestFunctionsOfEncryptedSchemas: SQL has no key, so it is refused where there are any, until the owner allows it.
func TestFunctionsOfEncryptedSchemas(t *testing.T) {
	t.Parallel()
	w := openShop(t)
	asOwner(t, w.url, "INSERT INTO stepwell.keys VALUES ('k1', 'x')")
	c := asCaller(t, w.url, "stepwell")
	calls := []string{"start('w', run_id => 'r')", "signal('r', 'go')", "send('mails', '1')", "publish('a', '1')"}
	for _, call := range calls {
		if _, err := c.Exec(t.Context(), "SELECT stepwell."+call); stateOf(err) != "55000" || !strings.Contains(err.Error(), "encrypted") {
			t.Errorf("%s: got %v", call, err)
		}
	}
	asOwner(t, w.url, "INSERT INTO stepwell.settings VALUES ('plain_sql', 1)")
	for _, call := range calls {
		if _, err := c.Exec(t.Context(), "SELECT stepwell."+call); err != nil {
			t.Errorf("%s: got %v", call, err)
		}
	}
}

// TestFunctionsAreHeard: a worker that would look only after an hour is told of a run and of its event, and what Go
// reads of both is whole.
func TestFunctionsAreHeard(t *testing.T) {
	t.Parallel()
	w := openShop(t)
	event := stepwell.Event[json.RawMessage]("go")
	flow := stepwell.Define("w", func(ctx stepwell.Context, in string) (string, error) {
		got, _, err := event.Wait(ctx)
		return in + string(got), err
	})
	app, err := stepwell.New(w.World, stepwell.Config{Definitions: []stepwell.Definition{flow}, Poll: time.Hour, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	c := asCaller(t, w.url, "stepwell")
	id := told[string](t, c, `SELECT stepwell.start('w', '"a"', attributes => '{"n": 1}')`)
	run, err := app.Start(ctx, "w", json.RawMessage(`"b"`)) // it is here: so is the worker
	if err != nil {
		t.Fatal(err)
	}
	for want, id := range map[string]string{"a": id, "b": run.ID()} {
		if !told[bool](t, c, `SELECT stepwell.signal($1, 'go', '{"x": 1}')`, id) {
			t.Error("not sent")
		}
		out, err := flow.Get(app, id).Result(ctx)
		if err != nil || out != want+`{"x": 1}` {
			t.Errorf("got %q, %v", out, err)
		}
	}
	whole(t, w)
}

// TestFunctionsKnowWhatIsPrintable: what SQL takes in a name Go takes, but for what this release of Unicode has not.
func TestFunctionsKnowWhatIsPrintable(t *testing.T) {
	t.Parallel()
	w := openShop(t)
	got := told[[]int32](t, w.pool, `SELECT array_agg(i ORDER BY i) FROM (VALUES (1, 55295), (63000, 126000), (917505, 918015)) r (a, b), generate_series(a, b) i WHERE NOT stepwell.printable(chr(i))`)
	var want []int32
	assigned := func(r rune) bool {
		return unicode.IsPrint(r) || unicode.In(r, unicode.Z, unicode.Cc, unicode.Cf, unicode.Co)
	}
	for r := rune(1); r <= 918_015; r++ {
		if !unicode.IsPrint(r) && assigned(r) && (r < 55_296 || r >= 63_000 && r <= 126_000 || r > 917_504) {
			want = append(want, r)
		}
	}
	got = slices.DeleteFunc(got, func(r int32) bool { return !assigned(r) })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-Go +SQL:\n%.2000s", diff)
	}
}

// TestFunctionsWaitForEachOther: a start with a key, and a signal with an ID, that a transaction of SQL has used and
// that is open, wait for it, by Go and by SQL; then they are the same ones.
func TestFunctionsWaitForEachOther(t *testing.T) {
	t.Parallel()
	w := openShop(t)
	ctx := t.Context()
	c, other := asCaller(t, w.url, "stepwell"), w.pool
	if _, err := w.app.Start(ctx, "w", json.RawMessage("1"), stepwell.RunID("r")); err != nil {
		t.Fatal(err)
	}
	tx, err := c.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	first := told[string](t, tx, "SELECT stepwell.start('w', '1', 'k')")
	if !told[bool](t, tx, "SELECT stepwell.signal('r', 'go', '1', 'd')") {
		t.Error("not sent")
	}
	ids, errs := make(chan string, 2), make(chan error, 4)
	go func() {
		run, err := w.app.Start(ctx, "w", json.RawMessage("1"), stepwell.Key("k"))
		if errs <- err; err == nil {
			ids <- run.ID()
		}
	}()
	go func() {
		var id string
		errs <- other.QueryRow(ctx, "SELECT stepwell.start('w', '1', 'k')").Scan(&id)
		ids <- id
	}()
	go func() {
		errs <- w.app.Signal(ctx, "r", "go", json.RawMessage("1"), stepwell.DeliveryID("d"))
	}()
	go func() {
		var fresh bool
		err := other.QueryRow(ctx, "SELECT stepwell.signal('r', 'go', '1', 'd')").Scan(&fresh)
		if fresh {
			err = errors.New("the signal was sent twice")
		}
		errs <- err
	}()
	// the fourth lets its connection go at times
	for told[int](t, other, "SELECT count(*)::integer FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'") < 3 {
		if ctx.Err() != nil || len(errs) > 0 {
			t.Fatalf("somebody does not wait: %v", <-errs)
		}
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	for range 2 {
		if id := <-ids; id != first {
			t.Errorf("got run %s, want %s", id, first)
		}
	}
	if run, err := w.World.Run(ctx, "r"); err != nil || run.Queue.Mail != 1 {
		t.Errorf("got %+v, %v, want one event", run, err)
	}
}
