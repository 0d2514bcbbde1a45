package stepwelltest

// This file holds a life: a world with its worker, in a bubble of testing/synctest. The test stays outside, where it may use
// anything; what it does to the workflows is done for it inside. While the bubble waits for the test its clock stands still, as
// what it waits on comes from outside.

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/faults"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/world"
)

// forever is longer than any test's time: what the engine does from time to time is not to be done then.
const forever = 100 * 365 * 24 * time.Hour

// life is one. Its fields but the channels belong to the bubble.
type life struct {
	env   *Env
	acts  chan func()
	acted chan bool // whether the last act returned; false: it ended its goroutine
	over  chan struct{}
	busy  atomic.Bool     // with an act
	ctx   context.Context // of the bubble: acts of the test come from outside of it

	place   Place
	bridge  *bridge // nil: the world is in the bubble
	world   *seeded
	client  *stepwell.App
	started []string // runs, in the order in which the test started them

	mu      sync.Mutex
	worker  *worker        // guarded by mu
	workers sync.WaitGroup // that live, or have not quite died
	fault   error          // of a worker; guarded by mu
	bodies  sync.WaitGroup // of steps, that run
}

// worker is an App that works until it is stopped or killed.
type worker struct {
	world *faults.World
	stop  context.CancelFunc
}

// begin starts a life, whose worker meets the faults of a plan.
func (e *Env) begin(plan func(*life) faults.Schedule) *life {
	e.t.Helper()
	place, err := e.options.Store(e.t)
	if err != nil {
		e.t.Fatal(err)
	}
	l := &life{env: e, place: place, acts: make(chan func()), acted: make(chan bool), over: make(chan struct{})}
	if place.SetTime != nil {
		l.bridge = newBridge(place.SetTime)
	}
	t, ok := e.t.(*testing.T)
	if !ok {
		t = new(testing.T) // a bubble needs one, and reports nothing to it
	}
	go func() {
		defer close(l.over)
		synctest.Test(t, l.live)
	}()
	l.call(func() {
		l.pass(time.Until(e.options.Start))
		if err = l.openWorld(); err != nil {
			return
		}
		var faulty faults.Schedule
		if plan != nil {
			faulty = plan(l)
		}
		l.hire(faulty)
	})
	if err != nil {
		l.close()
		e.t.Fatal(err)
	}
	return l
}

// live is the bubble's first goroutine.
func (l *life) live(*testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	l.ctx = ctx
	for do := range l.acts {
		l.acted <- returns(do)
	}
	cancel()
	l.mu.Lock()
	if l.worker != nil {
		l.worker.stop()
	}
	l.mu.Unlock()
	l.workers.Wait()
	l.bodies.Wait() // those that do not heed their context: a bubble that ends before them ends the process
	if l.world != nil {
		if err := l.world.Close(); err != nil {
			l.fail(fmt.Errorf("close the store: %w", err))
		}
	}
}

// openWorld opens the world, and a client of it. It is called in the bubble.
func (l *life) openWorld() error {
	open := l.place.Open
	if l.bridge != nil {
		open = func() (world.World, error) { return l.bridge.open(l.ctx, l.place.Open) }
	}
	w, err := open()
	if err != nil {
		return err
	}
	l.world = newSeeded(w)
	l.client, err = stepwell.New(l.world, stepwell.Config{Name: "test", Logger: slog.New(slog.DiscardHandler), MaxPayload: l.env.options.MaxPayload, Definitions: l.env.options.Definitions})
	return err
}

// returns calls fn and reports whether it came back, or ended its goroutine, as FailNow does.
func returns(fn func()) (ok bool) {
	var wg sync.WaitGroup
	wg.Go(func() {
		fn()
		ok = true
	})
	wg.Wait()
	synctest.Wait()
	return ok
}

// call does something in the bubble and returns when nothing more happens there without time.
func (l *life) call(fn func()) {
	l.env.t.Helper()
	if !l.busy.CompareAndSwap(false, true) {
		l.env.t.Fatal("this test's environment is used inside Do, or by two goroutines at once")
	}
	l.env.inOrder()
	l.acts <- fn
	ok := <-l.acted
	l.env.inOrder()
	l.busy.Store(false)
	l.env.report()
	if !ok {
		runtime.Goexit() // as what was called in the bubble did
	}
}

// close ends the bubble, and removes what its world has left.
func (l *life) close() {
	l.env.t.Helper()
	close(l.acts)
	<-l.over
	if l.bridge != nil {
		l.bridge.end()
	}
	if l.place.Remove != nil {
		if err := l.place.Remove(); err != nil {
			l.env.t.Errorf("remove the store: %v", err)
		}
	}
}

func (l *life) perform(a act) (err error) {
	l.call(func() { err = a.do(l) })
	if err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		err = l.fault
	}
	return err
}

// pass lets time pass.
func (l *life) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// hire starts a worker.
func (l *life) hire(plan faults.Schedule) {
	cfg := l.env.options.Config
	cfg.Strict, cfg.Lease, cfg.Poll, cfg.SweepInterval, cfg.Drain = true, forever, forever, -1, 1
	cfg.CacheRuns, cfg.CacheBytes = 0, 0 // strict mode holds what lived against what is replayed
	kit.Set(&cfg, kit.Overrides{Body: l.body, Stall: forever})
	w := &worker{world: faults.New(l.world, plan)}
	app, err := stepwell.New(w.world, cfg)
	if err != nil {
		l.fail(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	w.stop = stop
	l.mu.Lock()
	l.worker = w
	l.mu.Unlock()
	l.workers.Go(func() {
		if err := app.Run(ctx); err != nil && ctx.Err() == nil {
			l.fail(fmt.Errorf("worker: %w", err))
		}
	})
}

// body runs in the place of all bodies.
func (l *life) body(ctx context.Context, input []byte, own kit.RealBody) ([]byte, error) {
	l.bodies.Add(1)
	defer l.bodies.Done()
	return l.env.body(ctx, input, own)
}

func (l *life) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault = err
}

// kill lets the worker die where it stands: for the world, and for all that it has not yet written. Another takes its place at once.
func (l *life) kill() {
	l.mu.Lock()
	dead := l.worker
	l.mu.Unlock()
	dead.world.Kill()
	if err := l.world.Leave(context.Background(), dead.world.Worker()); err != nil {
		l.fail(err)
	}
	dead.stop()
	l.hire(nil)
}

func (l *life) sendHook(token string, payload any) error {
	b, err := json.Marshal(payload)
	if err != nil {
		return err
	}
	return l.client.SendHook(l.ctx, token, b)
}

// row reads a run. It is called in the bubble.
func (l *life) row(run string) (world.Run, error) { return l.world.Run(l.ctx, run) }

// open lists the runs that are not over. It is called in the bubble.
func (l *life) open() (list []stepwell.RunInfo) {
	for r, err := range l.client.List(l.ctx, stepwell.ListFilter{Status: []world.Status{world.Pending, world.Running}}) {
		if err == nil {
			list = append(list, r)
		}
	}
	return list
}

// blocked tells which runs cannot go on.
func (l *life) blocked() map[string]*world.Block {
	found := map[string]*world.Block{}
	l.call(func() {
		for _, r := range l.open() {
			if r.Queue != nil && r.Queue.Blocked != nil {
				found[r.ID] = r.Queue.Blocked
			}
		}
	})
	return found
}
