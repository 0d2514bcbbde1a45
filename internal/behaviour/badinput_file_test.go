package behaviour_test

// Database files that cannot be used: each gets a clear error, and the file stays as it is.

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/sqlite"

	_ "modernc.org/sqlite"
)

// ended makes a database file with one run that is over, and returns its path and content.
func ended(t *testing.T) (path string, content []byte) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "runs.db")
	w, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	wf := serial(1)
	wk := begin(t, w, stepwell.Config{Definitions: []stepwell.Definition{wf}})
	run, err := wf.Start(t.Context(), wk.App, 5)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run.Result(t.Context()); err != nil {
		t.Fatal(err)
	}
	wk.stop(t)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if content, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	return path, content
}

// execute runs SQL on a file, past the world.
func execute(t *testing.T, path, query string, args ...any) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	res, err := db.Exec(query, args...)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := res.RowsAffected(); err == nil && strings.HasPrefix(query, "UPDATE") && n != 1 {
		t.Fatalf("%s changed %d rows, want 1", query, n)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestFilesThatCannotBeOpened(t *testing.T) {
	path, content := ended(t)
	dir := filepath.Dir(path)
	write := func(name string, b []byte) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	damaged := bytes.Clone(content)
	for i := 16; i < 3*4096; i++ {
		damaged[i] ^= 0xa5
	}
	newer := write("newer.db", content)
	execute(t, newer, "PRAGMA user_version = 999")
	files := map[string]struct{ path, says string }{
		"not a database":   {write("text.db", []byte(strings.Repeat("not a database\n", 1000))), "not a SQLite database"},
		"damaged":          {write("damaged.db", damaged), "damaged.db"},
		"a directory":      {dir, "directory"},
		"a newer schema":   {newer, "schema version 999"},
		"no such folder":   {filepath.Join(dir, "none", "x.db"), "its directory does not exist"},
		"no path":          {"", "give the path of a file"},
		"under a file":     {filepath.Join(path, "x.db"), "directory"},
		"memory of SQLite": {":memory:", "give the path of a file"},
	}
	if os.Getuid() != 0 { // root may write everything
		readOnly := write("readonly.db", content)
		if err := os.Chmod(readOnly, 0o400); err != nil {
			t.Fatal(err)
		}
		files["read-only"] = struct{ path, says string }{readOnly, "may not be written"}
	}
	for name, c := range files {
		t.Run(name, func(t *testing.T) {
			before, readErr := os.ReadFile(c.path)
			w, err := sqlite.Open(c.path)
			if err == nil {
				w.Close()
			}
			if err == nil || !strings.Contains(err.Error(), c.says) || !errors.Is(err, world.ErrStorage) && !errors.Is(err, world.ErrInvalid) {
				t.Errorf("Open = %v, want an error that says %q", err, c.says)
			}
			if after, err := os.ReadFile(c.path); readErr == nil && (err != nil || !bytes.Equal(before, after)) {
				t.Errorf("the file has changed (%d bytes, were %d), %v", len(after), len(before), err)
			}
		})
	}
}

// A full disk refuses what does not fit, says so, and loses nothing: what was accepted goes on when there is room again.
func TestAFullFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	wf := stepwell.Define("keeps", func(ctx stepwell.Context, in string) (int, error) {
		_, _, err := numbers.Wait(ctx)
		return len(in), err
	})
	w, err := sqlite.Open(path, sqlite.Options{MaxPages: 200})
	if err != nil {
		t.Fatal(err)
	}
	client, err := stepwell.New(w, stepwell.Config{})
	if err != nil {
		t.Fatal(err)
	}
	var accepted []string
	for len(accepted) < 1000 {
		run, startErr := wf.Start(t.Context(), client, strings.Repeat("x", 20_000))
		if err = startErr; err != nil {
			break
		}
		accepted = append(accepted, run.ID())
	}
	if !errors.Is(err, world.ErrStorage) || !strings.Contains(err.Error(), "full") {
		t.Fatalf("start %d: %v, want ErrStorage that says full", len(accepted)+1, err)
	}
	n := 0
	for _, err := range client.List(t.Context(), stepwell.ListFilter{}) {
		if n++; err != nil {
			t.Fatal(err)
		}
	}
	if n != len(accepted) {
		t.Errorf("runs = %d, want the %d that were accepted", n, len(accepted))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	room := openFile(t, path)
	app := work(t, room, stepwell.Config{Definitions: []stepwell.Definition{wf}})
	for _, id := range accepted {
		if err := numbers.Send(t.Context(), app, id, number{1}); err != nil {
			t.Fatal(err)
		}
		if got, err := wf.Get(app, id).Result(t.Context()); err != nil || got != 20_000 {
			t.Fatalf("run %s = %d, %v", id, got, err)
		}
	}
}

// A log whose bytes were changed blocks its run, and no other; with the bytes back it goes on.
func TestACorruptLogBlocksItsRun(t *testing.T) { synctest.Test(t, corruptLog) }

func corruptLog(t *testing.T) {
	const change = "UPDATE log SET head = replace(head, ?1, ?2) WHERE seq = 5 AND run = (SELECT key FROM runs WHERE id = ?3)"
	d := asleepInFile(t)
	d.change(change, "step_completed", "step_compIeted", d.run)
	if b := d.blocked(); b.Code != world.CodeCorrupt || b.Seq != 5 {
		t.Errorf("blocked = %s at event %d: %s, want CORRUPTED_EVENT_LOG at event 5", b.Code, b.Seq, b.Message)
	}
	if err := numbers.Send(t.Context(), d.wk.App, d.run, number{100}); err != nil {
		t.Fatal(err)
	}
	d.wk.stop(t)
	d.change(change, "step_compIeted", "step_completed", d.run)
	wk := begin(t, d.w, d.cfg)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if got, err := d.good.Get(wk.App, d.run).Result(ctx); err != nil || got != 111 {
		t.Errorf("healed run = %d, %v, want 111", got, err)
	}
}
