package schedule_test

// A simulation: programs that die, whose world fails before and after it has written, and outages, while people change,
// pause and resume a schedule, and cancel and restart its runs. What is left is held against a list of its times.

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/schedule"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

var (
	simSeeds = flag.Uint64("sim.seeds", 8, "how many seeds the simulation runs, from 1")
	simSeed  = flag.Uint64("sim.seed", 0, "the one seed to run instead")
)

// simWorld is the world of a program of the simulation: writes of schedules fail, before or after they are made, come
// late, or are the program's last.
type simWorld struct {
	world.World
	chance func(n int) int
	dead   atomic.Bool
	die    func()
}

func (w *simWorld) Schedules() world.Scheduler {
	return simSchedules{w.World.Schedules(), w}
}

func (w *simWorld) write(do func() error) (err error) {
	roll := w.chance(100)
	if w.dead.Load() {
		return errDead
	}
	if roll >= 14 && roll < 20 {
		<-time.After(time.Duration(w.chance(3_000)) * time.Millisecond)
	}
	if roll >= 7 {
		err = do()
	}
	switch roll {
	case 0, 1, 2, 3, 7, 8, 9, 10:
		return errors.New("the network is away")
	case 4, 5, 6, 11, 12, 13:
		w.dead.Store(true)
		go w.die()
		return errDead
	}
	return err
}

func (w *simWorld) Commit(ctx context.Context, c *world.Commit) (done world.Committed, err error) {
	if c.Schedule == nil {
		if w.dead.Load() {
			return done, errDead
		}
		return w.World.Commit(ctx, c)
	}
	err = w.write(func() (err error) { done, err = w.World.Commit(ctx, c); return err })
	return done, err
}

type simSchedules struct {
	world.Scheduler
	w *simWorld
}

func (s simSchedules) PutSchedule(ctx context.Context, x world.Schedule) (put bool, err error) {
	err = s.w.write(func() (err error) { put, err = s.Scheduler.PutSchedule(ctx, x); return err })
	return put, err
}

// sim is one seed's.
type sim struct {
	*testing.T
	below    *memory.World
	of       *stepwell.Workflow[int, string]
	mu       sync.Mutex
	rnd      *rand.Rand           // guarded by mu
	programs map[*simWorld]func() // guarded by mu: those that live, and what ends them
	all      sync.WaitGroup
}

func (s *sim) chance(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rnd.IntN(n)
}

// begin starts a program.
func (s *sim) begin() {
	w := &simWorld{World: s.below, chance: s.chance}
	app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{s.of}, Logger: slog.New(slog.DiscardHandler), Drain: time.Second})
	if err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	w.die = func() { s.end(w); <-time.After(time.Duration(s.chance(300)) * time.Second); s.begin() }
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.programs == nil || s.Failed() {
		cancel()
		return
	}
	s.programs[w] = cancel
	s.all.Go(func() { _ = app.Run(ctx) })
}

// end ends one; nil: any, or none.
func (s *sim) end(w *simWorld) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for p, stop := range s.programs {
		if w == nil || p == w {
			p.dead.Store(true)
			stop()
			delete(s.programs, p)
			return
		}
	}
}

// simTimes are what is said of when.
var simTimes = []string{"*/10 * * * *", "@every 7m", "0 * * * *", "*/3 1-20 * * *", "5,6,7,8 * * * *"}

