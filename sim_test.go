package stepwell_test

// This file holds the simulation: generated programs run in virtual time on workers that crash, are evicted, and whose world
// fails, delays and repeats; then the laws are held against what is left. See DESIGN §11.

import (
	"context"
	"encoding/json"
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
	"github.com/stepwell/stepwell/internal/faults"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

var (
	simSeeds = flag.Uint64("sim.seeds", 300, "how many seeds the simulation runs, from 1")
	simSeed  = flag.Uint64("sim.seed", 0, "the one seed to run instead")
)

// TestSimulation runs generated programs under generated faults. To see one again: go test -run TestSimulation -sim.seed=N -v .
func TestSimulation(t *testing.T) {
	if *simSeed != 0 {
		synctest.Test(t, func(t *testing.T) { simulate(t, *simSeed) })
		return
	}
	const shards = 4
	for shard := range uint64(shards) {
		t.Run(fmt.Sprintf("shard=%d", shard), func(t *testing.T) {
			t.Parallel()
			for seed := shard + 1; seed <= *simSeeds && !t.Failed(); seed += shards {
				synctest.Test(t, func(t *testing.T) { simulate(t, seed) })
			}
		})
	}
}

// FuzzSimulation is the same without an end: make fuzz.
func FuzzSimulation(f *testing.F) {
	for seed := range uint64(10) {
		f.Add(1_000_000 + seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		synctest.Test(t, func(t *testing.T) { simulate(t, seed) })
	})
}

// simulation is one run of one program.
type simulation struct {
	t     *testing.T
	seed  uint64
	below *memory.World
	rates faults.Rates
	run   string

	mu       sync.Mutex
	steps    map[string]*simStep // by correlation ID; guarded by mu
	problems []string            // guarded by mu
	living   map[*simWorker]bool // guarded by mu
	rnd      *rand.Rand          // guarded by mu
	crashes  int                 // guarded by mu
	logs     simLog
	deaths   atomic.Int64
	over     bool // guarded by mu: no further worker
	workers  sync.WaitGroup
}

// simLog is what the workers logged.
type simLog struct {
	mu sync.Mutex
	b  strings.Builder // guarded by mu
}

func (l *simLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// simStep is what the bodies of one step did.
type simStep struct {
	starts   int
	failures int // that were returned
	running  map[*simWorker]bool
}

// simWorker is one process, as far as the simulation has any.
type simWorker struct {
	w       *faults.World
	stop    context.CancelFunc
	evicted bool // guarded by simulation.mu: at least once
}

func simulate(t *testing.T, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 1))
	g := &simGen{Rand: rnd}
	program := g.program()
	s := &simulation{
		t: t, seed: seed, below: memory.New(), rnd: rand.New(rand.NewPCG(seed, 3)), steps: map[string]*simStep{}, living: map[*simWorker]bool{},
		run: fmt.Sprintf("sim-%d", seed), rates: simRates(rnd),
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
	defer cancel()
	for range 1 + rnd.IntN(2) {
		s.spawn()
	}
	client, err := stepwell.New(faults.New(s.below, faults.Random(seed+1, s.rates, func() {}, func() {})), stepwell.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if rnd.IntN(2) == 0 {
		client = s.anyApp() // in the process of a worker: an eager start
	}
	s.start(ctx, client, &program)
	s.signals(ctx, client, &program)
	info := s.wait(ctx)
	s.mu.Lock()
	s.over = true
	for w := range s.living {
		w.stop()
	}
	s.mu.Unlock()
	s.workers.Wait()
	s.check(&program, info)
	s.report(&program)
}

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

// spawn starts a worker process.
func (s *simulation) spawn() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return
	}
	wk := &simWorker{}
	ctx, stop := context.WithCancel(context.Background())
	wk.stop = stop
	plan := faults.Random(s.rnd.Uint64(), s.rates, func() { s.crash(wk) }, func() { s.evict(wk) })
	wk.w = faults.New(s.below, func(c faults.Call) faults.Fault { return s.mortal(c, plan(c)) })
	if s.rnd.IntN(3) == 0 {
		loss := rand.New(rand.NewPCG(s.rnd.Uint64(), 2))
		var mu sync.Mutex
		wk.w.KeepNotices(func(world.Notice) bool {
			mu.Lock()
			defer mu.Unlock()
			return loss.IntN(2) == 0
		})
	}
	cfg := stepwell.Config{
		Definitions: simWorkflow(func(ctx context.Context, n simNode) (int, error) { return s.work(ctx, wk, n) }),
		MaxRuns:     1 + s.rnd.IntN(2), MaxSteps: 1 + s.rnd.IntN(4), Strict: s.rnd.IntN(2) == 0, Name: fmt.Sprintf("worker-%d", s.crashes),
		Logger: slog.New(slog.NewTextHandler(&s.logs, nil)),
	}
	if s.rnd.IntN(2) == 0 {
		cfg.CacheRuns = -1
	}
	app, err := stepwell.New(wk.w, cfg)
	if err != nil {
		s.t.Error(err)
		return
	}
	simApps.Store(wk, app)
	s.living[wk] = true
	s.workers.Go(func() {
		defer simApps.Delete(wk)
		if err := app.Run(ctx); err != nil && !errors.Is(err, world.ErrClosed) {
			s.problem("worker: %v", err)
		}
	})
}

