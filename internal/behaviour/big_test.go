package behaviour_test

// Values that are too large for a log: they are kept apart, and nobody who works with them sees it.

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/apart"
	"github.com/stepwell/stepwell/internal/faults"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/world"
)

// bigValues are workflows whose values have some bytes each, and more.
type bigValues struct {
	run, child *stepwell.Workflow[string, string]
	task       *stepwell.RegisteredStep[string, string]
	size       int
}

// value is a text of the size that no other number makes.
func (b *bigValues) value(n int) string { return strings.Repeat(string(rune('a'+n)), b.size) }

func (b *bigValues) result() string { return b.value(2) + "taskchild" + b.value(1) + "taskchild" }

func (b *bigValues) definitions() []stepwell.Definition {
	return []stepwell.Definition{b.run, b.child, b.task}
}

func newBigValues(size int) *bigValues {
	b := &bigValues{size: size}
	b.task = stepwell.DefineStep("task", func(_ context.Context, s string) (string, error) { return s + "task", nil })
	b.child = stepwell.Define("big-child", func(ctx stepwell.Context, s string) (string, error) {
		return stepwell.Step(ctx, "again", func(context.Context) (string, error) { return s + "child", nil })
	})
	b.run = stepwell.Define("big", func(ctx stepwell.Context, in string) (string, error) {
		made, err := stepwell.Step(ctx, "make", func(context.Context) (string, error) { return b.value(1), nil })
		if err != nil {
			return "", err
		}
		both, err := stepwell.All(ctx, b.task.Start(ctx, made), b.task.Start(ctx, in))
		if err != nil {
			return "", err
		}
		if err := stepwell.Sleep(ctx, "rest", time.Minute); err != nil {
			return "", err
		}
		child, err := b.child.Child().Run(ctx, both[1])
		if err != nil {
			return "", err
		}
		if both[0] != made+"task" {
			return "", errors.New("the first task's result is not what it made")
		}
		if len(in) < 2*b.size {
			return "", stepwell.ContinueAsNew(ctx, child+made)
		}
		return child, nil
	})
	return b
}

// TestBigValues: inputs, results of steps in place and queued, children and segments of several MiB come as they went,
// and the log has none of them.
func TestBigValues(t *testing.T) {
	t.Parallel()
	everyWay(t, func(r *rig) {
		b := newBigValues(world.ApartPiece * 5 / 2)
		app := r.begin(b.definitions()...).App
		run, err := b.run.Start(r.ctx, app, b.value(2))
		if err != nil {
			r.Fatal(err)
		}
		want := b.result()
		got, err := run.Result(r.ctx)
		if err != nil || got != want {
			r.Fatalf("%d bytes, %v, want %d bytes", len(got), err, len(want))
		}
		row, err := app.Get(r.ctx, run.ID())
		if err != nil {
			r.Fatal(err)
		}
		of, ok := world.ReadApart(row.Output, row.OutputApart)
		if !ok || of.Size != int64(len(want)+2) {
			r.Fatalf("the output is %.100s, want a reference to %d bytes", row.Output, len(want)+2)
		}
		from, size, err := app.OpenValue(r.ctx, run.ID(), of.ID)
		if err != nil || size != of.Size {
			r.Fatal(size, err)
		}
		text, err := io.ReadAll(from)
		if err != nil || string(text) != `"`+want+`"` {
			r.Errorf("the value has %d bytes, %v, want %d", len(text), err, len(want)+2)
		}
		refs := 0
		for _, e := range r.events(run.ID()) {
			if len(e.Payload) > 2000 {
				r.Errorf("event %d (%s) has %d bytes", e.Seq, e.Type, len(e.Payload))
			}
			if e.Apart != "" {
				refs++
			}
		}
		if refs < 10 {
			r.Errorf("%d events refer to values, want all that are large", refs)
		}
	})
}

// TestBigValuesSurviveKills: a worker that dies before or after any commit, end of a queued step, or piece of a value
// leaves nothing that the next one does not go on from, and what it left goes with the run.
func TestBigValuesSurviveKills(t *testing.T) {
	t.Parallel()
	for _, op := range []faults.Op{faults.Commit, faults.Deliver, faults.Piece} {
		for _, late := range sample.OneFor(t, string(op), false, true) {
			t.Run(fmt.Sprintf("%s/after=%v", op, late), func(t *testing.T) {
				t.Parallel()
				on := sample.One(t, kinds...)[0]
				first, step := sample.Of(t, 3)
				killed := true
				for k := first; killed; k += step {
					bubble(t, on.open, modes[0].set, func(r *rig) { killed = bigValuesAreKilled(r, op, k, late) })
					if k == 1 && !killed {
						t.Errorf("nobody died: the failpoints are not reached")
					}
				}
			})
		}
	}
}

