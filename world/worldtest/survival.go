// Survival: workers come, die and leave at any moment, and every run gets to its end with what was sent to it.

package worldtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stepwell/stepwell/world"
)

const (
	survivalRuns    = 12
	survivalSignals = 5 // for each run, after which it ends
	survivalWorkers = 3
)

var survival = []check{
	{"runs survive their workers", "whatever dies, every accepted run ends, with each delivery once in its log, in order of numbers", func(r *rig) {
		class := []world.Class{{Workflow: "greet", Version: 1}}
		var runs []string
		for range survivalRuns {
			runs = append(runs, r.createRun("greet"))
		}
		var wg sync.WaitGroup
		var ended, deaths atomic.Int32
		defer wg.Wait()
		defer ended.Store(survivalRuns) // also where the check ends early
		for n := range survivalWorkers {
			rng := rand.New(rand.NewPCG(uint64(n), 17))
			wg.Go(func() {
				for end := time.Now().Add(patience); ended.Load() < survivalRuns && time.Now().Before(end); {
					id := world.NewID(world.PrefixWorker, world.Now())
					if _, err := r.w.Join(r.ctx, world.Worker{ID: id, Classes: class, Lease: shortLease}); err != nil {
						r.Errorf("join: %v", err)
						return
					}
					r.shortLife(id, class, rng, &ended, &deaths)
				}
			})
		}
		for i := range survivalSignals {
			for _, id := range runs {
				r.deliver(signal(id, fmt.Sprint("d", i), "a"))
			}
			r.until(fmt.Sprint("signal ", i, " is in every log"), func() bool {
				return !slices.ContainsFunc(runs, func(id string) bool { return len(r.events(id)) < 3+i })
			})
		}
		wg.Wait()
		if deaths.Load() == 0 {
			r.Fatalf("no worker died with a run in its hands; the check proves nothing")
		}
		for _, id := range runs {
			r.complete(id)
		}
	}},
	{"a resume against a sender loses no wake-up", "mail that comes while a run is paused or resumed wakes it when it is not", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet")
		for i := range 25 {
			s.release(world.Release{})
			r.deliver(act(s.run, "", world.RunPaused))
			var wg sync.WaitGroup
			for _, d := range []*world.Delivery{signal(s.run, fmt.Sprint("d", i), "a"), act(s.run, "", world.RunResumed)} {
				wg.Go(func() {
					if _, err := r.w.Deliver(r.ctx, d); err != nil {
						r.Errorf("round %d: %v", i, err)
					}
				})
			}
			wg.Wait()
			again, got := k.get(s.run)
			if got.Paused || len(got.Mail) != 1 {
				r.Fatalf("round %d: got %+v, want the run with one mail", i, got)
			}
			c := again.next(got.Mail[0].Events[0])
			c.Mail = rows(got.Mail)
			again.write(c)
			s = again
		}
	}},
}

// shortLife is one worker: it takes, appends what came, and dies, leaves or goes on as chance has it.
func (r *rig) shortLife(id string, class []world.Class, rng *rand.Rand, ended, deaths *atomic.Int32) {
	for ended.Load() < survivalRuns {
		t, err := r.w.Claim(r.ctx, world.ClaimQuery{Worker: id, Classes: class, Runs: 2})
		if err != nil {
			if !isErr(err, world.ErrLeaseLost) {
				r.Errorf("take: %v", err)
			}
			return
		}
		for _, run := range t.Runs {
			if deaths.Load() == 0 || rng.IntN(10) == 0 {
				deaths.Add(1)
				return // it dies with what it took; its lease runs out
			}
			over, err := r.turn(id, run)
			switch {
			case isErr(err, world.ErrLeaseLost):
				return
			case err != nil:
				r.Errorf("run %s, take %d: %v", run.Run, run.Claim, err)
				return
			case over:
				ended.Add(1)
			}
		}
		if rng.IntN(8) == 0 {
			if err := r.w.Leave(r.ctx, id); err != nil {
				r.Errorf("leave: %v", err)
			}
			return
		}
	}
}

// turn appends what waits for a run, and ends it when all has come. What the log has already is dropped, as every owner does.
func (r *rig) turn(worker string, t world.ClaimedRun) (over bool, err error) {
	log, _, err := readAll(r, t.Run)
	if err != nil {
		return false, err
	}
	state := &world.State{ID: t.Run}
	for i := range log {
		if _, err := state.Apply(&log[i], time.Time{}); err != nil {
			return false, err
		}
	}
	c := &world.Commit{ID: commitID(), Run: t.Run, Worker: worker, Claim: t.Claim, First: t.Seq + 1, Mail: rows(t.Mail), Release: &world.Release{}}
	add := func(e world.Event) {
		e.Time = laterOf(world.Now(), state.Time)
		if changed, applyErr := state.Apply(&e, time.Time{}); applyErr != nil {
			err = applyErr
		} else if changed {
			c.Events = append(c.Events, e)
		}
	}
	add(world.Event{Type: world.RunStarted})
	for _, m := range t.Mail {
		e := m.Events[0]
		e.Delivery = m.ID
		add(e)
	}
	if state.Seq == 2+survivalSignals {
		add(world.Event{Type: world.RunCompleted})
		c.Release, over = nil, true
	}
	if err != nil {
		return false, err
	}
	_, err = r.w.Commit(r.ctx, c)
	return over && err == nil, err
}

// complete ends the check unless the run is over and its log has every delivery once.
func (r *rig) complete(id string) {
	r.Helper()
	r.same(r.run(id).Status, world.Completed, "status of run "+id)
	seen := make(map[string]int)
	for i, e := range r.events(id) {
		r.same(e.Seq, int64(i+1), "number")
		seen[e.Delivery]++
	}
	for i := range survivalSignals {
		r.same(seen[fmt.Sprint("d", i)], 1, fmt.Sprint("appended copies of delivery ", i, " of run ", id))
	}
}

func laterOf(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