// mortal leaves out faults that take steps from their worker, where there were so many that the steps would rightly be taken for deadly.
func (s *simulation) mortal(c faults.Call, f faults.Fault) faults.Fault {
	if f.Before == nil && f.After == nil && (c.Op != faults.Take || f.Err == nil) || s.deaths.Add(1) <= simDeaths {
		return f
	}
	return faults.Fault{}
}

// simDeaths is how often workers die, or lose their lease: a step is given up after eight deaths.
const simDeaths = 7

// simApps are the Apps of living workers.
var simApps sync.Map

func (s *simulation) anyApp() *stepwell.App {
	s.mu.Lock()
	defer s.mu.Unlock()
	for wk := range s.living {
		if app, ok := simApps.Load(wk); ok {
			return app.(*stepwell.App)
		}
	}
	s.t.Fatal("no worker lives")
	return nil
}

// crash ends a worker process at the point where it is called; another follows.
func (s *simulation) crash(wk *simWorker) {
	wk.w.Kill()
	wk.stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.living[wk] || s.over {
		return
	}
	delete(s.living, wk)
	s.crashes++
	pause := time.Duration(s.rnd.IntN(20_000)) * time.Millisecond
	s.workers.Go(func() {
		<-time.After(pause)
		s.spawn()
	})
}

// evict ends the lease of a worker behind its back.
func (s *simulation) evict(wk *simWorker) {
	s.mu.Lock()
	wk.evicted = true
	s.mu.Unlock()
	if err := wk.w.Evict(context.Background()); err != nil {
		s.problem("evict: %v", err)
	}
}

func (s *simulation) problem(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.problems = append(s.problems, fmt.Sprintf(format, args...))
}

