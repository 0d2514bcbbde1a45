package postgres_test

// Messages that share a transaction with the application's own tables.

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/keyring"
	"github.com/stepwell/stepwell/queue"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
	"github.com/stepwell/stepwell/world/postgres"
)

// effect writes that a message had its effect.
func effect(ctx context.Context, m *queue.Message[string]) error {
	_, err := postgres.TxFrom(ctx).Exec(ctx, "INSERT INTO effects (message) VALUES ($1)", m.Payload)
	return err
}

// till is a database with a table of effects.
type till struct {
	*testing.T
	pool *pgxpool.Pool
	w    *postgres.World
	app  *stepwell.App
}

// openTill has an App with handlers at url, through which it may reach the server in another way than by direct.
func openTill(t *testing.T, direct, url string, defs ...stepwell.Definition) *till {
	t.Helper()
	b := &till{T: t}
	var err error
	if b.pool, err = pgxpool.New(t.Context(), direct); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.pool.Close)
	if _, err := b.pool.Exec(t.Context(), "CREATE TABLE IF NOT EXISTS effects (n bigserial, message text NOT NULL)"); err != nil {
		t.Fatal(err)
	}
	if b.w, err = postgres.Open(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.w.Close() })
	b.app = work(t, b.w, defs...)
	return b
}