func simulate(t *testing.T, seed uint64) {
	s := &sim{T: t, below: memory.New(), of: report(), rnd: rand.New(rand.NewPCG(seed, 1)), programs: map[*simWorld]func(){}}
	app, err := stepwell.New(s.below, stepwell.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	overlap := world.Overlaps[s.chance(len(world.Overlaps))]
	opts := []schedule.Option{schedule.Overlap(overlap), schedule.CatchUp(time.Duration(1+s.chance(180)) * time.Minute)}
	if s.chance(2) == 0 {
		opts = append(opts, schedule.Jitter(time.Duration(1+s.chance(900))*time.Second))
	}
	var now *schedule.Schedule
	var since time.Time
	paused, due := false, map[string]bool{} // what has to have a run, or be counted
	count := func() {
		for at := since; !paused; {
			next := now.Next(at, 1)[0]
			if next.After(time.Now()) {
				break
			}
			at = next
			due[world.ScheduledID("x", at)] = true
		}
		since = time.Now()
	}
	say := func(times string) {
		now = schedule.New("x", s.of, s.chance(25), append(opts, schedule.Times(times))...)
		if err := schedule.Put(t.Context(), app, now, "ann"); err != nil {
			t.Fatal(err)
		}
	}
	times := simTimes[s.chance(len(simTimes))]
	<-time.After(1500 * time.Millisecond)
	since = time.Now()
	say(times)
	s.begin()
	s.begin()
	last := func() string {
		if l := stands(t, app, "x").Is.Last; l != nil {
			return l.Run
		}
		return "none"
	}
	for range 40 {
		<-time.After(time.Duration(s.chance(40*60)) * time.Second)
		synctest.Wait()
		switch s.chance(10) {
		case 0, 1:
			s.end(nil)
			s.begin()
		case 2:
			s.mu.Lock()
			n := len(s.programs)
			s.mu.Unlock()
			for range n {
				s.end(nil)
			}
			<-time.After(time.Duration(s.chance(5*3600)) * time.Second)
			for range n {
				s.begin()
			}
		case 3:
			count()
			times = simTimes[(slices.Index(simTimes, times)+1+s.chance(len(simTimes)-1))%len(simTimes)]
			say(times)
		case 4:
			say(times)
		case 5, 6:
			count()
			if err := schedule.Pause(t.Context(), app, "x", "ann", "tea"); err != nil {
				t.Fatal(err)
			}
			paused = true
		case 7:
			count()
			if err := schedule.Resume(t.Context(), app, "x"); err != nil {
				t.Fatal(err)
			}
			paused = false
		case 8:
			_ = app.Cancel(t.Context(), last(), "enough")
		case 9:
			_, _ = app.Restart(t.Context(), last(), stepwell.RestartOptions{InPlace: s.chance(2) == 0})
		}
	}
	count()
	if err := errors.Join(schedule.Pause(t.Context(), app, "x", "ann", "the end"), schedule.Resume(t.Context(), app, "x")); err != nil {
		t.Fatal(err)
	}
	s.examine(app, overlap, due)
	s.mu.Lock()
	for _, stop := range s.programs {
		stop()
	}
	s.programs = nil
	s.mu.Unlock()
	s.all.Wait()
	<-time.After(time.Hour) // those that were to follow the dead do not
	if t.Failed() {
		t.Errorf("again: go test ./schedule -run TestSimulation -sim.seed=%d", seed)
	}
}

// examine holds what is left: each time that was due has one run or is counted, and their runs are in order.
func (s *sim) examine(app *stepwell.App, overlap world.Overlap, due map[string]bool) {
	is := stands(s.T, app, "x").Is
	var runs []stepwell.RunInfo
	for r, err := range app.List(s.Context(), stepwell.ListFilter{Workflow: "report"}) {
		if err != nil {
			s.Fatal(err)
		}
		if strings.HasPrefix(r.ID, "x@") { // others were restarted
			runs = append(runs, r)
		}
	}
	slices.Reverse(runs)
	for i, r := range runs {
		if !due[r.ID] {
			s.Errorf("run %s is of no time", r.ID)
		}
		if i == 0 {
			continue
		}
		before := runs[i-1]
		if r.ID <= before.ID && overlap != world.OverlapAllow {
			s.Errorf("run %s began behind %s", r.ID, before.ID)
		}
		if overlap != world.OverlapAllow && (before.EndedAt.IsZero() || r.CreatedAt.Before(before.EndedAt)) {
			s.Errorf("run %s began while %s was not over", r.ID, before.ID)
		}
	}
	if len(runs) != is.Count || is.Count+is.Skipped+is.Missed != len(due) {
		s.Errorf("%s: %d times, %d runs, and it stands so: %+v", overlap, len(due), len(runs), is)
	}
}

// TestSimulation: see the file's head.
func TestSimulation(t *testing.T) {
	if *simSeed != 0 {
		synctest.Test(t, func(t *testing.T) { simulate(t, *simSeed) })
		return
	}
	for seed := uint64(1); seed <= *simSeeds && !t.Failed(); seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { synctest.Test(t, func(t *testing.T) { simulate(t, seed) }) })
	}
}