// work is the body of every step.
func (s *simulation) work(ctx context.Context, wk *simWorker, n simNode) (int, error) {
	info := stepwell.Info(ctx)
	s.law3(info, n.Op == "step")
	s.mu.Lock()
	st := s.steps[info.Step]
	if st == nil {
		st = &simStep{running: map[*simWorker]bool{}}
		s.steps[info.Step] = st
	}
	st.starts++
	for other := range st.running {
		if s.living[wk] && !wk.evicted && s.living[other] && !other.evicted {
			s.problems = append(s.problems, fmt.Sprintf("law 4: step %s, attempt %d runs beside another attempt", n.Name, info.Attempt))
		}
	}
	st.running[wk] = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(st.running, wk)
	}()
	if n.Takes > 0 {
		select {
		case <-time.After(n.Takes):
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n.Fails < 0 || st.failures < n.Fails {
		st.failures++
		return 0, errors.New("fails")
	}
	return n.Value, nil
}

// law3: no body starts before its start is durable, and none of a completed step. Starts of queued steps are not in the log yet.
func (s *simulation) law3(info stepwell.StepInfo, closure bool) {
	started := !closure
	for _, e := range s.events() {
		if e.ID != info.Step {
			continue
		}
		switch e.Type {
		case world.StepStarted:
			started = started || e.Attempt == info.Attempt
		case world.StepCompleted, world.StepFailed:
			s.problem("law 3: step %s, attempt %d starts after its end in event %d", info.Name, info.Attempt, e.Seq)
		}
	}
	if !started {
		s.problem("law 3: step %s, attempt %d starts before its start is in the log", info.Name, info.Attempt)
	}
}

func (s *simulation) events() (all []world.Event) {
	q := world.EventQuery{}
	for {
		page, err := s.below.Events(context.Background(), s.run, q)
		if err != nil {
			s.problem("events: %v", err)
			return all
		}
		all = append(all, page.Events...)
		if q.Cursor = page.Cursor; !page.More {
			return all
		}
	}
}

// start begins the run; a client whose answer was lost asks again.
func (s *simulation) start(ctx context.Context, client *stepwell.App, p *simNode) {
	input, err := json.Marshal(p)
	if err != nil {
		s.t.Fatal(err)
	}
	for {
		_, err := client.Start(ctx, "sim", input, stepwell.StartOptions{ID: s.run})
		if err == nil || errors.Is(err, stepwell.ErrRunExists) {
			return
		}
		if ctx.Err() != nil {
			s.t.Fatalf("seed %d: start: %v", s.seed, err)
		}
		if errors.Is(err, world.ErrClosed) {
			client = s.outside()
		}
		<-time.After(time.Second)
	}
}

// outside is a client that nothing happens to.
func (s *simulation) outside() *stepwell.App {
	app, err := stepwell.New(s.below, stepwell.Config{})
	if err != nil {
		s.t.Fatal(err)
	}
	return app
}

// signals sends each event that the program can wait for, at a time of its own, with a delivery ID, until it was accepted.
func (s *simulation) signals(ctx context.Context, client *stepwell.App, p *simNode) {
	type send struct {
		at time.Duration
		n  *simNode
	}
	var sends []send
	s.mu.Lock()
	p.walk(func(n *simNode) {
		if n.Op == "event" {
			sends = append(sends, send{time.Duration(s.rnd.IntN(60_000)) * time.Millisecond, n})
		}
	})
	s.mu.Unlock()
	for _, one := range sends {
		s.workers.Go(func() {
			<-time.After(one.at)
			payload := json.RawMessage(fmt.Sprint(one.n.Value))
			for by := client; ctx.Err() == nil; <-time.After(time.Second) {
				err := by.Signal(ctx, s.run, one.n.Name, payload, stepwell.DeliveryID("d-"+one.n.Name))
				switch {
				case err == nil, errors.Is(err, stepwell.ErrTerminal):
					return
				case errors.Is(err, world.ErrClosed):
					by = s.outside()
				}
			}
		})
	}
}

// wait waits for the end of the run. It is generous: virtual time costs little.
func (s *simulation) wait(ctx context.Context) stepwell.RunInfo {
	out := s.outside()
	for {
		info, err := out.Get(context.Background(), s.run)
		if err == nil && info.Status.Terminal() {
			return info
		}
		select {
		case <-ctx.Done():
			s.problem("law 6: the run is %s after two hours: queue %+v, %v", info.Status, info.Queue, err)
			if info.Queue != nil && info.Queue.Blocked != nil {
				s.problem("it is blocked: %+v", *info.Queue.Blocked)
			}
			stats, err := s.below.Stats(context.Background())
			s.problem("workers: %+v, %v", stats.Workers, err)
			return info
		case <-time.After(time.Second):
		}
	}
}

// report fails the test with all that is needed to understand it.
func (s *simulation) report(p *simNode) {
	s.mu.Lock()
	problems := slices.Clone(s.problems)
	s.mu.Unlock()
	if len(problems) == 0 {
		return
	}
	for _, e := range s.events() {
		s.t.Logf("%4d %4d %s %-16s %s %s %d %s %v", e.Seq, e.Commit, e.Time.Format("15:04:05.000"), e.Type, e.ID, e.Name, e.Attempt, e.Payload, e.Error)
	}
	program, _ := json.Marshal(p)
	s.t.Logf("logs:\n%s", s.logs.b.String())
	s.t.Logf("program: %s\nrates: %+v, crashes: %d", program, s.rates, s.crashes)
	for _, p := range problems {
		s.t.Errorf("seed %d: %s", s.seed, p)
	}
	s.t.Errorf("again: go test -run TestSimulation -sim.seed=%d -v .", s.seed)
}
