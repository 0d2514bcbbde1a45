package postgres

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

// TestMessagesInLineCostNothing: with 100,000 messages in line for one key, messages of another are sent, received
// and acknowledged by as many statements as with none, and a receive and an admission read as many pages, but for
// indexes that are deeper.
func TestMessagesInLineCostNothing(t *testing.T) {
	t.Parallel()
	u := pgtest.URL(t)
	w, err := Open(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	k := w.Messages()
	if err := k.DeclareQueue(t.Context(), world.MessageQueue{Name: "q", Limits: []world.SaidLimit{{Name: "bank", Number: 2, Path: "to"}}}); err != nil {
		t.Fatal(err)
	}
	receive := func(want int) (ends []world.Settlement) {
		t.Helper()
		got, err := k.ReceiveMessages(t.Context(), world.ReceiveQuery{Queue: "q", Limit: 10})
		if err != nil || len(got.Messages) != want {
			t.Fatalf("received %d messages, want %d: %v", len(got.Messages), want, err)
		}
		for _, m := range got.Messages {
			ends = append(ends, world.Settlement{Receipt: m.Receipt, Kind: world.Ack})
		}
		return ends
	}
	round := func() (statements, receiving, admitting int64) {
		t.Helper()
		before := w.counters.statements.Load()
		for range 3 {
			if _, err := k.SendMessages(t.Context(), []world.Message{{Queue: "q", Payload: []byte(`{"to":"ann"}`)}}); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			for want := 2; want > 0; want-- { // two of a key, and then the last
				ends := receive(want)
				if _, err := k.SettleMessages(t.Context(), ends); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := k.SendMessages(t.Context(), []world.Message{
				{Queue: "q", Payload: []byte(`{"to":"bob"}`)}, {Queue: "q", Payload: []byte(`{"to":"bob"}`)}, {Queue: "q", Payload: []byte(`{"to":"bob"}`)},
			}); err != nil {
				t.Fatal(err)
			}
		}
		statements = w.counters.statements.Load() - before
		low := w.messaging.lowOf("q").from
		receiving = fewestBlocks(t, w, w.sql(nextMessage), "q", low[:], orInfinity(w.now())) + fewestBlocks(t, w, "SELECT * FROM ("+readyOf(w)+") x", "q", int64(10))
		admitting = fewestBlocks(t, w, w.sql(lookLimits), mostLimitKeys, mostLimitNews, mostAdmitted, int64(rules.RateSlack))
		for want := 2; want > 0; want-- {
			if _, err := k.SettleMessages(t.Context(), receive(want)); err != nil {
				t.Fatal(err)
			}
		}
		return statements, receiving, admitting
	}
	round() // what is learnt once
	few, pages, looks := round()
	execute(t, u, `INSERT INTO stepwell.messages (queue, priority, visible_at, head, body, sum, places, has, parked_at)
  SELECT q.key, 1, 'infinity', '{}', '1', 0, ARRAY['bank/full'], 0, now() FROM stepwell.queues q, generate_series(1, 100000);
INSERT INTO stepwell.limit_line SELECT 'bank/full', 2, m.parked_at, m.key - 6917529027641081856 FROM stepwell.messages m WHERE m.places IS NOT NULL;
INSERT INTO stepwell.limit_keys VALUES ('bank/full', 2)`)
	execute(t, u, "VACUUM ANALYZE stepwell.messages, stepwell.limit_line, stepwell.limit_keys, stepwell.limit_news")
	many, pagesThen, looksThen := round()
	if many != few || pagesThen > pages+10 || looksThen > looks+10 {
		t.Errorf("beside 100,000 in line %d statements, a receive of %d pages and an admission of %d; before %d, %d and %d", many, pagesThen, looksThen, few, pages, looks)
	}
}

// readyOf is what a receive looks at.
func readyOf(w *World) string { return w.sql(readyMessages) }

// TestSendInSQLUnderALimit: what SQL sends has the places that the queue's limits say, and is refused without a key.
func TestSendInSQLUnderALimit(t *testing.T) {
	t.Parallel()
	u := pgtest.URL(t)
	w, err := Open(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	k := w.Messages()
	if err := k.DeclareQueue(t.Context(), world.MessageQueue{Name: "q", Limits: []world.SaidLimit{
		{Name: "bank", Number: 1, Path: "to.id"}, {Name: "all", Number: 5}, {Name: "pace", Number: 1000, Per: 1e9, Burst: 10},
	}}); err != nil {
		t.Fatal(err)
	}
	for _, payload := range []string{`{"to":{"id":"ann"}}`, `{"to": {"id": "ann", "x": 1}}`, `{"to":{"id":1.0}}`, `{"to":{"id":1}}`, `{"to":{"id":10e-1}}`, `{"to":{"id":true}}`} {
		execute(t, u, fmt.Sprintf("SELECT stepwell.send('q', '%s')", payload))
	}
	if _, err := k.SendMessages(t.Context(), []world.Message{{Queue: "q", Payload: []byte(`{"to":{"id":"nul"},"of":"\u0000\u0000 \\u0000"}`)}}); err != nil {
		t.Errorf("what is no text of PostgreSQL, beside the key: %v", err)
	}
	got, err := k.ReceiveMessages(t.Context(), world.ReceiveQuery{Queue: "q", Limit: 10})
	if err != nil || len(got.Messages) != 4 {
		t.Fatalf("received %d messages, %v; want one of each key", len(got.Messages), err)
	}
	keys, err := w.Limits().ListLimitKeys(t.Context(), "bank", "", 10)
	if err != nil || len(keys) != 4 || keys[0].Key != "1" || keys[0].Waiting != 2 || keys[1].Key != "ann" || keys[1].Waiting != 1 || keys[2].Key != "nul" || keys[3].Key != "true" {
		t.Errorf("keys: %+v, %v", keys, err)
	}
	for _, bad := range []string{`1`, `{"to":{}}`, `{"to":{"id":["ann"]}}`, `{"to":[{"id":"ann"}]}`, `{"to":{"id":"a\u0007"}}`, `{"to":{"id":"a\u0000"}}`} {
		if _, err := w.pool.Exec(t.Context(), "SELECT stepwell.send('q', $1::text::json)", bad); sqlState(err) != codeParameter && !strings.Contains(bad, "0000") {
			t.Errorf("%s: got %v, want a refusal", bad, err)
		}
		if _, err := k.SendMessages(t.Context(), []world.Message{{Queue: "q", Payload: []byte(bad)}}); !errors.Is(err, world.ErrInvalid) {
			t.Errorf("%s: got %v, want ErrInvalid", bad, err)
		}
	}
}

// fewestBlocks is of three tries: the caches of a session are emptied whenever others beside it make tables, and what
// fills them is counted.
func fewestBlocks(t testing.TB, w *World, sql string, args ...any) int64 {
	t.Helper()
	return min(blocksOf(t, w, sql, args...), blocksOf(t, w, sql, args...), blocksOf(t, w, sql, args...))
}
