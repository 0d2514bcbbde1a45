//go:build unix

package soak

// This file loses the answers to what clients do, one at a time: each call comes to the truth by itself.

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/world"
)

// TestLostAnswers: a client whose connection is cut around a commit of its own hears what became of its call, and it is done once.
func TestLostAnswers(t *testing.T) {
	for _, action := range []pgtest.Action{pgtest.CutBefore, pgtest.CutAfter, pgtest.CutBlind} {
		for name, call := range map[string]func(t *testing.T, app *stepwell.App, i int) (run string){
			"start": func(t *testing.T, app *stepwell.App, i int) string {
				run, err := transferFlow.Start(t.Context(), app, transfer{N: i})
				if err != nil {
					t.Fatalf("start %d: %v", i, err)
				}
				return run.ID()
			},
			"start with a chosen ID": func(t *testing.T, app *stepwell.App, i int) string {
				id := fmt.Sprint("chosen-", i)
				if _, err := transferFlow.Start(t.Context(), app, transfer{N: i}, stepwell.RunID(id)); err != nil {
					t.Fatalf("start %d: %v", i, err)
				}
				return id
			},
			"start with a key": func(t *testing.T, app *stepwell.App, i int) string {
				run, err := transferFlow.Start(t.Context(), app, transfer{N: i}, stepwell.Key(fmt.Sprint("key-", i)))
				if err != nil {
					t.Fatalf("start %d: %v", i, err)
				}
				if run.Existed() {
					t.Errorf("start %d: the caller's own run is said to have existed", i)
				}
				return run.ID()
			},
		} {
			t.Run(fmt.Sprint(name, "/", action), func(t *testing.T) {
				t.Parallel()
				direct := pgtest.URL(t)
				proxy := pgtest.NewProxy(t, direct)
				w, err := openWorld(t.Context(), proxy.URL(direct))
				if err != nil {
					t.Fatal(err)
				}
				defer w.Close()
				app, err := stepwell.New(w, stepwell.Config{Name: "client"})
				if err != nil {
					t.Fatal(err)
				}
				const calls = 10
				var armed atomic.Bool
				proxy.Rule(func(b *pgtest.Batch) pgtest.Action {
					if b.Commits() && armed.CompareAndSwap(true, false) {
						return action
					}
					return pgtest.Forward
				})
				for i := range calls {
					armed.Store(true)
					run := call(t, app, i)
					if armed.Load() {
						t.Fatalf("call %d: there was no commit to cut", i)
					}
					if info, err := app.Get(t.Context(), run); err != nil || info.Status != world.Pending {
						t.Errorf("run %s: %s, %v, want pending", run, info.Status, err)
					}
				}
				n := 0
				for _, err := range app.List(t.Context(), stepwell.ListFilter{}) {
					if err != nil {
						t.Fatal(err)
					}
					n++
				}
				if n != calls {
					t.Errorf("%d runs, want %d", n, calls)
				}
			})
		}
	}
}

// TestAnswerLostWhileCommitting: the connection breaks while the server is still at the COMMIT of a birth, so that whoever looks at once finds no run. The
// caller hears of its run all the same.
func TestAnswerLostWhileCommitting(t *testing.T) {
	server := pgtest.New(t, pgtest.Config{NoSync: true})
	direct := server.URL(t)
	proxy := pgtest.NewProxy(t, direct)
	w, err := openWorld(t.Context(), proxy.URL(direct))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	app, err := stepwell.New(w, stepwell.Config{Name: "client"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := transferFlow.Start(t.Context(), app, transfer{}); err != nil { // what a first start looks up is known
		t.Fatal(err)
	}
	admin, err := pgx.Connect(t.Context(), server.AdminURL(direct))
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(context.Background())
	execute := func(sql string) {
		if _, err := admin.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	// A commit waits for a standby that is not there: it is in the server's log, and nobody sees it yet.
	execute("set synchronous_commit = local")
	execute("create table stepwell.probes (i integer)")
	execute("alter system set synchronous_standby_names = 'nobody'")
	execute("select pg_reload_conf()")
	stop, stopped := context.WithCancel(context.Background())
	release := sync.OnceFunc(func() {
		stopped()
		_, _ = admin.Exec(context.Background(), "alter system reset synchronous_standby_names")
		_, _ = admin.Exec(context.Background(), "select pg_reload_conf()")
	})
	defer release() // nothing here ends without it
	probed := make(chan struct{})
	go func() { // until commits wait: the server takes note of its new settings some time
		defer close(probed)
		probe(t, stop, server.AdminURL(direct))
	}()
	defer func() { release(); <-probed }()
	const waiting = "select count(*) from pg_stat_activity where wait_event = 'SyncRep'"
	await(t, admin, "commits wait", "select ("+waiting+") = 1")
	started := make(chan error, 1)
	go func() {
		_, err := transferFlow.Start(t.Context(), app, transfer{N: 1}, stepwell.RunID("chosen"))
		started <- err
	}()
	await(t, admin, "the first try is committing", "select ("+waiting+") = 2")
	proxy.LoseCancels(true)
	proxy.CutAll()
	await(t, admin, "the second try waits for the first, which is committing", "select ("+waiting+`) = 2
		and exists (select from pg_stat_activity where wait_event_type = 'Lock')`)
	release()
	if err := <-started; err != nil {
		t.Errorf("start: got %v, want none: the run is the caller's", err)
	}
	n := 0
	for _, err := range app.List(t.Context(), stepwell.ListFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 2 {
		t.Errorf("%d runs, want 2", n)
	}
}

// await polls for what other sessions of the server come to.
func await(t *testing.T, conn *pgx.Conn, what, sql string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; <-time.After(5 * time.Millisecond) {
		var there bool
		if err := conn.QueryRow(t.Context(), sql).Scan(&there); err != nil {
			t.Fatal(err)
		}
		if there {
			return
		}
		if time.Now().After(end) {
			rows, _ := conn.Query(t.Context(), "select coalesce(state, '') || ' ' || coalesce(wait_event_type, '') || ' ' || coalesce(wait_event, '') || ' ' || query from pg_stat_activity where datname = current_database()")
			all, err := pgx.CollectRows(rows, pgx.RowTo[string])
			t.Fatalf("waited in vain: %s; sessions: %q, %v", what, all, err)
		}
	}
}

// probe commits until stop ends.
func probe(t *testing.T, stop context.Context, url string) {
	conn, err := pgx.Connect(context.Background(), url)
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close(context.Background())
	for stop.Err() == nil {
		if _, err := conn.Exec(context.Background(), "insert into stepwell.probes values (1)"); err != nil {
			t.Error(err)
			return
		}
	}
}
