package cli

// Singletons on the command line.

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world/sqlite"
)

func TestSingletons(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "app.db")
	w, err := sqlite.Open(path, sqlite.Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	sleep := func(ctx stepwell.Context, in map[string]string) (string, error) {
		return in["shop"], stepwell.Sleep(ctx, "a while", time.Hour)
	}
	keep := stepwell.Define("keep", sleep, stepwell.Singleton{By: "shop"})
	replace := stepwell.Define("replace", sleep, stepwell.Singleton{By: "shop", Replace: true})
	app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{keep, replace}})
	if err != nil {
		t.Fatal(err)
	}
	// A worker has told of them, and is gone.
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx) }()
	first, err := replace.Start(ctx, app, map[string]string{"shop": "ann"}, stepwell.RunID("first"))
	if err != nil {
		t.Fatal(err)
	}
	s := &prompt{T: t, where: []string{"--db", path}}
	for tick := time.NewTicker(10 * time.Millisecond); ; <-tick.C {
		if info, err := app.Get(ctx, first.ID()); err != nil {
			t.Fatal(err)
		} else if info.Status == "running" {
			tick.Stop()
			break
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	s.says("started run one", "runs", "start", "keep", `{"shop":"ann"}`, "--id", "one")
	s.says("run one is live, and nothing was started, because keep is a singleton", "runs", "start", "keep", `{"shop":"ann"}`)
	s.says(`"result":"existed"`, "runs", "start", "keep", `{"shop":"ann"}`, "--json")
	s.says("started run second", "runs", "start", "replace", `{"shop":"ann"}`, "--id", "second")
	s.says(`waits for run first (running) to end, which had key "ann" of the singleton of workflow replace before it`, "runs", "show", "second")
	s.says("live runs: a singleton", "limits", "list")
	s.says("ann       1        1", "limits", "show", "singleton:replace")
}

// TestMergedKeys: the key of a start that was merged into another finds that run, which says so.
func TestMergedKeys(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "app.db")
	w, err := sqlite.Open(path, sqlite.Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	write := stepwell.Define("write", func(_ stepwell.Context, all []int) (int, error) { return len(all), nil }, stepwell.Batch{Size: 10, Wait: time.Hour})
	app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{write}})
	if err != nil {
		t.Fatal(err)
	}
	id := ""
	for i, key := range []string{"order-1", "order-2"} {
		run, err := write.Start(t.Context(), app, []int{i}, stepwell.Key(key))
		if err != nil {
			t.Fatal(err)
		}
		id = run.ID()
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	s := &prompt{T: t, where: []string{"--db", path}}
	s.says("order-1, merged", "runs", "list", "--key", "order-2")
	s.says(`"merged":true`, "runs", "list", "--key", "order-2", "--json")
	s.says(id, "runs", "list", "--search", "order-2")
	s.says(id, "runs", "show", "order-2")
	s.refuses(exitUsage, "was merged into run "+id+", which may have other inputs too", "runs", "cancel", "order-2")
}
