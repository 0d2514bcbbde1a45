package engine

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stepwell/stepwell/internal/codec"
	"github.com/stepwell/stepwell/internal/logs"
	"github.com/stepwell/stepwell/internal/metrics"
	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/observe"
	"github.com/stepwell/stepwell/world"
)

var zeroTime time.Time

// DefaultDrain is how long bodies have to end by themselves on shutdown.
const DefaultDrain = 10 * time.Second

// Config is what a worker needs. Zero values mean the defaults in brackets.
type Config struct {
	World     world.World
	Workflows []*Workflow
	Steps     []*Step
	Name      string        // for people: host and process [none]
	Build     string        // of the program, noted in the log [none]
	Runs      int           // sessions at once [256]
	StepSlots int           // step bodies at once [256]
	Lease     time.Duration // how long the worker is believed alive after a heartbeat [10 s]
	Heartbeat time.Duration // between heartbeats while it owns anything [1 s, at most a third of the lease]
	Poll      time.Duration // between looks for work, beside notifications [5 s, or what a world.Poller says]
	Sweep     time.Duration // between sweeps of ended runs [5 min]; below 0: never
	// FailUnknown is for how long no live worker has had the workflow and version of a run that is ready, until the run fails. [never]
	FailUnknown time.Duration
	Drain       time.Duration // for bodies to end by themselves on shutdown [10 s]
	Idle        time.Duration // on demand: for how long a worker with nothing to do stays [30 s]

	Stall       time.Duration // workflow code that has not given control back for so long is reported [5 s]
	CancelGrace time.Duration // for a body to return after its run was cancelled [10 s]
	CacheRuns   int           // hibernating machines kept [1,000]; below 0: none
	CacheBytes  int           // and their estimated bytes at most [64 MiB]
	MaxPayload  int           // bytes of what is sent [1 MiB]
	MaxValue    int           // bytes of one encoded value [64 MiB]
	// Whole is a payload of a run, or the value that it refers to, which is kept apart under an ID; "": it is the value.
	// Default: the payload.
	Whole  func(ctx context.Context, run string, payload []byte, apart string) ([]byte, error)
	Unread int // payloads that a run may keep that no wait has taken, about: senders are told that it is full then [10,000]
	// Clock is the system's clock. It is read once; from then on the monotonic clock counts [time.Now].
	Clock  func() time.Time
	Strict bool         // check determinism at every suspension
	Logger *slog.Logger // [discard]
	// Observer is told what happens. [none]
	Observer *observe.Observer
	// Secret is what the tokens of hooks come from that the code did not choose, until the log has them [random bytes of this worker's own].
	Secret []byte
	// Book knows what definitions say. [a new one of World]
	Book *Book
	// Joined is told each time the worker has joined, with the most that ended runs were kept before, and are now, as
	// the world has it; 0: nobody says it. [nothing]
	Joined func(before, now time.Duration)
	App    any // whose engine it is: see [AppOf]
	// Record turns an error into what the log keeps of it.
	Record func(error) *world.Error
}

func (c *Config) defaults() {
	set := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	setInt := func(n *int, v int) {
		if *n == 0 {
			*n = v
		}
	}
	setInt(&c.Runs, 256)
	setInt(&c.StepSlots, 256)
	setInt(&c.CacheRuns, 1000)
	setInt(&c.CacheBytes, 64<<20)
	setInt(&c.MaxPayload, world.DefaultMaxPayload)
	setInt(&c.MaxValue, world.DefaultMaxValue)
	if c.Whole == nil {
		c.Whole = func(_ context.Context, _ string, payload []byte, _ string) ([]byte, error) { return payload, nil }
	}
	setInt(&c.Unread, 10_000)
	set(&c.Lease, 10*time.Second)
	set(&c.Heartbeat, min(time.Second, c.Lease/3))
	set(&c.Sweep, 5*time.Minute)
	set(&c.Drain, DefaultDrain)
	set(&c.Idle, 30*time.Second)
	set(&c.Stall, 5*time.Second)
	set(&c.CancelGrace, 10*time.Second)
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Secret == nil {
		c.Secret = make([]byte, 32)
		_, _ = rand.Read(c.Secret) // never fails
	}
}

