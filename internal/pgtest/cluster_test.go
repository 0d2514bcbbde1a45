package pgtest

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func TestMain(m *testing.M) {
	if os.Getenv(orphanEnv) != "" {
		beOrphan()
	}
	Main(m, Config{NoSync: true})
}

// connect opens a connection that is closed when the test is over.
func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func execute(t *testing.T, conn *pgx.Conn, sql string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func value[T any](t *testing.T, conn *pgx.Conn, sql string) (v T) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), sql).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

// within polls for something that another process brings about.
func within(t *testing.T, limit time.Duration, what string, there func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !there(); <-time.After(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited %s in vain: %s", limit, what)
		}
	}
}

// TestURL: each database is fresh, an ordinary role owns it, and it is gone when its test is over.
func TestURL(t *testing.T) {
	var first string
	t.Run("Some/strange Name", func(t *testing.T) {
		first = URL(t)
		second := URL(t)
		if first == second {
			t.Fatalf("got %s twice", first)
		}
		conn := connect(t, first)
		execute(t, conn, "create schema s")
		execute(t, conn, "create table t (i int)")
		if value[bool](t, conn, "select rolsuper from pg_roles where rolname = current_user") {
			t.Error("the owner is a superuser")
		}
		if !value[bool](t, connect(t, Shared(t).AdminURL(first)), "select rolsuper from pg_roles where rolname = current_user") {
			t.Error("the admin is no superuser")
		}
		if n := value[int](t, connect(t, second), "select count(*) from pg_tables where schemaname in ('s', 'public')"); n != 0 {
			t.Errorf("a fresh database has %d tables", n)
		}
		if n, err := Shared(t).Connections(t.Context(), first); n != 2 || err != nil {
			t.Errorf("got %d connections, %v, want 2", n, err)
		}
	})
	if _, err := pgx.Connect(t.Context(), first); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("connect when the test was over: got %v, want that it does not exist", err)
	}
}

// TestRestart: what was committed survives a stop like a crash, with fsync off too; what was not does not; the port stays.
func TestRestart(t *testing.T) {
	c := New(t, Config{NoSync: true, Settings: map[string]string{"work_mem": "5MB"}})
	url := c.URL(t)
	for i, mode := range []Mode{Immediate, Fast} {
		conn, other := connect(t, url), connect(t, url)
		execute(t, conn, "create table if not exists t (i int)")
		execute(t, conn, "insert into t values (1)")
		execute(t, other, "begin; insert into t values (2)")
		if err := c.Restart(mode); err != nil {
			t.Fatal(err)
		}
		if err := conn.Ping(t.Context()); err == nil {
			t.Errorf("%s: a connection outlived its server", mode)
		}
		conn = connect(t, url)
		if got, want := value[int](t, conn, "select sum(i) from t"), i+1; got != want {
			t.Errorf("%s: got %d, want %d", mode, got, want)
		}
		if got := value[string](t, conn, "select current_setting('fsync') || ' ' || current_setting('work_mem')"); got != "off 5MB" {
			t.Errorf("%s: settings: got %q", mode, got)
		}
	}
	if err := c.Stop(Immediate); err != nil {
		t.Fatal(err)
	}
	if _, err := pgx.Connect(t.Context(), url); err == nil {
		t.Error("a stopped server accepts connections")
	}
	if err := errors.Join(c.Stop(Fast), c.Start(), c.Start()); err != nil {
		t.Errorf("stop and start again: %v", err)
	}
	if err := c.Stop("smart"); err == nil {
		t.Error("an unknown mode was accepted")
	}
}

// TestLogged: what the server complained of can be counted.
func TestLogged(t *testing.T) {
	c := New(t, Config{NoSync: true})
	conn := connect(t, c.URL(t))
	said := "as t" + strings.ToLower(rand.Text())
	for range 2 {
		if _, err := conn.Exec(t.Context(), "select 1 / (random() * 0)::int "+said); err == nil {
			t.Fatal("no error")
		}
	}
	if n, err := c.Logged(said); n != 2 || err != nil {
		t.Errorf("got %d lines, %v, want 2", n, err)
	}
	if !strings.Contains(c.Log(), said) {
		t.Errorf("the end of the log does not have it:\n%s", c.Log())
	}
}

