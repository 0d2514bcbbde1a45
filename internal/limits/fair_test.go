package limits_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
	"github.com/stepwell/stepwell/world/postgres"
	"github.com/stepwell/stepwell/world/sqlite"
)

// fair counts rounds: in each a worker has so many runs, and all of them end.
type fair struct {
	testing.TB
	w       world.World
	weights map[string]int
	crowd   int // runs of the key "crowd", which come first
}

const (
	fairKeys   = 50
	fairEach   = 20
	fairPlaces = 2
	fairSlots  = 20
)

// birth starts so many runs of a key.
func (f *fair) birth(key string, n int, of map[string]string, mu *sync.Mutex) {
	for range n {
		c := &world.Commit{Run: world.NewID(world.PrefixRun, time.Now()), First: 1, Events: []world.Event{{
			Type: world.RunCreated, Time: time.Now(), Payload: json.RawMessage("1"),
			Birth: &world.Birth{Workflow: "import", Version: 1, Priority: 1, Places: []world.Place{{Limit: "import", Key: key, Number: fairPlaces}}},
		}}}
		rand.Read(c.ID[:])
		if _, err := f.w.Commit(f.Context(), c); err != nil {
			f.Error(err)
			return
		}
		mu.Lock()
		of[c.Run] = key
		mu.Unlock()
	}
}

// end ends a run that a worker has.
func (f *fair) end(worker string, r *world.ClaimedRun) {
	c := &world.Commit{Run: r.Run, Worker: worker, Claim: r.Claim, First: r.Seq + 1, Events: []world.Event{
		{Type: world.RunStarted, Time: time.Now()}, {Type: world.RunCompleted, Time: time.Now(), Payload: json.RawMessage("1")},
	}}
	rand.Read(c.ID[:])
	if _, err := f.w.Commit(f.Context(), c); err != nil {
		f.Error(err)
	}
}

// rounds is in which round the last run of each key ended, but of the crowd's.
func (f *fair) rounds() map[string]int {
	f.Helper()
	class := world.Class{Workflow: "import", Version: 1}
	id := world.NewID(world.PrefixWorker, time.Now())
	said := world.SaidLimit{Name: "import", Number: fairPlaces, Path: "tenant", Weights: f.weights}
	if _, err := f.w.Join(f.Context(), world.Worker{
		ID: id, Lease: time.Hour, Classes: []world.Class{class}, Definitions: []world.Definition{{Class: class, Said: world.Said{Limits: []world.SaidLimit{said}}}},
	}); err != nil {
		f.Fatal(err)
	}
	of, mu := make(map[string]string, f.crowd), sync.Mutex{}
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() { f.birth("crowd", f.crowd/32+min(1, max(0, f.crowd%32-i)), of, &mu) })
	}
	wg.Wait()
	for i := range fairKeys {
		wg.Go(func() { f.birth(fmt.Sprint(i), fairEach, of, &mu) })
	}
	wg.Wait()
	last, left := make(map[string]int), fairKeys*fairEach
	for round := 1; left > 0; round++ {
		var runs []world.ClaimedRun
		for empty := 0; len(runs) < fairSlots && empty < 3; { // PostgreSQL lets in at a look what the one before freed
			t, err := f.w.Claim(f.Context(), world.ClaimQuery{Worker: id, Classes: []world.Class{class}, Runs: fairSlots - len(runs)})
			if err != nil {
				f.Fatal(err)
			}
			if empty++; len(t.Runs) > 0 {
				empty = 0
			}
			runs = append(runs, t.Runs...)
		}
		if len(runs) == 0 {
			f.Fatalf("round %d: nobody is given, and %d runs are left", round, left)
		}
		for _, r := range runs {
			wg.Go(func() { f.end(id, &r) })
			if key := of[r.Run]; key != "crowd" {
				last[key] = round
				left--
			}
		}
		wg.Wait()
	}
	return last
}

// slowest is the last of the rounds.
func slowest(rounds map[string]int) (most int) {
	for _, round := range rounds {
		most = max(most, round)
	}
	return most
}

// fairStores open a world each.
var fairStores = map[string]func(t testing.TB) (world.World, error){
	"memory": func(testing.TB) (world.World, error) { return memory.New(), nil },
	"sqlite": func(t testing.TB) (world.World, error) {
		return sqlite.Open(filepath.Join(t.TempDir(), "runs.db"), sqlite.Options{})
	},
	"postgres": func(t testing.TB) (world.World, error) { return postgres.Open(t.Context(), pgtest.URL(t)) },
}

func roundsOn(t testing.TB, store string, crowd int, weights map[string]int) map[string]int {
	t.Helper()
	w, err := fairStores[store](t)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	return (&fair{TB: t, w: w, weights: weights, crowd: crowd}).rounds()
}

// TestFairRounds: 50 keys with 20 runs each are done in at most twice the rounds that they need alone, beside a key
// with 100,000, also where that has a weight; and a key of weight 3 is done in about a third of the rounds of others.
func TestFairRounds(t *testing.T) {
	for store := range fairStores {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			crowd, heaviest := 600, 3 // on a disk, 100,000 are many seconds: BenchmarkFair has them
			if store == "memory" {
				crowd, heaviest = 100_000, world.MaxWeight
			}
			alone := slowest(roundsOn(t, store, 0, nil))
			if want := fairKeys * fairEach / fairSlots; alone != want {
				t.Errorf("alone they need %d rounds, want %d", alone, want)
			}
			for _, of := range []struct {
				weights map[string]int
				most    int
			}{{nil, 2 * alone}, {map[string]int{"crowd": heaviest}, (1 + (fairKeys+heaviest)/fairKeys) * alone}} {
				beside := slowest(roundsOn(t, store, crowd, of.weights))
				t.Logf("%d rounds alone, %d beside a key with %d, weights %v", alone, beside, crowd, of.weights)
				if beside > of.most || beside < alone {
					t.Errorf("beside a key with %d, of weights %v, they need %d rounds, and %d alone: want %d at most", crowd, of.weights, beside, alone, of.most)
				}
			}
			heavy := roundsOn(t, store, 0, map[string]int{"7": 3})
			if got, most := heavy["7"], slowest(heavy); got > most/2 { // on PostgreSQL a look later
				t.Errorf("the key of weight 3 is done after %d rounds of %d, want about a third", got, most)
			}
		})
	}
}

// BenchmarkFair measures the same with 100,000 on each store:
//
//	go test ./limit -run '^$' -bench Fair -benchtime 1x
func BenchmarkFair(b *testing.B) {
	for store := range fairStores {
		b.Run(store, func(b *testing.B) {
			for b.Loop() {
				alone, beside := slowest(roundsOn(b, store, 0, nil)), slowest(roundsOn(b, store, 100_000, nil))
				weighed := slowest(roundsOn(b, store, 100_000, map[string]int{"crowd": 3}))
				b.ReportMetric(float64(alone), "rounds-alone")
				b.ReportMetric(float64(beside), "rounds-beside")
				b.ReportMetric(float64(weighed), "rounds-beside-weight-3")
			}
		})
	}
}
