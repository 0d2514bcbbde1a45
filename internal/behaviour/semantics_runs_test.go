package behaviour_test

// The answers at the edges (docs/failures.md) about many runs and many requests: 22 (of deleted runs), 27, 28.

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/sqlite"
)

func TestAnswer22AKeyIsFreeWhenItsRunIsDeleted(t *testing.T) {
	everyWay(t, func(r *rig) {
		wf := serial(1)
		wk := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{wf}, SweepInterval: time.Second})
		first := start(r, wk, wf, 0, stepwell.Key("k"), stepwell.Retention(2*time.Second))
		want(r, first, 0)
		until(r, "the sweep", func() bool {
			_, err := wk.Get(r.ctx, first.ID())
			return errors.Is(err, stepwell.ErrNotFound)
		})
		if again := start(r, wk, wf, 0, stepwell.Key("k")); again.Existed() || again.ID() == first.ID() {
			r.Error("the deleted run's key is still taken")
		}
	})
}

// The inbox is the store's, and no code of the run ever runs: the cache cannot matter.
func TestAnswer27AFullInboxRefusesPayloadsAndLetsACancelThrough(t *testing.T) {
	limits := map[string]int{"memory": 10_000, "sqlite": 20}
	for _, k := range kinds {
		limit, open := limits[k.name], k.open
		if k.name == "sqlite" {
			open = func(t testing.TB) world.World {
				return openFile(t, filepath.Join(t.TempDir(), "runs.db"), sqlite.Options{InboxLimit: limits["sqlite"]})
			}
		}
		t.Run(k.name, func(t *testing.T) {
			bubble(t, open, modes[0].set, func(r *rig) {
				app := r.client(waitOnce)
				run, err := waitOnce.Start(r.ctx, app, struct{}{})
				if err != nil {
					r.Fatal(err)
				}
				for i := range limit {
					if err := numbers.Send(r.ctx, app, run.ID(), number{i}); err != nil {
						r.Fatalf("payload %d: %v", i+1, err)
					}
				}
				if err := numbers.Send(r.ctx, app, run.ID(), number{}); !errors.Is(err, stepwell.ErrInboxFull) {
					r.Errorf("payload %d: %v, want ErrInboxFull", limit+1, err)
				}
				if got := r.get(run.ID()).Queue.Mail; got != limit {
					r.Errorf("mail = %d, want %d", got, limit)
				}
				r.cancel(app, run.ID())
				r.begin()
				wantErr(r, run, world.Cancelled)
			})
		})
	}
}

// What the owner took from the inbox and no wait has taken counts too: by the limit that all have, and by one that is soon reached.
func TestAnswer27UnreadPayloadsInTheLogCount(t *testing.T) {
	t.Run("10000", func(t *testing.T) {
		t.Parallel()
		bubble(t, kinds[0].open, modes[0].set, func(r *rig) { r.unread(10_000, kit.Overrides{}) })
	})
	everyWay(t, func(r *rig) { r.unread(100, kit.Overrides{Unread: 100}) })
}

// unread fills a run up with payloads that it does not wait for.
func (r *rig) unread(limit int, with kit.Overrides) {
	r.Helper()
	wf := stepwell.Define("unread", func(ctx stepwell.Context, _ struct{}) (int, error) {
		return 0, stepwell.Sleep(ctx, "long", time.Hour)
	})
	cfg := stepwell.Config{Definitions: []stepwell.Definition{wf}}
	kit.Set(&cfg, with)
	wk := r.beginWith(cfg)
	run := start(r, wk, wf, struct{}{})
	var err error
	sent := 0
	for ; sent < 2*limit && err == nil; sent++ {
		if err = numbers.Send(r.ctx, wk.App, run.ID(), number{sent}); sent%(limit/10) == 0 {
			r.pass(time.Second)
		}
	}
	if !errors.Is(err, stepwell.ErrInboxFull) || sent < limit {
		r.Errorf("payload %d: %v, want ErrInboxFull at about %d", sent, err, limit)
	}
	r.cancel(wk.App, run.ID())
	wantErr(r, run, world.Cancelled)
}

// One run of the lowest priority waits, and then one of each priority comes: it is served behind those that count more than it does by then.
// Each run ends in the claim that begins it: no machine is ever kept, and the cache cannot matter.
func TestAnswer28PriorityIsStrictButAMinuteOfWaitingCountsOneMore(t *testing.T) {
	for minutes, order := range [][]int{
		0: {4, 3, 2, 0, 1},
		1: {4, 3, 0, 2, 1},
		2: {4, 0, 3, 2, 1},
		3: {0, 4, 3, 2, 1},
		9: {0, 4, 3, 2, 1},
	} {
		if order == nil {
			continue
		}
		t.Run(fmt.Sprintf("after %d minutes", minutes), func(t *testing.T) {
			t.Parallel()
			onWorlds(t, func(r *rig) {
				var served []int
				wf := stepwell.Define("served", func(_ stepwell.Context, n int) (int, error) {
					served = append(served, n) // one at a time, and nothing is replayed
					return n, nil
				})
				client := r.client(wf)
				runs := make([]*stepwell.Run[int], 5)
				for n := range runs {
					var err error
					if runs[n], err = wf.Start(r.ctx, client, n, stepwell.Priority(max(n, 1))); err != nil {
						r.Fatal(err)
					}
					if n == 0 {
						r.pass(time.Duration(minutes)*time.Minute + time.Second)
					}
				}
				r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{wf}, MaxRuns: 1})
				for n, run := range runs {
					want(r, run, n)
				}
				if diff := cmp.Diff(order, served); diff != "" {
					r.Errorf("order of service: want -, got +:\n%s", diff)
				}
			})
		})
	}
}