// TestSyncIsOnByDefault, so that benchmarks measure what users get.
func TestSyncIsOnByDefault(t *testing.T) {
	conn := connect(t, New(t, Config{}).URL(t))
	if got := value[string](t, conn, "select current_setting('fsync') || ' ' || current_setting('synchronous_commit')"); got != "on on" {
		t.Errorf("got %q, want both on", got)
	}
}

// TestNamedServer: databases are made on it, and it is left alone.
func TestNamedServer(t *testing.T) {
	t.Setenv(Server, Shared(t).AdminURL(URL(t)))
	c, err := open(Config{})
	if err != nil {
		t.Fatal(err)
	}
	if got := value[int](t, connect(t, c.URL(t)), "select 1"); got != 1 {
		t.Errorf("got %d, want 1", got)
	}
	for what, err := range map[string]error{"stop": c.Stop(Fast), "start": c.Start(), "restart": c.Restart(Immediate)} {
		if !errors.Is(err, ErrNotOurs) {
			t.Errorf("%s: got %v, want %v", what, err, ErrNotOurs)
		}
	}
	for _, bad := range []string{"localhost", "mysql://localhost", "host=localhost user=postgres"} {
		t.Setenv(Server, bad)
		if _, err := open(Config{}); err == nil || !strings.Contains(err.Error(), Server) {
			t.Errorf("%s: got %v, want an error that names %s", bad, err, Server)
		}
	}
}

// TestNothingInstalled: the error says what to install.
func TestNothingInstalled(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	before := folders
	t.Cleanup(func() { folders = before })
	folders = []string{t.TempDir()}
	if _, err := binaries(); err == nil || !strings.Contains(err.Error(), "apt-get install postgresql") || !strings.Contains(err.Error(), Server) {
		t.Errorf("got %v, want what to install", err)
	}
}

// TestNewestFirst: of several versions, the newest.
func TestNewestFirst(t *testing.T) {
	before := folders
	t.Cleanup(func() { folders = before })
	root := t.TempDir()
	t.Setenv("PATH", root)
	folders = []string{root + "/*/bin"}
	for _, v := range []string{"9.6", "14", "17", "18"} {
		if err := os.MkdirAll(root+"/"+v+"/bin", 0o700); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"initdb", "postgres"} {
			if v == "18" && name == "postgres" {
				continue // clients alone are no server
			}
			if err := os.WriteFile(root+"/"+v+"/bin/"+name, nil, 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got, err := binaries(); got != root+"/17/bin" || err != nil {
		t.Errorf("got %s, %v, want version 17", got, err)
	}
}

// TestReused: the next test has a database of one that is over, and nothing of what was in it; where that test left more than schemas, it has another one.
func TestReused(t *testing.T) {
	c := New(t, Config{NoSync: true})
	oids := map[string]int{}
	for _, step := range []struct{ name, leaves string }{
		{"first", "create schema s; create table s.t (i int); create function s.f() returns int language sql as 'select 1'"},
		{"second", "create table t (i int)"},
		{"third", "create schema s; alter database %s set work_mem = '7MB'"},
		{"fourth", ""},
	} {
		t.Run(step.name, func(t *testing.T) {
			url := c.URL(t)
			conn := connect(t, c.AdminURL(url))
			oids[step.name] = value[int](t, conn, "select oid::int from pg_database where datname = current_database()")
			if n := value[int](t, conn, "select count(*) from pg_class where oid >= 16384"); n != 0 {
				t.Errorf("it has %d tables", n)
			}
			if got := value[string](t, conn, "show work_mem"); got != "4MB" {
				t.Errorf("its work_mem is %s", got)
			}
			if step.leaves != "" {
				execute(t, conn, strings.ReplaceAll(step.leaves, "%s", value[string](t, conn, "select current_database()")))
			}
		})
	}
	if oids["first"] != oids["second"] || oids["second"] == oids["third"] || oids["third"] == oids["fourth"] {
		t.Errorf("got databases %v, want the second test to have the first one's, and no other one another's", oids)
	}
}
