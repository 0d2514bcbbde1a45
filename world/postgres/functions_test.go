package postgres_test

// What SQL does by the functions of the schema, beside what Go does.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/postgres"
)

// shop is a schema with a queue and definitions, its owner's connections, and a client.
type shop struct {
	*postgres.World
	url  string
	pool *pgxpool.Pool
	app  *stepwell.App
}

func openShop(t *testing.T, o ...postgres.Options) *shop {
	t.Helper()
	u := pgtest.URL(t)
	w, err := postgres.Open(t.Context(), u, o...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	said := world.Said{
		Retention: 90 * time.Minute, Timeout: 1500 * time.Millisecond,
		Attributes: map[string]json.RawMessage{"tier": json.RawMessage(`"gold"`), "n": json.RawMessage("1")},
	}
	if err := errors.Join(w.Messages().DeclareQueue(t.Context(), world.MessageQueue{Name: "mails"}), w.Define(t.Context(), []world.Definition{
		{Class: world.Class{Workflow: "said", Version: 1}, Said: world.Said{Retention: time.Hour}}, {Class: world.Class{Workflow: "said", Version: 2}, Said: said},
		{Class: world.Class{Workflow: "ever", Version: 1}, Said: world.Said{Retention: -1}},
	})); err != nil {
		t.Fatal(err)
	}
	app, err := stepwell.New(w, stepwell.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	pool, err := pgxpool.New(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return &shop{w, u, pool, app}
}

// asOwner runs a script as the superuser of the test's server.
func asOwner(t *testing.T, u, script string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	c, err := pgx.Connect(ctx, pgtest.Shared(t).AdminURL(u))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(ctx) }()
	if _, err := c.Exec(ctx, script, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
}

func stateOf(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// asCaller connects as a role that may call the four functions and has nothing else, as docs/sql.md grants it.
func asCaller(t *testing.T, u, schema string) *pgx.Conn {
	t.Helper()
	role := "door_" + strings.ToLower(regexp.MustCompile(`\W`).ReplaceAllString(t.Name(), "_"))
	asOwner(t, u, fmt.Sprintf(`DROP ROLE IF EXISTS %s; CREATE ROLE %[1]s LOGIN PASSWORD 'p'; GRANT USAGE ON SCHEMA %[2]s TO %[1]s;
		GRANT EXECUTE ON FUNCTION %[2]s.publish, %[2]s.send, %[2]s.start, %[2]s.signal TO %[1]s`, role, schema))
	t.Cleanup(func() { asOwner(t, u, fmt.Sprintf("DROP OWNED BY %s; DROP ROLE %[1]s", role)) })
	limited, err := url.Parse(u)
	if err != nil {
		t.Fatal(err)
	}
	limited.User = url.UserPassword(role, "p")
	c, err := pgx.Connect(t.Context(), limited.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// told is the answer of a query with one value.
func told[V any](t *testing.T, c interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}, sql string, args ...any) (v V) {
	t.Helper()
	if err := c.QueryRow(t.Context(), sql, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

// written are the rows of tables as JSON, without what is another each time: IDs that are made, times, checksums of
// these, and the keys of deliveries, where they are of such IDs.
func written(t *testing.T, w *shop, keys bool) (all []string) {
	t.Helper()
	change := regexp.MustCompile(`"(key|run|publication|message|row)":(-?\d+|"(mesg|publ)_[^"]*"),?|"(arrived_at|created_at|sent_at|due_at|visible_at|wake_at|ready_at|until|at)":"[^"]*",?|` +
		`\\"(c|b)\\":\\"[^"]*\\",?|,\\"(s|nb)\\":\d+|"sum":("[^"]*"|-?\d+),?`)
	ids := regexp.MustCompile(`(wrun|dlvr)_[0-9A-Z]{26}`)
	if !keys {
		ids = regexp.MustCompile(ids.String() + `|"key":"[^"]{34,}"`)
	}
	for _, name := range []string{"runs", "log", "queue", "inbox", "delivered", "attributes", "totals", "classes", "messages", "dedupes", "publications", "due", "acts"} {
		rows, err := w.pool.Query(t.Context(), fmt.Sprintf(`SELECT row_to_json(x)::text FROM stepwell.%s x`, name))
		if err != nil {
			t.Fatal(err)
		}
		texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		for i := range texts {
			texts[i] = name + " " + ids.ReplaceAllString(change.ReplaceAllString(texts[i], ""), "ID")
		}
		slices.Sort(texts)
		all = append(all, texts...)
	}
	return all
}

// whole fails where anything that was written cannot be read, or is not right.
func whole(t *testing.T, w *shop) {
	t.Helper()
	found, err := world.Findings(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		if f.Health != world.HealthGood && f.Check != "server" && f.Check != "workers" { // nobody works here
			t.Errorf("doctor: %+v", f)
		}
	}
	runs, err := w.Runs(t.Context(), world.RunQuery{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range runs.Runs {
		if r.Damage != "" {
			t.Errorf("run %s: %s", r.ID, r.Damage)
		}
	}
	if out, err := world.Verify(t.Context(), w, world.VerifyQuery{Runs: 100}); err != nil || len(out.Damaged) > 0 {
		t.Errorf("verify: %+v, %v", out, err)
	}
	messages, err := w.Messages().PeekMessages(t.Context(), world.PeekQuery{Queue: "mails"})
	if err != nil {
		t.Fatal(err)
	}
	published, err := w.Topics().Publications(t.Context(), world.PublicationQuery{})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range messages.Messages {
		if m.Damage != "" {
			t.Error(m.Damage)
		}
	}
	for _, p := range published.Publications {
		if p.Damage != "" {
			t.Error(p.Damage)
		}
	}
}

// ways are what is done by Go and by SQL.
var ways = map[string]struct {
	start         string // of SQL, behind the workflow and the input
	workflow      string
	input         string
	options       []stepwell.StartOption
	message       *world.Message
	publication   *world.Publication
	call          string // of SQL, for these
	signal        string // delivery ID, "-": none
	live, limited bool
}{
	"plain":       {workflow: "w", input: `{"a": [1, "x:y"],"é":"\u00e9"}`},
	"key":         {workflow: "w", input: `null`, start: `, idempotency_key => 'k "1" \ é <'`, options: []stepwell.StartOption{stepwell.Key(`k "1" \ é <`)}},
	"options":     {workflow: "w", input: `1`, start: `, run_id => 'r-1', delay => '1 hour', priority => 4, version => 7`, options: []stepwell.StartOption{stepwell.RunID("r-1"), stepwell.Delay(time.Hour), stepwell.Priority(4), stepwell.Version(7)}},
	"attributes":  {workflow: "w", input: `{}`, start: `, attributes => '{"b": "é<\"", "a": 12.50, "c": [1,2], "d": null, "e<": true}'`, options: []stepwell.StartOption{stepwell.Attributes(map[string]any{"a": json.RawMessage("12.50"), "b": json.RawMessage(`"é<\""`), "c": json.RawMessage("[1,2]"), "d": nil, "e<": true})}},
	"definition":  {workflow: "said", input: `{}`, start: `, attributes => '{"n": 2}'`, options: []stepwell.StartOption{stepwell.Attributes(map[string]any{"n": 2})}},
	"version":     {workflow: "said", input: `{}`, start: `, version => 1`, options: []stepwell.StartOption{stepwell.Version(1)}},
	"live":        {workflow: "said", input: `{}`, live: true},
	"for ever":    {workflow: "ever", input: `{}`},
	"limited":     {workflow: "w", input: `{}`, limited: true},
	"signal":      {workflow: "w", input: `{}`, signal: "d-1"},
	"of a step":   {workflow: "w", input: `{}`, signal: "step_01JD3V7Q5ZJ8K2M4N6P8R0T2V4 and more"},
	"no ID":       {workflow: "w", input: `{}`, signal: "-"},
	"message":     {message: &world.Message{Queue: "mails", Payload: []byte(`{"to": "ann"}`), Priority: 1}, call: `stepwell.send('mails', '{"to": "ann"}')`},
	"group":       {message: &world.Message{Queue: "mails", Payload: []byte(`1`), Group: "g", Priority: 3, Headers: map[string]string{"b": "<x>&\n\u2028", "a": ""}}, call: `stepwell.send('mails', '1', message_group => 'g', priority => 4, headers => '{"b": "<x>&\n\u2028", "a": ""}')`},
	"dedupe":      {message: &world.Message{Queue: "mails", Payload: []byte(`1`), Dedupe: "d", Delay: time.Hour, Priority: 1}, call: `stepwell.send('mails', '1', delay => '1 hour', dedupe_id => 'd')`},
	"publication": {publication: &world.Publication{Topic: "order.paid", Payload: []byte(`{"n": 1}`)}, call: `stepwell.publish('order.paid', '{"n": 1}')`},
	"once":        {publication: &world.Publication{Topic: "order.paid", Payload: []byte(`{"n": 1}`), Source: "s", Dedupe: "d", Delay: time.Hour, Headers: map[string]string{"a": "b"}}, call: `stepwell.publish('order.paid', '{"n": 1}', 's', '1 hour', 'd', '{"a":"b"}')`},
}

// TestFunctionsWriteWhatGoWrites: the same by Go and by SQL, twice each; the rows are the same.
func TestFunctionsWriteWhatGoWrites(t *testing.T) {
	t.Parallel()
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			byGo, bySQL := openShop(t), openShop(t)
			app := byGo.app
			for _, w := range []*shop{byGo, bySQL} {
				if way.live {
					worker := world.Worker{ID: world.NewID(world.PrefixWorker, time.Now()), Classes: []world.Class{{Workflow: "said", Version: 1}}}
					if _, err := w.Join(t.Context(), worker); err != nil {
						t.Fatal(err)
					}
				}
				if way.limited {
					if _, _, err := w.LimitRetention(t.Context(), time.Hour, false); err != nil {
						t.Fatal(err)
					}
				}
			}
			c := asCaller(t, bySQL.url, "stepwell")
			ctx := t.Context()
			again := way.options == nil || strings.Contains(way.start, "key")
			for try := range 2 {
				var err error
				switch {
				case way.message != nil:
					var sent []world.Sent
					sent, err = byGo.Messages().SendMessages(ctx, []world.Message{*way.message})
					if id := told[string](t, c, "SELECT "+way.call); len(id) != len(sent[0].ID) || id[len(id)-16:] != sent[0].ID[len(id)-16:] {
						t.Errorf("got ID %s, want one like %s", id, sent[0].ID)
					}
				case way.publication != nil:
					var sent []world.Sent
					sent, err = byGo.Topics().Publish(ctx, []world.Publication{*way.publication})
					if id := told[string](t, c, "SELECT "+way.call); try == 0 && id[len(id)-16:] != sent[0].ID[len(id)-16:] {
						t.Errorf("got ID %s, want one like %s", id, sent[0].ID)
					}
				case try == 0 || again:
					var run *stepwell.Run[json.RawMessage]
					if run, err = app.Start(ctx, way.workflow, json.RawMessage(way.input), way.options...); err != nil {
						t.Fatal(err)
					}
					id := told[string](t, c, "SELECT stepwell.start($1, $2"+way.start+")", way.workflow, way.input)
					if _, err := bySQL.Run(ctx, id); err != nil {
						t.Fatal(err)
					}
					for n := range 2 {
						if way.signal == "" {
							continue
						}
						var options []stepwell.SendOption
						var given *string
						if way.signal != "-" {
							options, given = []stepwell.SendOption{stepwell.DeliveryID(way.signal)}, &way.signal
						}
						text := strings.Repeat(" ", n) + `{"n": "a  b"}`
						if err := app.Signal(ctx, run.ID(), "go <é>", json.RawMessage(text), options...); err != nil {
							t.Fatal(err)
						}
						if fresh := told[bool](t, c, "SELECT stepwell.signal($1, 'go <é>', $2, $3)", id, text, given); fresh != (n == 0 || given == nil) {
							t.Errorf("signal %d: got new %v", n, fresh)
						}
					}
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(written(t, byGo, way.signal != "-"), written(t, bySQL, way.signal != "-")); diff != "" {
				t.Errorf("-Go +SQL:\n%s", diff)
			}
			whole(t, bySQL)
		})
	}
}

// TestFunctionsRefuseWhatGoRefuses: bad input at both doors, with the state that docs/sql.md has for it; and nothing
// is written.
func TestFunctionsRefuseWhatGoRefuses(t *testing.T) {
	t.Parallel()
	w := openShop(t)
	app := w.app
	ctx := t.Context()
	if _, err := app.Start(ctx, "w", json.RawMessage("1"), stepwell.RunID("taken")); err != nil {
		t.Fatal(err)
	}
	if err := app.ForceCancel(ctx, "taken", ""); err != nil {
		t.Fatal(err)
	}
	for id, delivery := range map[string]string{"waits": "d", "full": "e", "secret": "f"} {
		if _, err := app.Start(ctx, "w", json.RawMessage("1"), stepwell.RunID(id), stepwell.Key("of "+id)); err != nil {
			t.Fatal(err)
		}
		if err := app.Signal(ctx, id, "go", json.RawMessage("1"), stepwell.DeliveryID(delivery)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.pool.Exec(ctx, `UPDATE stepwell.runs SET sealed = 'k9' WHERE id = 'secret'; UPDATE stepwell.queue SET "full" = true WHERE run = (SELECT key FROM stepwell.runs WHERE id = 'full')`); err != nil {
		t.Fatal(err)
	}
	c := asCaller(t, w.url, "stepwell")
	start := func(workflow, input string, opts ...stepwell.StartOption) error {
		_, err := app.Start(ctx, workflow, json.RawMessage(input), opts...)
		return err
	}
	startIn := func(input string) error { // what is large is kept apart by a start in no transaction
		tx, err := w.pool.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback(ctx) }()
		return start("w", input, stepwell.In(postgres.Tx(tx)))
	}
	signal := func(run, event, payload string, opts ...stepwell.SendOption) error {
		return app.Signal(ctx, run, event, json.RawMessage(payload), opts...)
	}
	send := func(m world.Message) error {
		if m.Payload == nil {
			m.Payload = []byte("1")
		}
		if m.Queue == "" {
			m.Queue = "mails"
		}
		_, err := w.Messages().SendMessages(ctx, []world.Message{m})
		return err
	}
	publish := func(p world.Publication) error {
		if p.Payload == nil {
			p.Payload = []byte("1")
		}
		_, err := w.Topics().Publish(ctx, []world.Publication{p})
		return err
	}
	long, large := strings.Repeat("x", 600), `"`+strings.Repeat("x", 1<<20)+`"`
	deep := strings.Repeat("[", 1001) + strings.Repeat("]", 1001)
	words := strings.Repeat("a.", 16) + "a"
	headers := map[string]string{"a": strings.Repeat("é", 4096)}
	many, manyText := map[string]any{}, "{"
	for i := range 65 {
		many[fmt.Sprint(i)] = 1
		manyText += fmt.Sprintf(`"%d":1,`, i)
	}
	manyText = strings.TrimSuffix(manyText, ",") + "}"
	before := written(t, w, true)
	for name, x := range map[string]struct {
		state string
		sql   string
		args  []any
		byGo  error
	}{
		"start: name":               {"22023", "start('a b')", nil, start("a b", "1")},
		"start: no name":            {"22023", "start(NULL)", nil, start("", "1")},
		"start: no JSON":            {"22P02", "start('w', $1)", []any{"{"}, start("w", "{")},
		"start: member twice":       {"22023", "start('w', $1)", []any{`{"a":{"b":1,"b":2}}`}, start("w", `{"a":{"b":1,"b":2}}`)},
		"start: twice, escaped":     {"22023", "start('w', $1)", []any{`{"a":1,"\u0061":2}`}, start("w", `{"a":1,"\u0061":2}`)},
		"start: half a surrogate":   {"22P02", "start('w', $1)", []any{`"\ud800"`}, start("w", `"\ud800"`)},
		"start: deep":               {"22023", "start('w', $1)", []any{deep}, start("w", deep)},
		"start: large":              {"54000", "start('w', $1)", []any{large}, startIn(large)},
		"start: long key":           {"22023", "start('w', idempotency_key => $1)", []any{long}, start("w", "1", stepwell.Key(long))},
		"start: key of a retry":     {"22023", "start('w', idempotency_key => 'retry:r')", nil, start("w", "1", stepwell.Key("retry:r"))},
		"start: key, not printable": {"22023", "start('w', idempotency_key => $1)", []any{"a\u2028"}, start("w", "1", stepwell.Key("a\u2028"))},
		"start: run ID":             {"22023", "start('w', run_id => 'a/b')", nil, start("w", "1", stepwell.RunID("a/b"))},
		"start: run ID, dots":       {"22023", "start('w', run_id => '..')", nil, start("w", "1", stepwell.RunID(".."))},
		"start: run ID, taken":      {"23505", "start('w', run_id => 'taken')", nil, start("w", "1", stepwell.RunID("taken"))},
		"start: another's key":      {"23505", "start('w', run_id => 'taken', idempotency_key => 'of waits')", nil, start("w", "1", stepwell.RunID("taken"), stepwell.Key("of waits"))},
		"start: delay":              {"22023", "start('w', delay => '-1 second')", nil, start("w", "1", stepwell.Delay(-time.Second))},
		"start: priority":           {"22023", "start('w', priority => 5)", nil, start("w", "1", stepwell.Priority(5))},
		"start: version":            {"22023", "start('w', version => -1)", nil, start("w", "1", stepwell.Version(-1))},
		"start: many attributes":    {"54000", "start('w', attributes => $1)", []any{manyText}, start("w", "1", stepwell.Attributes(many))},
		"start: large attribute":    {"54000", "start('w', attributes => json_build_object('a', repeat('x', 9000)))", nil, start("w", "1", stepwell.Attributes(map[string]any{"a": strings.Repeat("x", 9000)}))},
		"start: attribute's name":   {"22023", `start('w', attributes => '{"": 1}')`, nil, start("w", "1", stepwell.Attributes(map[string]any{"": 1}))},

		"signal: no run":     {"P0002", "signal('nobody', 'go')", nil, signal("nobody", "go", "1")},
		"signal: over":       {"55000", "signal('taken', 'go')", nil, signal("taken", "go", "1")},
		"signal: name":       {"22023", "signal('waits', E'a\n')", nil, signal("waits", "a\n", "1")},
		"signal: no name":    {"22023", "signal('waits', '')", nil, signal("waits", "", "1")},
		"signal: large":      {"54000", "signal('waits', 'go', $1)", []any{large}, signal("waits", "go", large)},
		"signal: long ID":    {"22023", "signal('waits', 'go', '1', $1)", []any{long}, signal("waits", "go", "1", stepwell.DeliveryID(long))},
		"signal: ID used":    {"23505", "signal('waits', 'go', '2', 'd')", nil, signal("waits", "go", "2", stepwell.DeliveryID("d"))},
		"signal: full":       {"53400", "signal('full', 'go')", nil, signal("full", "go", "1")},
		"signal: encrypted":  {"55000", "signal('secret', 'go')", nil, signal("secret", "go", "1")},
		"signal: twice":      {"22023", "signal('waits', 'go', $1)", []any{`{"a":1,"a":1}`}, signal("waits", "go", `{"a":1,"a":1}`)},
		"send: no queue":     {"42704", "send('nobody', '1')", nil, send(world.Message{Queue: "nobody"})},
		"send: queue's name": {"22023", "send('a b', '1')", nil, send(world.Message{Queue: "a b"})},
		"send: no JSON":      {"22P02", "send('mails', 'x')", nil, send(world.Message{Payload: []byte("x")})},
		"send: large":        {"54000", "send('mails', $1)", []any{large}, send(world.Message{Payload: []byte(large)})},
		"send: group":        {"22023", "send('mails', '1', message_group => $1)", []any{long}, send(world.Message{Group: long})},
		"send: delayed":      {"22023", "send('mails', '1', message_group => 'g', delay => '1 second')", nil, send(world.Message{Group: "g", Delay: time.Second})},
		"send: far":          {"22023", "send('mails', '1', delay => '366 days')", nil, send(world.Message{Delay: 366 * 24 * time.Hour})},
		"send: past":         {"22023", "send('mails', '1', delay => '-1 second')", nil, send(world.Message{Delay: -1})},
		"send: window":       {"22023", "send('mails', '1', dedupe_id => 'd', dedupe_window => '8 days')", nil, send(world.Message{Dedupe: "d", Window: 8 * 24 * time.Hour})},
		"send: dedupe ID":    {"22023", "send('mails', '1', dedupe_id => $1)", []any{long}, send(world.Message{Dedupe: long})},
		"send: priority":     {"22023", "send('mails', '1', priority => 0)", nil, send(world.Message{Priority: -1})},
		"send: headers":      {"54000", "send('mails', '1', headers => json_build_object('a', repeat('é', 4096)))", nil, send(world.Message{Headers: headers})},
		"send: header":       {"22023", `send('mails', '1', headers => '{"a\t": "b"}')`, nil, send(world.Message{Headers: map[string]string{"a\t": "b"}})},
		"publish: topic":     {"22023", "publish('a..b', '1')", nil, publish(world.Publication{Topic: "a..b"})},
		"publish: pattern":   {"22023", "publish('a.*', '1')", nil, publish(world.Publication{Topic: "a.*"})},
		"publish: words":     {"22023", "publish($1, '1')", []any{words}, publish(world.Publication{Topic: words})},
		"publish: long":      {"22023", "publish($1, '1')", []any{long}, publish(world.Publication{Topic: long})},
		"publish: no topic":  {"22023", "publish(NULL, '1')", nil, publish(world.Publication{})},
		"publish: source":    {"22023", "publish('a', '1', source => $1)", []any{long}, publish(world.Publication{Topic: "a", Source: long})},
		"publish: ID":        {"22023", "publish('a', '1', delivery_id => $1)", []any{long}, publish(world.Publication{Topic: "a", Dedupe: long})},
		"publish: delay":     {"22023", "publish('a', '1', delay => '366 days')", nil, publish(world.Publication{Topic: "a", Delay: 366 * 24 * time.Hour})},
		"publish: large":     {"54000", "publish('a', $1)", []any{large}, publish(world.Publication{Topic: "a", Payload: []byte(large)})},
		"publish: headers":   {"54000", "publish('a', '1', headers => json_build_object('a', repeat('x', 8100)))", nil, publish(world.Publication{Topic: "a", Headers: map[string]string{"a": strings.Repeat("x", 8100)}})},
	} {
		var answer any
		err := c.QueryRow(ctx, "SELECT stepwell."+x.sql, x.args...).Scan(&answer)
		if stateOf(err) != x.state || x.byGo == nil {
			t.Errorf("%s: by SQL %v, want the state %s; by Go %v, want an error", name, err, x.state, x.byGo)
		}
		if p := (*pgconn.PgError)(nil); errors.As(err, &p) && len(p.Message) > 500 {
			t.Errorf("%s: the error is too long: %s", name, p.Message)
		}
	}
	if diff := cmp.Diff(before, written(t, w, true)); diff != "" {
		t.Errorf("something was written:\n%s", diff)
	}
}

// TestFunctionsGiveNothingElse: a role that may call them can neither read nor write anything, and has no other
// function; in a schema of another name.
func TestFunctionsGiveNothingElse(t *testing.T) {
	t.Parallel()
	w := openShop(t, postgres.Options{Schema: `o'wn "name"`})
	const schema = `"o'wn ""name"""`
	c := asCaller(t, w.url, schema)
	id := told[string](t, c, "SELECT "+schema+`.start('w', '1')`)
	if !told[bool](t, c, "SELECT "+schema+`.signal($1, 'go')`, id) || told[string](t, c, "SELECT "+schema+`.send('mails', '1')`) == "" || told[string](t, c, "SELECT "+schema+`.publish('a', '1')`) == "" {
		t.Error("a call did nothing")
	}
	if run, err := w.Run(t.Context(), id); err != nil || run.Queue.Mail != 1 {
		t.Errorf("got %+v, %v", run, err)
	}
	may := told[[]string](t, c, `SELECT coalesce(array_agg(p.proname::text ORDER BY p.proname), '{}') FROM pg_proc p WHERE p.pronamespace = $1::regnamespace AND has_function_privilege(p.oid, 'EXECUTE')`, schema)
	// readable is a cast
	if diff := cmp.Diff([]string{"publish", "readable", "send", "signal", "start"}, may); diff != "" {
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
