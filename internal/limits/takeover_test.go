package limits_test

import (
	"crypto/rand"
	"encoding/json"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
)

// TestPlaceOfADeadWorker: a worker dies with the only place of a key. By the store's clock, its run is another worker's
// when its lease is over, and not before; with that run's end the next one of the key begins. How soon is the best of
// three tries, as the store's clock goes on where others have the machine; each other rule holds in each of them.
func TestPlaceOfADeadWorker(t *testing.T) {
	const lease = time.Second
	for store := range fairStores {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			late, wait := takeover(t, store, lease)
			for try := 1; try < 3 && max(late, wait) > lease; try++ {
				late, wait = takeover(t, store, lease)
			}
			if late > lease || wait > lease {
				t.Errorf("the run is given %s behind the end of the lease, and the next one %s later: want at most %s", late, wait, lease)
			}
		})
	}
}

// takeover has a worker die with the place, and tells how long behind the end of its lease another one is given its
// run, and how much later the next run of the key.
func takeover(t *testing.T, store string, lease time.Duration) (late, wait time.Duration) {
	t.Helper()
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
	if late = at.Sub(lives.Until); r.Run != runs[0] || late < 0 {
		t.Errorf("run %s is given %s behind the end of the lease, want %s, and not before", r.Run, late, runs[0])
	}
	commit(&world.Commit{Run: r.Run, Worker: other, Claim: r.Claim, First: r.Seq + 1, Events: []world.Event{
		{Type: world.RunStarted, Time: time.Now()}, {Type: world.RunCompleted, Time: time.Now(), Payload: json.RawMessage("1")},
	}})
	next, free := claims(other)
	if next.Run != runs[1] {
		t.Errorf("run %s is given next, want %s", next.Run, runs[1])
	}
	return late, free.Sub(at)
}
