package behaviour_test

// This file holds the simulation: generated programs run in virtual time on workers that crash, are evicted and are deployed anew, whose world
// fails, delays and repeats, while clients start, signal, pause, wake and cancel; then the laws are held against what is left.
// Laws: docs/design/README.md#the-laws.

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/apart"
	"github.com/stepwell/stepwell/internal/clocktest"
	"github.com/stepwell/stepwell/internal/crypt"
	"github.com/stepwell/stepwell/internal/faults"
	"github.com/stepwell/stepwell/keyring"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// simUsual is how many seeds are run where nobody says otherwise.
const simUsual = 300

var (
	simSeeds = flag.Uint64("sim.seeds", simUsual, "how many seeds the simulation runs, from 1")
	simSeed  = flag.Uint64("sim.seed", 0, "the one seed to run instead")
)

// TestSimulation runs generated programs under generated faults. To see one again: go test ./internal/behaviour -run TestSimulation -sim.seed=N -v
func TestSimulation(t *testing.T) {
	if *simSeed != 0 {
		synctest.Test(t, func(t *testing.T) { simulate(t, inMemory(), *simSeed, nil, &simCoverage{}) })
		return
	}
	const shards = 4
	var seen simCoverage
	t.Cleanup(func() {
		if *simSeeds >= simUsual && !t.Failed() {
			seen.report(t)
		}
	})
	for shard := range uint64(shards) {
		t.Run(fmt.Sprintf("shard=%d", shard), func(t *testing.T) {
			t.Parallel()
			more := func(seed uint64) bool { // what is met seldom may take more seeds
				return seed <= *simSeeds || *simSeeds >= simUsual && seed <= 3**simSeeds && seen.lacks()
			}
			for seed := shard + 1; more(seed) && !t.Failed(); seed += shards {
				synctest.Test(t, func(t *testing.T) { simulate(t, inMemory(), seed, nil, &seen) })
			}
		})
	}
}

// simEncrypted is how many seeds are run with encryption besides.
const simEncrypted = 24

// TestSimulationEncrypted runs other programs on workers and clients that encrypt. No program may observe it.
func TestSimulationEncrypted(t *testing.T) {
	t.Parallel()
	ring := keysOf(t, "k1")
	for seed := uint64(5001); seed <= 5000+simEncrypted && !t.Failed(); seed++ {
		synctest.Test(t, func(t *testing.T) { simulate(t, inMemory(), seed, ring, &simCoverage{}) })
	}
}

// FuzzSimulation is the same without an end: make fuzz.
func FuzzSimulation(f *testing.F) {
	for seed := range uint64(10) {
		f.Add(1_000_000 + seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		synctest.Test(t, func(t *testing.T) { simulate(t, inMemory(), seed, nil, &simCoverage{}) })
	})
}

// simStage is where a plan is carried out.
type simStage struct {
	below   world.World                        // as who looks on, and clients, have it
	process func() (w world.World, end func()) // as one more process has it, and what its death does beside
	remains func() []string                    // what runs that are over left behind
	haste   time.Duration                      // all times are divided by it: 1 where time is virtual
	late    time.Duration                      // what is read of the world may be so old
	lease   time.Duration                      // of workers
	poll    time.Duration                      // of workers
	again   string                             // flags of go test, before the seed
	clock   *clocktest.Clock                   // of the host; nil: it does not step
}

// inMemory is the stage where time is virtual.
func inMemory() *simStage {
	clock := &clocktest.Clock{}
	w := memory.New(memory.Options{Now: clock.Now})
	return &simStage{
		below: w, clock: clock, haste: 1, remains: w.Remains, again: "-run TestSimulation -sim.seed",
		process: func() (world.World, func()) { return w, func() {} },
	}
}

// simulation is one plan that is carried out.
type simulation struct {
	*simStage
	t     *testing.T
	seed  uint64
	plan  simPlan
	plain world.World   // the world, decrypted
	ring  *keyring.Ring // nil: nothing is encrypted
	rates faults.Rates

	mu       sync.Mutex
	steps    map[string]*simStep    // by correlation ID; guarded by mu
	problems []string               // guarded by mu
	living   map[*simWorker]bool    // guarded by mu
	workers  map[*stepwell.App]bool // all that there were; guarded by mu
	rnd      *rand.Rand             // guarded by mu
	crashes  int                    // guarded by mu
	deployed bool                   // guarded by mu: workers have the new code
	over     bool                   // guarded by mu: no further worker
	logs     simLog
	deaths   atomic.Int64
	started  atomic.Int64 // runs of the plan
	creating atomic.Int64 // retries that are asked for now
	aparts   atomic.Int64 // references to values that are kept apart
	restarts atomic.Int64 // in place
	beaten   atomic.Int64 // heartbeats of hooks
	lined    atomic.Bool  // runs stood in line
	paced    atomic.Bool  // runs stood in line for a rate
	began    []simBegan   // guarded by mu
	fed      []*simFed    // guarded by mu
	acts     simActs
	last     atomic.Bool // it is looked whether all runs are over: no retry is asked for
	done     chan struct{}
	others   sync.WaitGroup // everything that runs beside
	bodies   sync.WaitGroup // of steps: they may outlive their worker
}

