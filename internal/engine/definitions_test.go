package engine

// What is known of definitions, and how often it is asked for.

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell/world"
)

// definer is a world that counts what it is asked for.
type definer struct {
	world world.Defined
	asked [][]string
	takes time.Duration // to answer
	err   error
}

func (d *definer) Define(context.Context, []world.Definition) error { return d.err }

func (d *definer) Defined(_ context.Context, workflows []string) (world.Defined, error) {
	d.asked = append(d.asked, workflows)
	<-time.After(d.takes)
	out := d.world
	out.Definitions, out.Live = append([]world.Definition(nil), d.world.Definitions...), append([]world.Class(nil), d.world.Live...)
	out.Of(workflows)
	return out, d.err
}

func (d *definer) Schemas(context.Context, world.Class) (json.RawMessage, error) { return nil, d.err }

func (d *definer) LimitRetention(_ context.Context, limit time.Duration, _ bool) (before, now time.Duration, err error) {
	before = d.world.Retention
	d.world.Retention = world.LowerRetention(before, limit)
	return before, d.world.Retention, d.err
}

// A world is asked once a second while somebody starts runs, for all workflows at once.
func TestBookAsksSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &definer{}
		d.world.Live = []world.Class{{Workflow: "a", Version: 3}, {Workflow: "a", Version: 2}, {Workflow: "b", Version: 1}}
		d.world.Definitions = []world.Definition{{Class: world.Class{Workflow: "a", Version: 3}, Said: world.Said{Timeout: 3}}, {Class: world.Class{Workflow: "a", Version: 4}, Said: world.Said{Timeout: 4}}}
		b := NewBook(d, 0)
		live := func(name string, want int) {
			t.Helper()
			if k, err := b.Workflow(t.Context(), name); err != nil || k.Live != want {
				t.Errorf("%s: version %d, %v; want %d", name, k.Live, err, want)
			}
		}
		asked := func(want ...[]string) {
			t.Helper()
			if diff := cmp.Diff(want, d.asked); diff != "" {
				t.Errorf("asked for (-want +got):\n%s", diff)
			}
			d.asked = nil
		}
		for range 10 {
			live("a", 3)
		}
		asked([]string{"a"})
		for range 10 {
			live("b", 1)
			live("a", 3)
		}
		asked([]string{"a", "b"})
		<-time.After(time.Second)
		d.world.Live = d.world.Live[:1]
		live("b", 0)
		live("a", 3)
		asked([]string{"a", "b"})
		b.Forget()
		live("a", 3)
		asked([]string{"a", "b"})
		<-time.After(2 * time.Minute)
		live("a", 3)
		asked([]string{"a"})
		k, _ := b.Workflow(t.Context(), "a")
		for version, want := range map[int]time.Duration{3: 3, 4: 4, 0: 4} {
			if says, ok := k.Version(version); !ok || says.Timeout != want {
				t.Errorf("version %d says %+v, %v; want a timeout of %d", version, says, ok, want)
			}
		}
		if says, ok := k.Version(5); ok {
			t.Errorf("version 5 says %+v, want nothing", says)
		}
	})
}

// Who waits for an answer takes it, also where the world needs longer for one than it is fresh: else each would ask again, one after the other.
func TestBookAsksOnceForAllWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &definer{takes: 3 * time.Second}
		b := NewBook(d, 0)
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				began := time.Now()
				if _, err := b.Workflow(t.Context(), "a"); err != nil || time.Since(began) > d.takes {
					t.Errorf("it took %s: %v", time.Since(began), err)
				}
			})
		}
		all.Wait()
		if len(d.asked) != 1 {
			t.Errorf("the world was asked %d times, want once", len(d.asked))
		}
	})
}

// The limit is the lowest that was said; while the world is away, what it said holds.
func TestBookLimit(t *testing.T) {
	for _, c := range []struct{ own, said, want time.Duration }{
		{0, 0, DefaultLimit}, {time.Hour, 0, time.Hour}, {0, time.Hour, time.Hour}, {time.Hour, time.Minute, time.Minute}, {time.Minute, time.Hour, time.Minute},
		{-1, 0, -1}, {0, -1, -1}, {-1, time.Hour, time.Hour}, {time.Hour, -1, time.Hour}, {2 * DefaultLimit, 0, 2 * DefaultLimit},
	} {
		synctest.Test(t, func(t *testing.T) {
			d := &definer{}
			d.world.Retention = c.said
			b := NewBook(d, c.own)
			check := func(want time.Duration) {
				t.Helper()
				if got, err := b.Limit(t.Context()); err != nil || got != want {
					t.Errorf("own %s, said %s: got %s, %v; want %s", c.own, c.said, got, err, want)
				}
			}
			d.err = errors.New("away")
			if _, err := b.Limit(t.Context()); !errors.Is(err, d.err) {
				t.Errorf("a world that was never heard: %v, want its error", err)
			}
			d.err = nil
			check(c.want)
			d.err = errors.New("away")
			<-time.After(time.Minute)
			check(c.want)
			b.Forget()
			check(c.want)
		})
	}
}

// A worker leaves runs without a version to one that is alive and has a higher version than its own.
func TestLeftToOthers(t *testing.T) {
	class := func(name string, v int) world.Class { return world.Class{Workflow: name, Version: v} }
	mine := []world.Class{class("a", 1), class("a", 0), class("b", 2), class("b", 0)}
	for name, c := range map[string]struct{ live, want []world.Class }{
		"nobody else":               {mine, mine},
		"a lower version":           {append([]world.Class{class("b", 1)}, mine...), mine},
		"a higher version":          {append([]world.Class{class("a", 2)}, mine...), []world.Class{class("a", 1), class("b", 2), class("b", 0)}},
		"of another workflow":       {append([]world.Class{class("c", 9)}, mine...), mine},
		"higher versions of both":   {append([]world.Class{class("a", 2), class("b", 3)}, mine...), []world.Class{class("a", 1), class("b", 2)}},
		"not even this one is seen": {nil, mine},
	} {
		d := &definer{}
		d.world.Live = c.live
		got, next := NewBook(d, 0).leftTo(t.Context(), mine)
		if diff := cmp.Diff(c.want, got); diff != "" || (next == 0) != (len(got) == len(mine)) {
			t.Errorf("%s: looks again after %s; (-want +got):\n%s", name, next, diff)
		}
	}
}

// Who asks and is told what was known before is told too for how long that is so: what changed just now is seen then.
func TestBookRemembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &definer{}
		class := world.Class{Workflow: "a", Version: 1}
		d.world.Live = []world.Class{class}
		d.world.Definitions = []world.Definition{{Class: class}}
		b := NewBook(d, 0)
		classes := []world.Class{{Workflow: "a"}, class}
		look := func(want time.Duration, orphans int) {
			t.Helper()
			began := time.Now()
			b.leftTo(t.Context(), classes)
			if got, left := b.remembered(began), len(b.orphaned()); got != want || left != orphans {
				t.Errorf("to be asked again in %s, with %d left by who is gone; want %s, %d", got, left, want, orphans)
			}
		}
		if got := b.remembered(time.Now()); got != 0 {
			t.Errorf("nothing was asked: asks again in %s", got)
		}
		look(0, 0)
		d.world.Definitions[0].Gone = true
		<-time.After(300 * time.Millisecond)
		look(700*time.Millisecond, 0)
		<-time.After(700 * time.Millisecond)
		look(0, 1)
		<-time.After(time.Minute)
		if got := b.remembered(time.Now()); got != 0 {
			t.Errorf("nobody asked for a minute: asks again in %s", got)
		}
	})
}
