package postgres_test

// What the functions of the schema refuse is what Go refuses.

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/postgres"
)

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