// effects are the effects in order.
func (b *till) effects() (all []string) {
	b.Helper()
	rows, err := b.pool.Query(b.Context(), "SELECT message FROM effects ORDER BY n")
	if err != nil {
		return nil // the server is on its way
	}
	defer rows.Close()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			b.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

func (b *till) left() (n int) {
	b.Helper()
	if err := b.pool.QueryRow(b.Context(), "SELECT count(*) FROM stepwell.messages").Scan(&n); err != nil {
		return -1
	}
	return n
}

func (b *till) until(what string, there func() bool) {
	b.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(30 * time.Second); !there(); <-tick.C {
		if time.Now().After(end) {
			b.Fatalf("in vain: %s; %d messages are left, effects %q", what, b.left(), b.effects())
		}
	}
}

// done waits until no message is left, and holds the effects to be these, each once.
func (b *till) done(want ...string) {
	b.Helper()
	b.until("all is done", func() bool { return b.left() == 0 })
	got := b.effects()
	slices.Sort(got)
	if !slices.Equal(got, want) {
		b.Errorf("effects: got %q, want each of %q once", got, want)
	}
}

func (b *till) send(q *queue.Queue[string], text string, opts ...queue.SendOption) {
	b.Helper()
	if _, err := q.Send(b.Context(), b.app, text, opts...); err != nil {
		b.Fatal(err)
	}
}

func jobs() *queue.Queue[string] {
	return queue.Define[string]("jobs", queue.Visibility(5*time.Second))
}

// TestSendAndAckInTx: a message that is sent in the application's transaction, and one that is acknowledged in it.
func TestSendAndAckInTx(t *testing.T) {
	t.Parallel()
	url, q := pgtest.URL(t), jobs()
	b := openTill(t, url, url)
	for _, commits := range []bool{false, true} {
		tx, err := b.pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		in := stepwell.In(postgres.Tx(tx))
		if _, err := q.SendAll(t.Context(), b.app, []string{"a", "b"}, in); err != nil {
			t.Fatal(err)
		}
		if _, err := q.Send(t.Context(), b.app, "c", in, queue.Group("g"), queue.DedupeID("once", 0)); err != nil {
			t.Fatal(err)
		}
		if got, err := q.Receive(t.Context(), b.app, queue.Most(10)); err != nil || len(got) != 0 {
			t.Fatalf("before the end of the transaction: got %d messages, %v", len(got), err)
		}
		end := tx.Rollback
		if commits {
			end = tx.Commit
		}
		if err := end(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	var got []*queue.Message[string]
	for len(got) < 3 {
		more, err := q.Receive(t.Context(), b.app, queue.Most(10), queue.Wait(10*time.Second), queue.For(time.Minute))
		if err != nil || len(more) == 0 {
			t.Fatalf("got %d messages, then %d, %v; want 3", len(got), len(more), err)
		}
		got = append(got, more...)
	}
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for i, m := range got {
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			if err := m.Nack(t.Context(), time.Hour, "not now"); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := tx.ExecContext(t.Context(), "INSERT INTO effects (message) VALUES ($1)", m.Payload); err != nil {
			t.Fatal(err)
		}
		err = m.Ack(t.Context(), stepwell.In(postgres.SQLTx(tx)))
		if i == 0 {
			if !errors.Is(err, queue.ErrReceipt) {
				t.Errorf("acknowledge what was given back: %v, want ErrReceipt", err)
			}
			_ = tx.Rollback()
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(b.effects()); n != 2 || b.left() != 1 {
		t.Errorf("%d effects, and %d messages left; want 2 and 1", n, b.left())
	}
	if _, err := q.Send(t.Context(), b.app, "nil", stepwell.In(nil)); !errors.Is(err, stepwell.ErrInvalid) {
		t.Errorf("in no transaction: %v", err)
	}
}

// TestTransactionalHandler: what a handler wrote that failed, panicked, lost its connection or could not commit is
// gone, and what the last one wrote is there, once.
func TestTransactionalHandler(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]func(ctx context.Context) error{
		"error":  func(context.Context) error { return errors.New("no paper") },
		"panics": func(context.Context) error { panic("the printer is on fire") },
		"the transaction is broken": func(ctx context.Context) error {
			_, _ = postgres.TxFrom(ctx).Exec(ctx, "SELECT 1 / 0")
			return nil
		},
		"the connection is cut": func(ctx context.Context) error {
			_, _ = postgres.TxFrom(ctx).Exec(ctx, "SELECT pg_terminate_backend(pg_backend_pid())")
			return nil
		},
		"it ends the transaction": func(ctx context.Context) error {
			_, _ = postgres.TxFrom(ctx).Exec(ctx, "ROLLBACK")
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int64
			q := jobs()
			url := pgtest.URL(t)
			b := openTill(t, url, url, q.Handle(func(ctx context.Context, m *queue.Message[string]) error {
				if err := effect(ctx, m); err != nil {
					return err
				}
				if calls.Add(1) <= 2 {
					return fails(ctx)
				}
				return nil
			}, queue.Transactional(), queue.Retry(quick)))
			b.send(q, "a")
			b.send(q, "b", queue.Group("g"))
			b.done("a", "b")
			if n := calls.Load(); n != 4 {
				t.Errorf("%d calls, want 4", n)
			}
		})
	}
}

// TestLostAnswers: a connection that is cut at the COMMIT of a handler leaves one effect, whether it was committed or
// not.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	for _, action := range []pgtest.Action{pgtest.CutBefore, pgtest.CutAfter, pgtest.CutBlind} {
		t.Run(string(action), func(t *testing.T) {
			t.Parallel()
			url := pgtest.URL(t)
			proxy := pgtest.NewProxy(t, url)
			var calls, cuts atomic.Int64
			var links [2]atomic.Uint32 // backends of the handlers' transactions
			q := jobs()
			b := openTill(t, url, proxy.URL(url), q.Handle(func(ctx context.Context, m *queue.Message[string]) error {
				if n := calls.Add(1); n <= 2 {
					links[n-1].Store(postgres.TxFrom(ctx).Conn().PgConn().PID())
				}
				return effect(ctx, m)
			}, queue.Transactional(), queue.Retry(quick), queue.Parallel(1)))
			proxy.Rule(func(batch *pgtest.Batch) pgtest.Action {
				if pid := batch.Link.PID(); pid != 0 && (pid == links[0].Load() || pid == links[1].Load()) && batch.Begun && batch.Has("commit") && cuts.Add(1) <= 2 {
					return action
				}
				return pgtest.Forward
			})
			b.send(q, "a")
			b.send(q, "b", queue.Group("g"))
			b.done("a", "b")
			switch n := calls.Load(); {
			case cuts.Load() < 2:
				t.Errorf("%d connections were cut, want 2", cuts.Load())
			case action == pgtest.CutAfter && n != 2, action == pgtest.CutBefore && n < 3:
				t.Errorf("%d calls of two messages", n)
			}
		})
	}
}

// TestRestartUnderHandlers: the server dies with what handlers have written and not committed.
func TestRestartUnderHandlers(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t, pgtest.Config{NoSync: true})
	url, q := server.URL(t), jobs()
	var calls atomic.Int64
	wrote, restarted := make(chan bool, 2), make(chan bool)
	b := openTill(t, url, url, q.Handle(func(ctx context.Context, m *queue.Message[string]) error {
		if err := effect(ctx, m); err != nil {
			return err
		}
		if calls.Add(1) <= 2 {
			wrote <- true
			<-restarted
		}
		return nil
	}, queue.Transactional(), queue.Retry(quick)))
	b.send(q, "a")
	b.send(q, "b", queue.Group("g"))
	<-wrote
	<-wrote
	if err := server.Restart(pgtest.Immediate); err != nil {
		t.Fatal(err)
	}
	close(restarted)
	b.done("a", "b")
}

