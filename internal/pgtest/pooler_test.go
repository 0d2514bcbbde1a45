package pgtest

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// TestPooler: it pools by transaction, so a prepared statement and a session lock do not last, and many clients share few connections.
func TestPooler(t *testing.T) {
	direct := URL(t)
	b := Pooler(t, Shared(t))
	pooled := b.URL(direct) + "&default_query_exec_mode=simple_protocol"
	if pooled == direct || !strings.Contains(pooled, "/sw_testpooler_") {
		t.Fatalf("got %s for %s", pooled, direct)
	}
	execute(t, connect(t, direct), "create table t (i int)")
	var open []*pgx.Conn
	for range 50 {
		conn := connect(t, pooled)
		execute(t, conn, "insert into t values (1)")
		open = append(open, conn)
	}
	if got := value[int](t, connect(t, direct), "select count(*) from t"); got != 50 {
		t.Errorf("got %d rows, want 50", got)
	}
	if n, err := Shared(t).Connections(t.Context(), direct); err != nil || n > 4 {
		t.Errorf("50 idle clients hold %d connections, %v", n-2, err)
	}
	// A transaction that is open keeps the server's connection: the next client gets another one.
	execute(t, open[0], "begin")
	first := value[int](t, open[0], "select pg_backend_pid()")
	execute(t, open[1], "begin")
	if second := value[int](t, open[1], "select pg_backend_pid()"); first == second {
		t.Errorf("two open transactions share the connection %d", first)
	}
	if told := int(open[0].PgConn().PID()); told == first {
		t.Errorf("the client knows its server's process, %d: this is no pooler", told)
	}
}

// TestPoolerOutlivesItsServer: a restart behind it ends transactions, not the pooler.
func TestPoolerOutlivesItsServer(t *testing.T) {
	c := New(t, Config{NoSync: true})
	pooled := Pooler(t, c).URL(c.URL(t)) + "&default_query_exec_mode=simple_protocol"
	execute(t, connect(t, pooled), "create table t (i int)")
	if err := c.Restart(Immediate); err != nil {
		t.Fatal(err)
	}
	// The connection that the pool kept is found dead at its next use, and only once.
	if _, err := connect(t, pooled).Exec(t.Context(), "insert into t values (1)"); err != nil {
		execute(t, connect(t, pooled), "insert into t values (1)")
	}
	if got := value[int](t, connect(t, pooled), "select count(*) from t"); got != 1 {
		t.Errorf("got %d rows, want 1", got)
	}
}

func TestNoPoolerInstalled(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	before := poolers
	t.Cleanup(func() { poolers = before })
	poolers = []string{t.TempDir()}
	if path, err := pgbouncer(); err == nil || !strings.Contains(err.Error(), "apt-get install pgbouncer") {
		t.Errorf("got %s, %v, want what to install", path, err)
	}
}
