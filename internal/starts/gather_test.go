package starts_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/stepwelltest"
	"github.com/stepwell/stepwell/stepwelltest/postgrestest"
	"github.com/stepwell/stepwell/stepwelltest/sqlitetest"
	"github.com/stepwell/stepwell/world"
)

type doc struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

var (
	index = stepwell.Define("index", func(ctx stepwell.Context, d doc) (string, error) {
		return d.ID + ": " + d.Text, stepwell.Do(ctx, "write", func(context.Context) error { return nil })
	}, stepwell.Debounce{Key: stepwell.KeyOf(func(d doc) string { return d.ID }), Quiet: time.Minute, Longest: 150 * time.Second})
	bulk = stepwell.Define("bulk", func(ctx stepwell.Context, all []doc) (string, error) {
		var texts []string
		for _, d := range all {
			texts = append(texts, d.Text)
		}
		return strings.Join(texts, " "), stepwell.Do(ctx, "write", func(context.Context) error { return nil })
	}, stepwell.Batch{By: "id", Size: 3, Wait: time.Minute})
)

// onStores runs a test on some of the stores.
func onStores(t *testing.T, cfg stepwell.Config, test func(t *testing.T, e *stepwelltest.Env)) {
	stores := map[string]func(t *testing.T) stepwelltest.Store{
		"memory":   func(*testing.T) stepwelltest.Store { return nil },
		"sqlite":   func(*testing.T) stepwelltest.Store { return sqlitetest.Store() },
		"postgres": func(t *testing.T) stepwelltest.Store { return postgrestest.Store(pgtest.URL(t)) },
	}
	for _, name := range sample.OneKey(t, stores) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, stepwelltest.NewWith(t, stepwelltest.Options{Config: cfg, Store: stores[name](t)}))
		})
	}
}

// TestDebounce: starts of a key are one run, which begins a quiet time behind the last, or at the longest wait, with
// the last input; a worker that dies at any commit changes nothing about that.
func TestDebounce(t *testing.T) {
	onStores(t, stepwell.Config{Definitions: []stepwell.Definition{index}}, func(t *testing.T, e *stepwelltest.Env) {
		first := stepwelltest.Start(e, index, doc{"a", "1"})
		other := stepwelltest.Start(e, index, doc{"b", "other"})
		for i := 2; i <= 3; i++ {
			e.Advance(50 * time.Second)
			again := stepwelltest.Start(e, index, doc{"a", fmt.Sprint(i)})
			if again.ID() != first.ID() {
				t.Fatalf("start %d: run %s, want run %s", i, again.ID(), first.ID())
			}
		}
		if got := first.Status(); got != world.Pending {
			t.Errorf("within the quiet time: got %s", got)
		}
		e.Advance(51 * time.Second) // 151 s: the longest wait is over, the quiet time is not
		if got := first.MustComplete(); got != "a: 3" {
			t.Errorf("got %q, want the last input", got)
		}
		if got := other.MustComplete(); got != "b: other" {
			t.Errorf("got %q", got)
		}
		next := stepwelltest.Start(e, index, doc{"a", "4"})
		if next.ID() == first.ID() {
			t.Error("a start behind its beginning was merged into it")
		}
		if got := next.MustComplete(); got != "a: 4" {
			t.Errorf("got %q", got)
		}
		e.CrashEverywhere()
	})
}

// TestBatch: starts of a key are one run with all inputs in order, which begins when it has its number, or its time is
// over.
func TestBatch(t *testing.T) {
	onStores(t, stepwell.Config{Definitions: []stepwell.Definition{bulk}}, func(t *testing.T, e *stepwelltest.Env) {
		add := func(of, text string) *stepwelltest.Run[string] { return stepwelltest.Start(e, bulk, []doc{{of, text}}) }
		runs := []*stepwelltest.Run[string]{add("a", "1"), add("b", "x"), add("a", "2"), add("a", "3"), add("a", "4"), add("b", "y")}
		for i, want := range []int{0, 1, 0, 0, 4, 1} {
			if runs[i].ID() != runs[want].ID() {
				t.Errorf("start %d is of run %s, want run %s", i, runs[i].ID(), runs[want].ID())
			}
		}
		e.Advance(time.Second)
		if got := runs[0].Status(); got != world.Completed {
			t.Errorf("a whole batch is %s", got)
		}
		if got := runs[1].Status(); got != world.Pending {
			t.Errorf("a batch that gathers is %s", got)
		}
		e.Advance(time.Minute)
		for i, want := range map[int]string{0: "1 2 3", 1: "x y", 4: "4"} {
			if got := runs[i].MustComplete(); got != want {
				t.Errorf("run %d: got %q, want %q", i, got, want)
			}
		}
		e.CrashEverywhere()
	})
}
