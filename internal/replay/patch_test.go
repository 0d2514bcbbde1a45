package replay

import (
	"testing"

	"github.com/stepwell/stepwell/world"
)

func TestPatched(t *testing.T) {
	old := func(x *Ctx) Outcome { return Outcome{Output: []byte(step(x, "a") + step(x, "b"))} }
	patched := func(x *Ctx) Outcome {
		a := step(x, "a")
		if on, _ := x.Patched("p"); on {
			return Outcome{Output: []byte(a + step(x, "new"))}
		}
		return Outcome{Output: []byte(a + step(x, "b"))}
	}
	tokenThenPatch := func(x *Ctx) Outcome {
		x.Go("", func(x *Ctx, _ *Future) error { x.Wait(x.Hook("h", "tok", nil)); return nil })
		x.Go("", func(x *Ctx, _ *Future) error {
			if on, _ := x.Patched("p"); on {
				step(x, "new")
			}
			return nil
		})
		return Outcome{Output: []byte(step(x, "s"))}
	}
	t.Run("a new run takes the new way, live and replayed", func(t *testing.T) {
		l := start(t, patched)
		l.complete("a", 0, "1")
		l.complete("new", 0, "2")
		l.output("12")
		l.replayed(patched)
	})
	t.Run("a run that went on without it keeps the old way", func(t *testing.T) {
		l := start(t, old)
		l.complete("a", 0, "1")
		l.replayed(patched)
		l.complete("b", 0, "2")
		l.replayed(patched)
	})
	t.Run("a run that had not come there takes the new way", func(t *testing.T) {
		l := start(t, old)
		m := New(Config{Run: "wrun_test", Created: created, Seed: 7}, patched)
		defer m.Close()
		done := world.Event{Seq: int64(len(l.log)) + 1, Type: world.StepCompleted, ID: l.id("a", 0), Time: l.at}
		if err := m.Feed(append(l.log, done), false); err != nil {
			t.Fatal(err)
		}
		if got, want := m.Asked()[0].Key.Kind, world.KindPatch; got != want {
			t.Errorf("asks first for %s, want %s", got, want)
		}
	})
	t.Run("beside a chosen token in the same turn", func(t *testing.T) {
		l := start(t, tokenThenPatch)
		l.id("new", 0)
		l.replayed(tokenThenPatch)
	})
}
