package behaviour_test

// Large values of births: their keys, those of starts that were made before, and inputs that are damaged in the queue.

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

var bigEcho = stepwell.Define("big-echo", func(_ stepwell.Context, s string) (int, error) { return len(s), nil })

// TestABirthsValuesHaveItsKey: an ID that was a plain run's is used again under a key. What a worker knows of the first
// run says nothing of the second: its input is encrypted, every piece.
func TestABirthsValuesHaveItsKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := openFile(t, filepath.Join(t.TempDir(), "runs.db"))
		r := &rig{T: t, world: w, ctx: t.Context(), mode: modes[0].set}
		plain := r.begin(bigEcho)
		first, err := bigEcho.Start(r.ctx, plain.App, "x", stepwell.RunID("nightly"), stepwell.Retention(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		want(r, first, 1)
		plain.stop(t)
		wk := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{bigEcho}, Encryption: keysOf(t, "k1")})
		if row, err := wk.Get(r.ctx, "nightly"); err != nil || row.Encryption != "" {
			t.Fatal(row, err)
		}
		r.pass(time.Minute) // its retention
		r.pass(5 * time.Minute)
		until(t, "the sweep", func() bool {
			_, err := w.Run(r.ctx, "nightly")
			return errors.Is(err, world.ErrNotFound)
		})
		again, err := bigEcho.Start(r.ctx, wk.App, strings.Repeat("s", 2<<20), stepwell.RunID("nightly"))
		if err != nil {
			t.Fatal(err)
		}
		row, err := w.Run(r.ctx, "nightly")
		if err != nil || row.Encryption != "k1" || row.InputApart == "" {
			t.Fatal(row.Encryption, row.InputApart, err)
		}
		for n := range 5 {
			piece, err := w.Values().Piece(r.ctx, "nightly", row.InputApart, n)
			if err != nil || piece[0] != 2 || strings.Contains(string(piece), "sssssss") {
				t.Errorf("piece %d begins with %x, %v: want it encrypted", n, piece[:1], err)
			}
		}
		want(r, again, 2<<20)
		if keys, err := w.Values().ValueKeys(r.ctx); err != nil || len(keys) != 1 || keys[0].Key != "k1" || keys[0].Runs != 1 {
			t.Errorf("keys of values: %v, %v", keys, err)
		}
	})
}

// TestAStartThatWasMadeKeepsNothing: a start with the key, or the ID, of a run that is there leaves no value behind.
func TestAStartThatWasMadeKeepsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "runs.db")
		r := &rig{T: t, world: openFile(t, path), ctx: t.Context(), mode: modes[0].set}
		wk := r.begin(bigEcho)
		in := strings.Repeat("d", 2<<20)
		var ids [2]string
		for i := range ids {
			run, err := bigEcho.Start(r.ctx, wk.App, in, stepwell.Key("k"))
			if err != nil {
				t.Fatal(err)
			}
			ids[i] = run.ID()
			_, err = bigEcho.Start(r.ctx, wk.App, in, stepwell.RunID("same"))
			if i == 1 && !errors.Is(err, stepwell.ErrRunExists) || i == 0 && err != nil {
				t.Fatal(err)
			}
		}
		if ids[0] != ids[1] {
			t.Errorf("two runs with a key: %v", ids)
		}
		if n := count(t, path, "SELECT count(*) FROM apart"); n != 2 {
			t.Errorf("%d values are held, want those of two runs", n)
		}
		if n := count(t, path, "SELECT count(DISTINCT value) FROM apart_pieces"); n != 2 {
			t.Errorf("there are pieces of %d values, want those of two runs", n)
		}
	})
}

func count(t *testing.T, path, query string) (n int) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if err := db.QueryRow(query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestADamagedInputOfATaskBlocksItsRun: a queued step whose large input is not what was written is not handed back for
// ever.
func TestADamagedInputOfATaskBlocksItsRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "runs.db")
		r := &rig{T: t, world: openFile(t, path), ctx: t.Context(), mode: modes[0].set}
		task := stepwell.DefineStep("far", func(_ context.Context, s string) (int, error) { return len(s), nil })
		wf := stepwell.Define("asks", func(ctx stepwell.Context, n int) (int, error) { return task.Run(ctx, strings.Repeat("x", n)) })
		asks := r.begin(wf)
		run := start(r, asks, wf, 3<<20)
		until(t, "the task", func() bool { return r.count(run.ID(), world.StepCreated, "") == 1 })
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		if _, err := db.Exec("UPDATE apart_pieces SET sum = sum + 1 WHERE number = 2"); err != nil {
			t.Fatal(err)
		}
		r.begin(task)
		if b := r.blocked(run.ID()); b.Code != world.CodeCorrupt || !strings.Contains(b.Message, "valu_") {
			t.Errorf("blocked as %+v", b)
		}
	})
}

// TestAnImportBringsNoValues: a history that says it was made of another run, and names a value of that, is refused.
func TestAnImportBringsNoValues(t *testing.T) {
	t.Parallel()
	everyWay(t, func(r *rig) {
		app := r.begin(bigEcho).App
		secret, err := bigEcho.Start(r.ctx, app, strings.Repeat("s", 2<<20))
		if err != nil {
			r.Fatal(err)
		}
		want(r, secret, 2<<20)
		h := &stepwell.History{Run: "forged", Events: r.events(secret.ID())}
		for i := range h.Events {
			if b := h.Events[i].Birth; b != nil {
				birth := *b
				birth.Origin = &world.Origin{Run: secret.ID(), Seq: 1}
				h.Events[i].Birth = &birth
			}
		}
		if err := app.Import(r.ctx, h, stepwell.ImportOptions{}); !errors.Is(err, stepwell.ErrInvalid) || !strings.Contains(err.Error(), "valu_") {
			r.Errorf("imported: %v", err)
		}
		if _, err := app.Get(r.ctx, "forged"); !errors.Is(err, stepwell.ErrNotFound) {
			r.Errorf("the run is there: %v", err)
		}
	})
}