// Engine is one worker. It is safe for concurrent use.
type Engine struct {
	cfg        Config
	able       world.Abilities // of cfg.World
	code       code
	runs       *slots
	steps      *slots
	quarantine quarantine
	cache      *cache

	holdings holdings
	flights  flights
	books    books
	shuns    shuns
	left     left
	stalls   stalls
	says     teller
	clock    worldClock
	lease    lease
	pulse    pulse
	metrics  *metrics.Sender

	// What a shift begins with is kept for all that begins in it, on whatever goroutine.
	workCtx   context.Context         // of commits: ends when drain gives up
	bodyCtx   context.Context         // of bodies: ends when drain stops waiting for them
	endBodies context.CancelCauseFunc //
	worker    atomic.Pointer[string]

	halt   atomic.Pointer[context.CancelCauseFunc] // ends Run with an error; nil while it does not run
	works  atomic.Bool                             // it claims its work by itself, or is at work on demand
	plain  atomic.Bool                             // runs that are started here are created plain: it works on demand
	demand demand

	bodies  sync.WaitGroup
	live    atomic.Int64 // bodies that have not returned
	unwound sync.WaitGroup
	returns sync.WaitGroup // of what the worker holds and does not know of

	awaiters awaiters
	desks    sync.Pool // of *desk

	wake chan struct{} // take soon
}

// New checks the definitions and makes a worker that does nothing yet.
func New(cfg Config) (*Engine, error) {
	cfg.defaults()
	e := &Engine{
		cfg:      cfg,
		awaiters: awaiters{byRun: map[string][]chan Ended{}},
		wake:     make(chan struct{}, 1),
	}
	e.says = teller{Seldom: logs.NewSeldom(cfg.Logger), world: cfg.World, has: e.code.has}
	e.demand.init()
	e.able = cfg.World.Abilities()
	if e.cfg.Book == nil {
		e.cfg.Book = NewBook(cfg.World, 0)
	}
	e.metrics = metrics.NewSender(cfg.World, cfg.Logger)
	e.clock.init(cfg.Clock(), e.able.Timekeeper)
	e.lease.init()
	e.pulse.init()
	e.holdings.init(&e.pulse)
	e.runs = newSlots(cfg.Runs, e.kick)
	e.steps = newSlots(cfg.StepSlots, e.kick)
	e.quarantine.init()
	e.cache = newCache(max(cfg.CacheRuns, 0), cfg.CacheBytes, e.drop)
	none := ""
	e.worker.Store(&none)
	if err := e.code.init(cfg.Workflows, cfg.Steps); err != nil {
		return nil, err
	}
	return e, nil
}

func (e *Engine) workerID() string { return *e.worker.Load() }

// worldNow is the world's clock: as this worker knows it, or, where it does not work, asked for.
func (e *Engine) worldNow(ctx context.Context) (time.Time, error) {
	if e.lease.runs() {
		return e.clock.now(), nil
	}
	s, err := e.cfg.World.Stats(ctx)
	if err != nil {
		return time.Time{}, fmt.Errorf("ask for the time: %w", err)
	}
	return s.Now, nil
}

// retire keeps the machine of a hibernating run, or unwinds it. In strict mode it keeps its witnesses, or what they found.
func (e *Engine) retire(s *session) {
	keep := !s.course.state().Status.Terminal() && s.birth == nil && e.cfg.CacheRuns >= 0
	ended := s.stay.isOver() && !s.stay.isLost() && s.turn.empty() // all that the state holds is committed: with a release
	switch {
	case keep && e.cfg.Strict && ended:
		if kept := s.eval.kept(s.course.state(), s.course.fault().cause()); kept != nil {
			e.cache.put(kept)
		}
	case keep && !e.cfg.Strict && !s.course.blocked() && ended && len(s.eval.machine().Asked()) == 0 && !s.bodies.some():
		e.cache.put(&cached{run: s.own.run, wf: s.eval.workflow(), state: s.course.state(), m: s.eval.machine()})
		return
	}
	if s.eval.machine() != nil {
		e.unwind(s.eval.machine())
	}
}

// drop unwinds what was cached of a run.
func (e *Engine) drop(v *cached) {
	if v.m != nil {
		e.unwind(v.m)
	}
	for _, w := range v.witnesses {
		e.unwind(w.m)
	}
}

// unwind ends a machine on a goroutine of its own, as deferred functions of the workflow run.
func (e *Engine) unwind(m *replay.Machine) { e.unwound.Go(m.Close) }

// kick makes the claim loop look for work soon.
func (e *Engine) kick() { nudge(e.wake) }

func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// record turns the error of an attempt into what the log keeps.
func (e *Engine) record(err error, where string) *world.Error {
	rec := e.cfg.Record(err)
	kept := *rec // what came from the log is somebody else's too
	rec = &kept
	if p, ok := codec.As[*bodyPanic](err); ok {
		rec.Code, rec.Stack = world.CodePanic, trimStack(p.stack)
		_, rec.Where = replay.AuthorsStack(p.stack)
	}
	if rec.Where == "" {
		rec.Where = where
	}
	return rec
}

func (e *Engine) dropped(run string, ev *world.Event, err error) {
	e.cfg.Logger.Info("mail was dropped", "run_id", run, "type", string(ev.Type), "err", err)
}

func retryPause(try int) time.Duration {
	return min(50*time.Millisecond<<min(try, 6), 2*time.Second)
}
