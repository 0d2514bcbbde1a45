// What the conformance suite cannot hold a world to, as it would take a minute or an hour: aging, default leases, long
// retention. Here the clock is synctest's.

package memory_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

func created(id, workflow string, priority int, retention time.Duration) *world.Commit {
	return &world.Commit{ID: [16]byte{1}, Run: id, First: 1, Events: []world.Event{{
		Type: world.RunCreated, Time: world.Now(), Payload: json.RawMessage(`{}`),
		Birth: &world.Birth{Workflow: workflow, Version: 1, Priority: priority, Retention: retention},
	}}}
}

func mustCommit(t testing.TB, w world.World, c *world.Commit) {
	t.Helper()
	if _, err := w.Commit(t.Context(), c); err != nil {
		t.Fatalf("commit to run %s at %d: %v", c.Run, c.First, err)
	}
}

func mustJoin(t testing.TB, w world.World, id string) {
	t.Helper()
	if _, err := w.Join(t.Context(), world.Worker{ID: id, Name: id}); err != nil {
		t.Fatalf("join %s: %v", id, err)
	}
}

func claimOne(t testing.TB, w world.World, worker string, classes ...world.Class) world.Claimed {
	t.Helper()
	got, err := w.Claim(t.Context(), world.ClaimQuery{Worker: worker, Classes: classes, Runs: 1})
	if err != nil {
		t.Fatalf("take: %v", err)
	}
	return got
}

// TestAging holds that every minute of waiting counts one priority more.
func TestAging(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := memory.New()
		mustCommit(t, w, created("low", "a", 0, 0))
		time.Sleep(61 * time.Second)
		mustCommit(t, w, created("normal", "a", 1, 0))
		mustCommit(t, w, created("high", "a", 3, 0))
		mustJoin(t, w, "w1")
		for _, want := range []string{"high", "low", "normal"} { // low counts 1 by now, and waits longer than normal
			got := claimOne(t, w, "w1", world.Class{Workflow: "a", Version: 1})
			if len(got.Runs) != 1 || got.Runs[0].Run != want {
				t.Fatalf("got %+v, want run %s", got.Runs, want)
			}
		}
	})
}

// TestDefaultLease holds that a worker that does not say is believed alive for ten seconds.
func TestDefaultLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := memory.New()
		class := world.Class{Workflow: "a", Version: 1}
		mustJoin(t, w, "w1")
		mustCommit(t, w, created("r", "a", 1, 0))
		claimOne(t, w, "w1", class)
		time.Sleep(9 * time.Second)
		mustJoin(t, w, "w2")
		if got := claimOne(t, w, "w2", class); len(got.Runs) != 0 || !got.Next.Equal(got.Now.Add(time.Second)) {
			t.Fatalf("got %d runs, next %s; want none, and to look again when the lease ends, at %s", len(got.Runs), got.Next, got.Now.Add(time.Second))
		}
		time.Sleep(time.Second)
		if got := claimOne(t, w, "w2", class); len(got.Runs) != 1 || got.Runs[0].Claim != 2 {
			t.Fatalf("got %+v, want the run under take 2", got.Runs)
		}
	})
}

// TestRetention holds that a run is swept when its retention ended and not a moment before.
func TestRetention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := memory.New()
		for i, retention := range []time.Duration{time.Hour, 2 * time.Hour, 0} {
			id := fmt.Sprint("r", i)
			mustCommit(t, w, created(id, "a", 1, retention))
			if _, err := w.Deliver(t.Context(), &world.Delivery{Run: id, Act: true, Events: []world.Event{{Type: world.RunCancelled}}}); err != nil {
				t.Fatal(err)
			}
		}
		for _, step := range []struct {
			wait time.Duration
			want int
		}{{time.Hour - 1, 0}, {1, 1}, {time.Hour - 1, 0}, {1, 1}, {1000 * time.Hour, 0}} {
			time.Sleep(step.wait)
			if got, err := w.Sweep(t.Context(), 10); got != step.want || err != nil {
				t.Fatalf("after %s more: swept %d (%v), want %d", step.wait, got, err, step.want)
			}
		}
	})
}

// TestNoticesComeUnlocked holds that the world is not locked while a listener runs.
func TestNoticesComeUnlocked(t *testing.T) {
	w := memory.New()
	ctx, told := t.Context(), 0
	stop := w.Notify(func(world.Notice) {
		told++
		if _, err := w.Stats(ctx); err != nil { // a deadlock, were it locked
			t.Errorf("stats: %v", err)
		}
	})
	mustCommit(t, w, created("r1", "a", 1, 0))
	stop()
	before := told
	mustCommit(t, w, created("r2", "a", 1, 0))
	if before == 0 || told != before {
		t.Fatalf("told %d times, then %d; want some, then no more", before, told)
	}
}

// BenchmarkCommit is what one step of an owned run costs the world: three events a commit.
func BenchmarkCommit(b *testing.B) {
	ctx := context.Background()
	w := memory.New()
	mustJoin(b, w, "w1")
	birth := created("r", "a", 1, 0)
	birth.Worker, birth.Claim = "w1", 1
	mustCommit(b, w, birth)
	now, payload := world.Now(), json.RawMessage(`{"n":1}`)
	events := []world.Event{
		{Type: world.StepCompleted, Time: now, ID: "step_1", Attempt: 1, Payload: payload},
		{Type: world.StepCreated, Time: now, ID: "step_2", Kind: world.KindClosure, Name: "work", Payload: payload},
		{Type: world.StepStarted, Time: now, ID: "step_2", Attempt: 1},
	}
	seq := int64(2)
	b.ReportAllocs()
	for b.Loop() {
		c := world.Commit{Run: "r", Worker: "w1", Claim: 1, First: seq, Events: events}
		if _, err := w.Commit(ctx, &c); err != nil {
			b.Fatal(err)
		}
		seq += 3
	}
}
