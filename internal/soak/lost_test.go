//go:build unix

package soak

// This file loses the answers to what clients do, one at a time: each call comes to the truth by itself.

import (
	"fmt"
	"sync/atomic"
	"testing"

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
				if _, err := transferFlow.Start(t.Context(), app, transfer{N: i}, stepwell.StartOptions{ID: id}); err != nil {
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