func bigValuesAreKilled(r *rig, op faults.Op, k int, late bool) bool {
	b := newBigValues(2000)
	cfg := stepwell.Config{Definitions: b.definitions()}
	kit.Set(&cfg, kit.Overrides{Apart: 1000}) // so that many can be killed
	app, err := stepwell.New(r.world, cfg)
	if err != nil {
		r.Fatal(err)
	}
	run, err := b.run.Start(r.ctx, app, b.value(2), stepwell.Retention(time.Hour))
	if err != nil {
		r.Fatal(err)
	}
	mortal := cfg
	if op == faults.Deliver { // a step whose run is here is ended with a commit of the run
		defer r.begin(b.run, b.child).stop(r)
		mortal.Definitions = []stepwell.Definition{b.task}
	}
	first := r.beginMortalAt(mortal, op, k, late)
	until(r, "a death, or the end", func() bool { return first.died.Load() || r.get(run.ID()).Status.Terminal() })
	first.stop()
	wk := r.beginWith(cfg)
	if got, err := run.Result(r.ctx); err != nil || got != b.result() {
		r.dump(run.ID())
		r.Fatalf("killed at %s %d: %d bytes, %v, want %d bytes", op, k, len(got), err, len(b.result()))
	}
	wk.stop(r)
	return first.died.Load()
}

// TestBigValuesGoWithTheirRuns: nothing is left of the values of runs that are deleted, nor of what was written for
// runs that never came to be, a day later.
func TestBigValuesGoWithTheirRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "runs.db")
		w := openFile(t, path)
		r := &rig{T: t, world: w, ctx: t.Context(), mode: modes[0].set}
		b := newBigValues(2000)
		cfg := stepwell.Config{Definitions: b.definitions()}
		kit.Set(&cfg, kit.Overrides{Apart: 1000})
		wk := r.beginWith(cfg)
		run, err := b.run.Start(r.ctx, wk.App, b.value(2), stepwell.Retention(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := run.Result(r.ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := apart.Keep(r.ctx, w.Values(), "nobody", strings.NewReader("left"), 10); err != nil {
			t.Fatal(err)
		}
		rows := func() (n [2]int) {
			db, err := sql.Open("sqlite", path)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = db.Close() }()
			if err := db.QueryRow("SELECT (SELECT count(*) FROM apart), (SELECT count(*) FROM apart_pieces)").Scan(&n[0], &n[1]); err != nil {
				t.Fatal(err)
			}
			return n
		}
		if got := rows(); got[0] < 10 || got[1] < 10 {
			t.Errorf("%v rows while the runs are kept", got)
		}
		wk.stop(t)
		w = r.away(w, path, 2*time.Hour) // the run's children are kept for 30 days
		if _, err := w.Sweep(r.ctx, 100); err != nil {
			t.Fatal(err)
		}
		for _, e := range r.eventsOfAll() {
			if _, err := apart.Read(r.ctx, w.Values(), e.run, e.Payload, e.Apart, world.MaxApart); err != nil {
				t.Errorf("run %s: event %d: %v", e.run, e.Seq, err)
			}
		}
		w = r.away(w, path, 31*24*time.Hour)
		if _, err := w.Sweep(r.ctx, 100); err != nil {
			t.Fatal(err)
		}
		if got := rows(); got != [2]int{} {
			t.Errorf("%v rows are left of runs that were deleted, want none", got)
		}
	})
}

type eventOf struct {
	run string
	world.Event
}

// eventsOfAll are those of all runs that are there.
func (r *rig) eventsOfAll() (all []eventOf) {
	r.Helper()
	page, err := r.world.Runs(r.ctx, world.RunQuery{Limit: 100})
	if err != nil {
		r.Fatal(err)
	}
	for i := range page.Runs {
		for _, e := range r.events(page.Runs[i].ID) {
			all = append(all, eventOf{page.Runs[i].ID, e})
		}
	}
	return all
}

// TestADamagedBigValueBlocksItsRun: a run whose value is not what was written is blocked, says which value it is, and
// goes on when it is mended.
func TestADamagedBigValueBlocksItsRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "runs.db")
		r := &rig{T: t, world: openFile(t, path), ctx: t.Context(), mode: modes[1].set}
		told := stepwell.Event[int]("go")
		wf := stepwell.Define("big", func(ctx stepwell.Context, n int) (int, error) {
			made, err := stepwell.Step(ctx, "make", func(context.Context) (string, error) { return strings.Repeat("x", n), nil })
			if err != nil {
				return 0, err
			}
			_, _, err = told.Wait(ctx)
			return len(made), err
		})
		wk := r.begin(wf)
		run := start(r, wk, wf, 3<<20)
		until(t, "the wait", func() bool { return r.count(run.ID(), world.WaitCreated, "") == 1 })
		change := func(by int) {
			db, err := sql.Open("sqlite", path)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = db.Close() }()
			if _, err := db.Exec("UPDATE apart_pieces SET sum = sum + ? WHERE number = 2", by); err != nil {
				t.Fatal(err)
			}
		}
		change(1)
		if err := told.Send(r.ctx, wk.App, run.ID(), 1); err != nil {
			t.Fatal(err)
		}
		if b := r.blocked(run.ID()); b.Code != world.CodeCorrupt || !strings.Contains(b.Message, "valu_") {
			t.Errorf("blocked as %+v", b)
		}
		change(-1)
		want(r, run, 3<<20)
	})
}