func simulate(t *testing.T, on *simStage, seed uint64, ring *keyring.Ring, seen *simCoverage) {
	rnd := rand.New(rand.NewPCG(seed, 1))
	g := &simGen{Rand: rnd, seed: seed}
	s := &simulation{
		simStage: on, t: t, seed: seed, plan: g.plan(), rates: simRates(rnd), rnd: rand.New(rand.NewPCG(seed, 3)),
		steps: map[string]*simStep{}, living: map[*simWorker]bool{}, workers: map[*stepwell.App]bool{}, done: make(chan struct{}),
	}
	s.plan.hasten(s.haste)
	s.rates.MaxDelay /= s.haste
	s.ring, s.plain = ring, s.below
	if ring != nil {
		s.plain = crypt.Wrap(s.below, ring)
	}
	s.deployed = s.plan.Deploy == 0
	ctx, cancel := context.WithTimeout(t.Context(), simPatience/min(s.haste, 10))
	defer cancel()
	for range 1 + rnd.IntN(2) {
		s.spawn()
	}
	if !s.deployed {
		s.others.Go(s.deploy)
	}
	for i := range s.plan.Runs {
		s.others.Go(func() { s.start(ctx, &s.plan.Runs[i], rand.New(rand.NewPCG(seed, uint64(10+i)))) })
	}
	s.startNowhere(ctx)
	s.feed(ctx)
	s.attend(ctx)
	close(s.done)
	s.stop()
	s.others.Wait()
	s.bodies.Wait()
	s.holdLimit(t.Context(), nil, true)
	s.holdSteps(t.Context(), nil, true)
	s.holdPace(t.Context())
	s.check(seen)
	s.report()
}

// simPatience is how long all may take, in virtual time; in real time it is two minutes.
const simPatience = 20 * time.Minute

// simRates draws how bad the day is.
func simRates(rnd *rand.Rand) faults.Rates {
	some := func(most float64) float64 {
		if rnd.IntN(3) == 0 {
			return 0
		}
		return rnd.Float64() * most
	}
	return faults.Rates{
		Unknown: some(.3), Storage: some(.1), Lost: some(.3), Twice: some(.3), Delay: some(.2), MaxDelay: 3 * time.Second,
		Crash: some(.15), Evict: some(.1), Most: 1 + rnd.IntN(30),
	}
}

// pass lets virtual time pass, unless the simulation is over. It reports whether it goes on.
func (s *simulation) pass(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-s.done:
	case <-ctx.Done():
	}
	return false
}

func (s *simulation) problem(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.problems = append(s.problems, fmt.Sprintf(format, args...))
}

// runs lists all runs, oldest first.
func (s *simulation) runs() (all []world.Run) {
	q := world.RunQuery{Limit: 1000}
	for {
		page, err := s.plain.Runs(context.Background(), q)
		if err != nil {
			s.problem("runs: %v", err)
			return all
		}
		for i := range page.Runs {
			r := &page.Runs[i]
			r.Input, r.InputApart = s.value(r.ID, r.Input, r.InputApart), ""
		}
		all = append(all, page.Runs...)
		if q.Cursor = page.Cursor; q.Cursor == "" {
			slices.Reverse(all)
			return all
		}
	}
}

func (s *simulation) events(run string) (all []world.Event) {
	q := world.EventQuery{}
	for {
		page, err := s.plain.Events(context.Background(), run, q)
		if err != nil {
			s.problem("events of run %s: %v", run, err)
			return all
		}
		all = append(all, page.Events...)
		if q.Cursor = page.Cursor; !page.More {
			s.whole(run, all)
			return all
		}
	}
}

// apart is how many bytes a value of a run may have in its log, in one simulation of three: so all that is not tiny is
// kept apart from it. 0: as ever, and so are inputs that are merged.
func (s *simulation) apart() int { return map[bool]int{true: 2}[s.seed%3 == 0 && s.plan.Gather == nil] }

// whole puts values that are kept apart where the log refers to them: what a log refers to is there, whoever was
// deleted.
func (s *simulation) whole(run string, events []world.Event) {
	for i := range events {
		events[i].Payload, events[i].Apart = s.value(run, events[i].Payload, events[i].Apart), ""
	}
}

// value is a payload of a run, or what it refers to.
func (s *simulation) value(run string, payload []byte, id string) []byte {
	if id == "" {
		return payload
	}
	s.aparts.Add(1)
	b, err := apart.Read(context.Background(), s.plain.Values(), run, payload, id, world.MaxApart)
	if err != nil {
		s.problem("run %s: %v", run, err)
	}
	return b
}

// outside is a client that nothing happens to.
func (s *simulation) outside() *stepwell.App {
	app, err := stepwell.New(&simClock{s.below, s}, s.withDefinitions(stepwell.Config{Name: "outside", Encryption: s.ring}))
	if err != nil {
		s.t.Fatal(err)
	}
	return app
}

// report fails the test with all that is needed to understand it.
func (s *simulation) report() {
	s.mu.Lock()
	problems := slices.Clone(s.problems)
	s.mu.Unlock()
	if len(problems) == 0 {
		return
	}
	for _, run := range s.runs() {
		s.t.Logf("run %s, %s, parent %+v, queue %+v", run.ID, run.Status, run.Parent, run.Queue)
		for _, e := range s.events(run.ID) {
			s.t.Logf("%4d %4d %s %-16s %s %s %s %d %s %s %s %s %v", e.Seq, e.Commit, e.Time.Format("15:04:05.000"), e.Type, e.ID, e.Path, e.Name,
				e.Attempt, e.Outcome, e.Token, e.Peer, e.Payload, e.Error)
		}
	}
	plan, _ := json.Marshal(s.plan)
	s.t.Logf("logs:\n%s", s.logs.text())
	s.t.Logf("plan: %s\nrates: %+v, crashes: %d", plan, s.rates, s.crashes)
	for _, p := range problems {
		s.t.Errorf("seed %d: %s", s.seed, p)
	}
	s.t.Errorf("again: go test ./internal/behaviour %s=%d -v (laws: docs/design/README.md)", s.again, s.seed)
}
