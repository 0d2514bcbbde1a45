package limit_test

import (
	"crypto/rand"
	"encoding/json"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
)

// TestPlaceOfADeadWorker: a worker dies with the only place of a key. By the store's clock, its run is another worker's
// when its lease is over, and not before; with that run's end the next one of the key begins.
func TestPlaceOfADeadWorker(t *testing.T) {
	const lease = 3 * time.Second
	for store := range fairStores {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			w, err := fairStores[store](t)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = w.Close() }()
			class := world.Class{Workflow: "pay", Version: 1}
			join := func(lease time.Duration) (string, world.Heartbeat) {
				id := world.NewID(world.PrefixWorker, time.Now())
				lives, err := w.Join(t.Context(), world.Worker{ID: id, Lease: lease, Classes: []world.Class{class}})
				if err != nil {
					t.Fatal(err)
				}
				return id, lives
			}
			commit := func(c *world.Commit) {
				t.Helper()
				rand.Read(c.ID[:])
				if _, err := w.Commit(t.Context(), c); err != nil {
					t.Fatal(err)
				}
			}
			var runs []string
			for range 2 {
				runs = append(runs, world.NewID(world.PrefixRun, time.Now()))
				commit(&world.Commit{Run: runs[len(runs)-1], First: 1, Events: []world.Event{{Type: world.RunCreated, Time: time.Now(), Payload: json.RawMessage("1"),
					Birth: &world.Birth{Workflow: "pay", Version: 1, Priority: 1, Places: []world.Place{{Limit: "bank", Key: "ann", Number: 1}}}}}})
			}
			// claims waits until a worker is given a run, and tells when that was.
			claims := func(worker string) (world.ClaimedRun, time.Time) {
				t.Helper()
				for {
					got, err := w.Claim(t.Context(), world.ClaimQuery{Worker: worker, Classes: []world.Class{class}, Runs: 2})
					if err != nil {
						t.Fatal(err)
					}
					if len(got.Runs) > 1 {
						t.Fatalf("two runs of a key with one place: %+v", got.Runs)
					}
					if len(got.Runs) == 1 {
						return got.Runs[0], got.Now
					}
					select {
					case <-time.After(5 * time.Millisecond):
					case <-t.Context().Done():
						t.Fatal("no run is given")
					}
				}
			}
			dies, lives := join(lease)
			if r, _ := claims(dies); r.Run != runs[0] {
				t.Fatalf("run %s is given, want %s", r.Run, runs[0])
			}
			other, _ := join(time.Hour)
			r, at := claims(other)
			if late := at.Sub(lives.Until); r.Run != runs[0] || late < 0 || late > lease {
				t.Errorf("run %s is given %s behind the end of the lease, want %s, and at most %s", r.Run, late, runs[0], lease)
			}
			commit(&world.Commit{Run: r.Run, Worker: other, Claim: r.Claim, First: r.Seq + 1, Events: []world.Event{
				{Type: world.RunStarted, Time: time.Now()}, {Type: world.RunCompleted, Time: time.Now(), Payload: json.RawMessage("1")},
			}})
			next, free := claims(other)
			if wait := free.Sub(at); next.Run != runs[1] || wait > lease {
				t.Errorf("run %s is given %s later, want %s, and at most %s", next.Run, wait, runs[1], lease)
			}
		})
	}
}