// TestLateHandler: a handler whose message another has received since writes nothing.
func TestLateHandler(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	url, q := pgtest.URL(t), jobs()
	first, second := make(chan bool), make(chan bool)
	b := openTill(t, url, url, q.Handle(func(ctx context.Context, m *queue.Message[string]) error {
		if err := effect(ctx, m); err != nil {
			return err
		}
		if calls.Add(1) == 1 {
			close(first)
			<-second
		}
		return nil
	}, queue.Transactional(), queue.Parallel(1)))
	b.send(q, "a")
	<-first
	var got []*queue.Message[string]
	b.until("another receives it", func() (there bool) {
		if _, err := b.pool.Exec(t.Context(), "UPDATE stepwell.messages SET visible_at = clock_timestamp() - interval '1 second'"); err != nil {
			t.Fatal(err)
		}
		var err error
		if got, err = q.Receive(t.Context(), b.app, queue.For(time.Minute)); err != nil {
			t.Fatal(err)
		}
		return len(got) == 1
	})
	b.send(q, "z")
	close(second)
	b.until("the late one has ended", func() bool { return len(b.effects()) > 0 })
	if got := b.effects(); !slices.Equal(got, []string{"z"}) {
		t.Errorf("effects: got %q, want none of the late handler", got)
	}
	tx, err := b.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "INSERT INTO effects (message) VALUES ('a')"); err != nil {
		t.Fatal(err)
	}
	if err := got[0].Ack(t.Context(), stepwell.In(postgres.Tx(tx))); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.done("a", "z")
}

// TestOpenHandlers: handlers that stand still in their transactions stop no others, of a queue with groups and without.
func TestOpenHandlers(t *testing.T) {
	t.Parallel()
	url, q := pgtest.URL(t), jobs()
	standing, goOn := make(chan bool, 2), make(chan bool)
	b := openTill(t, url, url, q.Handle(func(ctx context.Context, m *queue.Message[string]) error {
		if err := effect(ctx, m); err != nil {
			return err
		}
		if strings.HasPrefix(m.Payload, "slow") {
			standing <- true
			<-goOn
		}
		return nil
	}, queue.Transactional(), queue.Parallel(4)))
	b.send(q, "slow")
	b.send(q, "slow of g", queue.Group("g"))
	<-standing
	<-standing
	b.send(q, "behind", queue.Group("g"))
	for _, text := range []string{"1", "2", "3", "4"} {
		b.send(q, text)
		b.send(q, "h"+text, queue.Group("h"))
	}
	b.until("others do not wait for open transactions", func() bool { return b.left() == 3 })
	close(goOn)
	b.done("1", "2", "3", "4", "behind", "h1", "h2", "h3", "h4", "slow", "slow of g")
}

