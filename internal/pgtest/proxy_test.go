package pgtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"
)

// writers are the ways in which a client can commit; each inserts the value into t, and its last call returns when that is durable.
var writers = map[string]func(ctx context.Context, conn *pgx.Conn, value int) error{
	"one statement": func(ctx context.Context, conn *pgx.Conn, value int) error {
		_, err := conn.Exec(ctx, "insert into t values ($1)", value)
		return err
	},
	"simple protocol": func(ctx context.Context, conn *pgx.Conn, value int) error {
		_, err := conn.Exec(ctx, "insert into t values ($1)", pgx.QueryExecModeSimpleProtocol, value)
		return err
	},
	"unnamed statement": func(ctx context.Context, conn *pgx.Conn, value int) error {
		_, err := conn.Exec(ctx, "/* comment */ insert into t values ($1)", pgx.QueryExecModeExec, value)
		return err
	},
	"several at once": func(ctx context.Context, conn *pgx.Conn, value int) error {
		return conn.PgConn().Exec(ctx, fmt.Sprintf("select 1; -- x\n insert into t values (%d); select 2", value)).Close()
	},
	"batch": func(ctx context.Context, conn *pgx.Conn, value int) error {
		b := &pgx.Batch{}
		b.Queue("select 1")
		b.Queue("insert into t values ($1)", value)
		b.Queue("select 2")
		return conn.SendBatch(ctx, b).Close()
	},
	"transaction": func(ctx context.Context, conn *pgx.Conn, value int) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "insert into t values ($1)", value)
			return err
		})
	},
	"pipeline": func(ctx context.Context, conn *pgx.Conn, value int) error {
		return pipeline(ctx, conn, false, "begin", fmt.Sprintf("insert into t values (%d)", value), "commit")
	},
	"pipeline with a flush behind its commit": func(ctx context.Context, conn *pgx.Conn, value int) error {
		return pipeline(ctx, conn, true, "begin", fmt.Sprintf("insert into t values (%d)", value), "commit")
	},
	"copy": func(ctx context.Context, conn *pgx.Conn, value int) error {
		_, err := conn.CopyFrom(ctx, pgx.Identifier{"t"}, []string{"i"}, pgx.CopyFromRows([][]any{{value}}))
		return err
	},
}

func pipeline(ctx context.Context, conn *pgx.Conn, flush bool, statements ...string) error {
	p := conn.PgConn().StartPipeline(ctx)
	for _, sql := range statements {
		p.SendQueryParams(sql, nil, nil, nil, nil)
	}
	if flush {
		p.SendFlushRequest()
	}
	err := p.Sync()
	for err == nil {
		var r any
		if r, err = p.GetResults(); r == nil && err == nil {
			break
		}
		if reader, ok := r.(*pgconn.ResultReader); ok {
			_, err = reader.Close()
		}
	}
	return errors.Join(err, p.Close())
}

// proxied makes a database with a table t, and a proxy in front of it.
func proxied(t *testing.T) (p *Proxy, through string, direct *pgx.Conn) {
	t.Helper()
	url := URL(t)
	direct = connect(t, url)
	execute(t, direct, "create table t (i int)")
	p = NewProxy(t, url)
	return p, p.URL(url), direct
}

// once is a rule that does something with the first batch that commits.
func once(action Action) func(*Batch) Action {
	var done atomic.Bool
	return func(b *Batch) Action {
		if b.Commits() && done.CompareAndSwap(false, true) {
			return action
		}
		return Forward
	}
}