// TestHandlerStatements: how many statements a message costs that is handled in a transaction, beside its own.
func TestHandlerStatements(t *testing.T) {
	t.Parallel()
	w, err := postgres.Open(t.Context(), pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	keep := w.Messages()
	if err := keep.DeclareQueue(t.Context(), world.MessageQueue{Name: "jobs"}); err != nil {
		t.Fatal(err)
	}
	stats := func() int64 {
		s, err := w.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return s.Counters.Statements
	}
	for group, most := range map[string]int64{"": 5, "g": 10} { // with the news that the group goes on
		least, looks := int64(1<<20), int64(1<<20) // others are of what the World does by itself
		for range 3 {
			looked := stats()
			looks = min(looks, stats()-looked)
			if _, err := keep.SendMessages(t.Context(), []world.Message{{Queue: "jobs", Group: group, Payload: []byte("1")}}); err != nil {
				t.Fatal(err)
			}
			got, err := keep.ReceiveMessages(t.Context(), world.ReceiveQuery{Queue: "jobs", Limit: 1})
			if err != nil || len(got.Messages) != 1 {
				t.Fatalf("got %d messages, %v", len(got.Messages), err)
			}
			before := stats()
			tx, err := w.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			done, err := w.SettleMessagesIn(t.Context(), tx, []world.Settlement{{Receipt: got.Messages[0].Receipt, Kind: world.Ack}})
			if err == nil {
				err = tx.Commit(t.Context())
			}
			if err != nil || !done[0] {
				t.Fatalf("%v, %v", done, err)
			}
			least = min(least, stats()-before)
		}
		if least -= looks; least > most {
			t.Errorf("group %q: %d statements, want %d at most", group, least, most)
		}
	}
}

// TestNoTransactions: a world that shares none refuses at once.
func TestNoTransactions(t *testing.T) {
	q := jobs()
	_, err := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{q.Handle(effect, queue.Transactional())}})
	if !errors.Is(err, stepwell.ErrInvalid) || !strings.Contains(err.Error(), "Transactional") {
		t.Errorf("got %v, want a refusal that says why", err)
	}
	app, err := stepwell.New(memory.New(), stepwell.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := q.Send(t.Context(), app, "a", stepwell.In(postgres.Tx(nil))); !errors.Is(err, stepwell.ErrInvalid) {
		t.Errorf("send: %v", err)
	}
}

// TestEncryptedSendInTx: what is sent in a transaction is encrypted as all that is sent.
func TestEncryptedSendInTx(t *testing.T) {
	t.Parallel()
	key, err := keyring.NewKey("k1")
	if err != nil {
		t.Fatal(err)
	}
	ring, err := keyring.New(key)
	if err != nil {
		t.Fatal(err)
	}
	url, q := pgtest.URL(t), jobs()
	b := openTill(t, url, url)
	b.app = workWith(t, b.w, stepwell.Config{Encryption: ring})
	tx, err := b.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b.send(q, "a secret", stepwell.In(postgres.Tx(tx)))
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	plain := 0
	if err := b.pool.QueryRow(t.Context(), "SELECT count(*) FROM stepwell.messages WHERE convert_from(body, 'UTF8') LIKE '%secret%'").Scan(&plain); err != nil || plain != 0 {
		t.Errorf("%d messages are plain, %v", plain, err)
	}
	got, err := q.Receive(t.Context(), b.app, queue.Wait(10*time.Second))
	if err != nil || len(got) != 1 || got[0].Payload != "a secret" {
		t.Fatalf("got %d messages, %v", len(got), err)
	}
	if tx, err = b.pool.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := got[0].Ack(t.Context(), stepwell.In(postgres.Tx(tx))); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.done()
}

// TestHandlersUnderCuts: two programs handle messages while all connections of one are cut again and again: one effect
// each, and groups in order.
func TestHandlersUnderCuts(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	proxy, q := pgtest.NewProxy(t, url), queue.Define[string]("jobs", queue.Visibility(5*time.Second), queue.MaxReceives(1000))
	handler := func() stepwell.Definition {
		return q.Handle(effect, queue.Transactional(), queue.Retry(quick), queue.Parallel(4))
	}
	b := openTill(t, url, url, handler())
	openTill(t, url, proxy.URL(url), handler())
	var want []string
	for i := range 40 {
		text, group := fmt.Sprintf("%02d", i), fmt.Sprintf("g%d:%02d", i%4, i)
		b.send(q, text)
		b.send(q, group, queue.Group(group[:2]))
		want = append(want, text, group)
		proxy.CutAll()
	}
	slices.Sort(want)
	b.done(want...)
	last := map[string]string{}
	for _, text := range b.effects() {
		if group, _, found := strings.Cut(text, ":"); found {
			if text < last[group] {
				t.Errorf("%s had its effect after %s", text, last[group])
			}
			last[group] = text
		}
	}
}