// TestCuts: what was cut after COMMIT is in the database, what was cut before is not; the client knows neither.
func TestCuts(t *testing.T) {
	for name, write := range writers {
		t.Run(name, func(t *testing.T) {
			leaks := goleak.IgnoreCurrent()
			t.Run("", func(t *testing.T) {
				p, through, direct := proxied(t)
				for value, action := range []Action{Forward, CutBefore, CutAfter} {
					conn := connect(t, through)
					p.Rule(once(action))
					err := write(t.Context(), conn, value)
					if cut := action != Forward; (err != nil) != cut || conn.IsClosed() != cut {
						t.Errorf("%s: the client got %v, closed %v", action, err, conn.IsClosed())
					}
				}
				// The server may need a moment to see that the client is gone; what it commits without a client it has committed before the cut.
				if got := value[string](t, direct, "select coalesce(string_agg(i::text, ' ' order by i), '') from t"); got != "0 2" {
					t.Errorf("the database has %q, want what was forwarded and what was cut after its commit: \"0 2\"", got)
				}
				if got, want := p.Counts(), (Counts{Links: 3, Before: 1, After: 1}); got != want {
					t.Errorf("counts: got %+v, want %+v", got, want)
				}
			})
			if err := goleak.Find(leaks); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestCutBlind: the client does not know, and the database has it once or not at all.
func TestCutBlind(t *testing.T) {
	p, through, direct := proxied(t)
	for i := range 20 {
		conn := connect(t, through)
		p.Rule(once(CutBlind))
		if err := writers["transaction"](t.Context(), conn, i); err == nil {
			t.Fatal("a cut connection gave no error")
		}
	}
	if got := value[int](t, direct, "select count(*) - count(distinct i) from t"); got != 0 {
		t.Errorf("%d rows are there twice", got)
	}
	if got := p.Counts(); got.Blind != 20 {
		t.Errorf("counts: got %+v, want 20 blind cuts", got)
	}
}

// TestNoCommitNoCut: an answer that tells of no commit is forwarded, whatever the rule wanted.
func TestNoCommitNoCut(t *testing.T) {
	p, through, _ := proxied(t)
	conn := connect(t, through)
	p.Rule(func(*Batch) Action { return CutAfter })
	if _, err := conn.Exec(t.Context(), "insert into t values (1/0)"); err == nil || !strings.Contains(err.Error(), "division by zero") {
		t.Errorf("got %v, want the server's error", err)
	}
	execute(t, conn, "begin")
	execute(t, conn, "insert into t values (1)")
	execute(t, conn, "savepoint s; insert into t values (2); rollback to s")
	if _, err := conn.Exec(t.Context(), "insert into t values (1/0)"); err == nil {
		t.Error("no error")
	}
	if tag, err := conn.Exec(t.Context(), "commit"); err != nil || tag.String() != "ROLLBACK" {
		t.Errorf("the commit of a failed transaction: got %s, %v, want ROLLBACK", tag, err)
	}
	if got := value[int](t, conn, "select 1"); got != 1 {
		t.Errorf("got %d, want 1", got)
	}
	if got := p.Counts(); got.After != 0 {
		t.Errorf("counts: got %+v, want no cut", got)
	}
}

// TestHold: a held batch is not done, or done up to its end with its locks held, and goes on when it is released.
func TestHold(t *testing.T) {
	for _, action := range []Action{Hold, HoldEnd} {
		t.Run(string(action), func(t *testing.T) {
			p, through, direct := proxied(t)
			conn := connect(t, through)
			p.Rule(once(action))
			link := p.Links()[0]
			if link.PID() != conn.PgConn().PID() || link.Param("user") != "stepwell" {
				t.Errorf("link of process %d, user %q; want %d, stepwell", link.PID(), link.Param("user"), conn.PgConn().PID())
			}
			ended := make(chan error, 1)
			go func() { ended <- writers["batch"](t.Context(), conn, 1) }()
			within(t, 20*time.Second, "the batch is held", func() bool { return p.Counts().Held == 1 })
			locks := fmt.Sprintf("select count(*) from pg_locks where pid = %d and relation = 't'::regclass", link.PID())
			if action == HoldEnd {
				within(t, 20*time.Second, "the server has done all but the end", func() bool { return value[int](t, direct, locks) == 1 })
			} else if n := value[int](t, direct, locks); n != 0 {
				t.Errorf("%d locks for a batch that was not sent", n)
			}
			if n := value[int](t, direct, "select count(*) from t"); n != 0 {
				t.Errorf("%d rows before the end", n)
			}
			select {
			case err := <-ended:
				t.Fatalf("the client got %v from a held connection", err)
			default:
			}
			link.Release()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if n := value[int](t, direct, "select count(*) from t"); n != 1 {
				t.Errorf("%d rows after the end, want 1", n)
			}
		})
	}
}

// TestReleaseComesFirst: whoever learns of the batch from its rule may release it before it is held, and that release is not lost.
func TestReleaseComesFirst(t *testing.T) {
	for _, action := range []Action{Hold, HoldEnd} {
		t.Run(string(action), func(t *testing.T) {
			p, through, _ := proxied(t)
			conn := connect(t, through)
			first := once(action)
			p.Rule(func(b *Batch) Action {
				b.Link.Release()
				return first(b)
			})
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			if err := writers["batch"](ctx, conn, 1); err != nil {
				t.Error(err)
			}
			if n := p.Counts().Held; n != 1 {
				t.Errorf("%d batches were held, want 1", n)
			}
		})
	}
}

// TestCutWhileHeld: a client that stalls in its transaction, and dies, leaves nothing.
func TestCutWhileHeld(t *testing.T) {
	p, through, direct := proxied(t)
	conn := connect(t, through)
	p.Rule(once(HoldEnd))
	ended := make(chan error, 1)
	go func() { ended <- writers["batch"](t.Context(), conn, 1) }()
	within(t, 20*time.Second, "the batch is held", func() bool { return p.Counts().Held == 1 })
	if n := p.CutAll(); n != 1 {
		t.Errorf("cut %d connections, want 1", n)
	}
	if err := <-ended; err == nil {
		t.Error("a cut connection gave no error")
	}
	within(t, 20*time.Second, "the server ends the session", func() bool {
		return value[int](t, direct, fmt.Sprintf("select count(*) from pg_stat_activity where pid = %d", conn.PgConn().PID())) == 0
	})
	if n := value[int](t, direct, "select count(*) from t"); n != 0 {
		t.Errorf("%d rows of a transaction that never ended", n)
	}
}

// TestLoseCancels: what a broken connection left under way goes on.
func TestLoseCancels(t *testing.T) {
	p, through, direct := proxied(t)
	p.LoseCancels(true)
	conn := connect(t, through)
	execute(t, direct, "begin; lock table t")
	ended := make(chan error, 1)
	go func() { ended <- writers["simple protocol"](t.Context(), conn, 1) }()
	watch := connect(t, URL(t))
	waits := fmt.Sprintf("select count(*) from pg_stat_activity where pid = %d and wait_event_type = 'Lock'", conn.PgConn().PID())
	within(t, 20*time.Second, "the insert waits for the lock", func() bool { return value[int](t, watch, waits) == 1 })
	p.CutAll()
	if err := <-ended; err == nil {
		t.Error("a cut connection gave no error")
	}
	<-conn.PgConn().CleanupDone() // it has asked for the cancel
	execute(t, direct, "commit")
	within(t, 20*time.Second, "the insert is done", func() bool { return value[int](t, direct, "select count(*) from t") == 1 })
}

// TestRefuseAndCutAll: no new connections, and none of the old.
func TestRefuseAndCutAll(t *testing.T) {
	p, through, _ := proxied(t)
	var open []*pgx.Conn
	for range 3 {
		open = append(open, connect(t, through))
	}
	p.Refuse(true)
	if _, err := pgx.Connect(t.Context(), through); err == nil {
		t.Error("a connection got through that was to be refused")
	}
	if n := p.CutAll(); n != 3 {
		t.Errorf("cut %d connections, want 3", n)
	}
	for _, conn := range open {
		if err := conn.Ping(t.Context()); err == nil {
			t.Error("a connection outlived its cut")
		}
	}
	p.Refuse(false)
	execute(t, connect(t, through), "select 1")
	if got := p.Counts(); got.Links != 4 || got.Cut != 3 || got.Refused == 0 {
		t.Errorf("counts: got %+v, want 4 links, 3 cut, some refused", got)
	}
}

// TestTransparent: what is not to be disturbed is not: large results and copies, cancels, notices, a TLS request, many at once.
func TestTransparent(t *testing.T) {
	p, through, direct := proxied(t)
	p.Rule(func(*Batch) Action { return Forward })
	conn := connect(t, strings.Replace(through, "sslmode=disable", "sslmode=prefer", 1))
	rows := make([][]any, 100_000)
	for i := range rows {
		rows[i] = []any{i}
	}
	if n, err := conn.CopyFrom(t.Context(), pgx.Identifier{"t"}, []string{"i"}, pgx.CopyFromRows(rows)); n != int64(len(rows)) || err != nil {
		t.Fatalf("copied %d rows, %v", n, err)
	}
	back, err := conn.Query(t.Context(), "select i, repeat('x', 100) from t order by i")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for ; back.Next(); n++ {
	}
	if back.Err() != nil || n != len(rows) {
		t.Errorf("read %d rows, %v, want %d", n, back.Err(), len(rows))
	}
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	if _, err := conn.Exec(ctx, "select pg_sleep(60)"); err == nil {
		t.Error("no error")
	}
	sleeps := "select count(*) from pg_stat_activity where query like '%pg_sleep(60)%' and state = 'active' and pid <> pg_backend_pid()"
	within(t, 20*time.Second, "the cancel gets through", func() bool { return value[int](t, direct, sleeps) == 0 })

	pool, err := pgxpool.New(t.Context(), through)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	errs := make(chan error)
	for i := range 16 {
		go func() {
			var err error
			for j := range 50 {
				b := &pgx.Batch{}
				b.Queue("insert into t values ($1)", 1_000_000+i*50+j)
				b.Queue("select pg_notify('news', 'x')")
				err = errors.Join(err, pool.SendBatch(t.Context(), b).Close())
			}
			errs <- err
		}()
	}
	for range 16 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if got := value[int](t, direct, "select count(*) from t where i >= 1000000"); got != 800 {
		t.Errorf("got %d rows, want 800", got)
	}
}

// TestServerRestartBehindProxy: its connections end, new ones get through when it is back.
func TestServerRestartBehindProxy(t *testing.T) {
	c := New(t, Config{NoSync: true})
	url := c.URL(t)
	p := NewProxy(t, url)
	conn := connect(t, p.URL(url))
	if err := c.Stop(Immediate); err != nil {
		t.Fatal(err)
	}
	if err := conn.Ping(t.Context()); err == nil {
		t.Error("a connection outlived its server")
	}
	if _, err := pgx.Connect(t.Context(), p.URL(url)); err == nil {
		t.Error("connected to a server that is stopped")
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	execute(t, connect(t, p.URL(url)), "select 1")
}

// TestBatchCommits: what a rule is told of statements.
func TestBatchCommits(t *testing.T) {
	for _, test := range []struct {
		begun bool
		sql   string
		want  bool
	}{
		{false, "select 1", false},
		{false, "", false},
		{false, "-- what it is for\ninsert into t values (1)", true},
		{false, "/* a */ with x as (delete from t returning 1) select 1 from x", true},
		{true, "insert into t values (1)", false},
		{true, "commit", true},
		{true, "  COMMIT ", true},
		{true, "end", true},
		{true, "rollback", false},
		{true, "rollback to savepoint s; insert into t values (1)", false},
		{false, "begin; insert into t values (1)", false},
		{false, "begin; insert into t values (1); commit", true},
		{false, "start transaction", false},
		{false, "set search_path = x", false},
	} {
		b := &Batch{SQL: []string{test.sql}, Begun: test.begun}
		if got := b.Commits(); got != test.want {
			t.Errorf("%q, begun %v: got %v, want %v", test.sql, test.begun, got, test.want)
		}
	}
	if b := (&Batch{SQL: []string{"select 1", "INSERT into s.log values (1)"}}); !b.Has("insert into s.log") || b.Has("inbox") {
		t.Error("Has does not find what is there, or finds what is not")
	}
}
