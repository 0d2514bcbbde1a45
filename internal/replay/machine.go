package replay

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stepwell/stepwell/world"
)

// Config is what a machine starts from. All of it is in the log.
type Config struct {
	Run     string
	Born    time.Time // time of run_created: part of all IDs
	Seed    uint64
	Segment int
	Build   string // of this program, for reports
	// Unread are the signals and payloads that a continued segment starts with, in order.
	Unread []world.Event
	// Strict checks at each call that it comes from the running coroutine.
	Strict bool
}

// Body is the workflow function. What it returns ends the run.
type Body func(x *Ctx) Outcome

// Outcome is how a segment ended.
type Outcome struct {
	Output   []byte
	Err      *world.Error
	Continue *Continue // the run goes on in a new segment
}

// Continue is what ContinueAsNew asked for.
type Continue struct {
	Input   []byte
	Version int // 0: the highest registered
}

// Machine evaluates one segment of one run. See the package comment.
type Machine struct {
	cfg  Config
	body Body

	ready   queue
	conds   []*cond
	coros   []*coro
	dead    int // of coros have ended
	current atomic.Pointer[coro]
	closing atomic.Bool

	queue   []world.Event // fed, not yet processed
	held    []world.Event // results while the run is paused
	open    map[string]*Op
	asked   []*Op // not yet recorded, in order
	cancels []*Op // steps whose scope was cancelled since Cancelled was last called
	logged  map[loggedKey]*world.Event
	later   bool            // while a result is delivered: the log holds another one behind it
	patches map[string]bool // decided in this segment

	unread  []world.Event // signals that nobody took, in order
	waiting []*Op         // event waits, in the order in which they were asked for
	hooks   map[string]*hook

	root      *scope
	started   bool
	paused    bool
	replaying bool
	now       time.Time
	pcg       *rand.PCG
	rnd       *rand.Rand
	order     uint64
	index     uint64
	outcome   *Outcome
	failure   error

	foreignMu sync.Mutex
	foreign   error // guarded by foreignMu
}

// loggedKey tells creations from one another: a wait's creation and its taking of a signal have the same ID.
type loggedKey struct {
	t  world.EventType
	id string
}

// New makes a machine that has seen nothing yet.
func New(cfg Config, body Body) *Machine {
	m := &Machine{cfg: cfg, body: body, root: &scope{}, unread: cfg.Unread}
	m.pcg = rand.NewPCG(cfg.Seed, uint64(cfg.Segment)+0x9e3779b97f4a7c15)
	m.rnd = rand.New(m.pcg)
	m.open = make(map[string]*Op)
	return m
}

// Outcome is how the segment ended, or nil while it goes on.
func (m *Machine) Outcome() *Outcome { return m.outcome }

// Asked lists what the code asked for and the log does not hold yet, in order. The slice is valid until the next call of Feed.
func (m *Machine) Asked() []*Op { return m.asked }

// Op returns an open operation: a step, wait or hook that the code asked for and that has not ended; or nil.
func (m *Machine) Op(id string) *Op { return m.open[id] }

// Cancelled lists the open steps whose scope was cancelled since the last call. The engine ends each: at once with [world.CodeCancelled] if no body
// runs, else when the body has ended or its time for it is up.
func (m *Machine) Cancelled() []*Op {
	c := m.cancels
	m.cancels = nil
	return c
}

// Unread are the signals that nobody has taken, in order, and Payloads those of hooks.
func (m *Machine) Unread() []world.Event { return m.unread }

// Now is the logical time: that of the last delivered event.
func (m *Machine) Now() time.Time { return m.now }

// SetReplaying says whether what is fed was lived through before; the workflow's logger is silent then.
func (m *Machine) SetReplaying(on bool) { m.replaying = on }

// Size estimates the machine's memory in bytes.
func (m *Machine) Size() int {
	n := 4096
	n += len(m.coros)*6<<10 + len(m.open)*512
	for i := range m.unread {
		n += 256 + len(m.unread[i].Payload)
	}
	return n
}

// Feed gives the machine the next events of the log; more says that the log is known to go on behind them. An error means that the
// machine is of no further use: the code diverged ([*DivergedError]), panicked ([*PanicError]), or called the Context from outside
// ([*ForeignError]).
func (m *Machine) Feed(events []world.Event, more bool) error {
	if m.failure != nil {
		return m.failure
	}
	m.queue = append(m.queue, events...)
	n := 0
	for n < len(m.queue) && m.failure == nil {
		e := &m.queue[n]
		if m.drives(e) {
			next := m.nextResult(n + 1)
			if next < 0 && more {
				break // what follows must be seen first: Patched looks ahead
			}
			m.deliver(e, m.queue[n+1:], next)
		} else {
			m.record(e)
		}
		n++
	}
	m.queue = m.queue[:copy(m.queue, m.queue[n:])]
	return m.failed()
}

// drives reports whether the event moves the machine: a result, or the start of the segment.
func (m *Machine) drives(e *world.Event) bool {
	return e.Result() || m.starts(e)
}

func (m *Machine) starts(e *world.Event) bool {
	return e.Type == world.RunStarted && m.cfg.Segment == 0 || e.Type == world.RunContinued && !m.started
}

// nextResult is the index of the next event from i on that drives the machine, or -1.
func (m *Machine) nextResult(i int) int {
	for ; i < len(m.queue); i++ {
		if m.drives(&m.queue[i]) {
			return i
		}
	}
	return -1
}

// deliver runs one turn. behind are the events after it; next is the index in the queue of the next result, or -1.
func (m *Machine) deliver(e *world.Event, behind []world.Event, next int) {
	m.later = next >= 0
	for i := range behind {
		if b := &behind[i]; m.drives(b) {
			break
		} else if b.Creation() {
			m.note(b)
		}
	}
	if e.Type == world.HookCreated || e.Type == world.HookConflict {
		m.record(e) // a result that is a creation too
	}
	m.turn(e)
	m.later = false
}

// note remembers a creation that the code has not asked for yet.
func (m *Machine) note(e *world.Event) {
	put(&m.logged, loggedKey{e.Type, e.ID}, e)
}

// turn applies one result and runs the code until it is blocked.
func (m *Machine) turn(e *world.Event) {
	if m.paused && e.Type != world.RunResumed && e.Type != world.CancelRequested {
		m.held = append(m.held, *e)
		return
	}
	switch e.Type {
	case world.RunPaused:
		m.paused = true
		return
	case world.RunResumed, world.CancelRequested:
		m.paused = false
		held := m.held
		m.held = nil
		for i := range held {
			m.turn(&held[i])
		}
	}
	if m.outcome != nil || m.failure != nil {
		return
	}
	if e.Time.After(m.now) {
		m.now = e.Time
	}
	m.apply(e)
	m.run()
}

func (m *Machine) apply(e *world.Event) {
	switch e.Type {
	case world.RunStarted, world.RunContinued:
		if m.started {
			return
		}
		m.started = true
		x := &Ctx{m: m, scope: m.root}
		m.spawn("", func() {
			out := m.body(x)
			m.finish(out)
		})
	case world.SignalReceived:
		m.signal(e)
	case world.HookReceived:
		m.payload(e)
	case world.CancelRequested:
		m.cancelScope(m.root)
	case world.HookCreated:
		if op := m.open[e.ID]; op != nil {
			op.future.resolve(nil, nil)
		}
	case world.HookConflict:
		if op := m.open[e.ID]; op != nil {
			delete(m.open, e.ID)
			delete(m.hooks, e.ID)
			op.future.resolve(nil, &ConflictError{Token: e.Token, Holder: e.Peer})
		}
	default:
		m.end(e)
	}
}

// end delivers the end of a step or a wait.
func (m *Machine) end(e *world.Event) {
	op := m.open[e.ID]
	if op == nil || !op.recorded {
		if !m.isOver(e.ID) {
			m.fail(m.unasked(e))
		}
		return
	}
	delete(m.open, e.ID)
	if e.Type == world.StepFailed {
		err := e.Error
		if err == nil {
			err = &world.Error{Message: "step failed"}
		}
		op.future.resolve(nil, err)
		return
	}
	m.dropWaiter(op)
	op.future.resolve(e.Payload, nil)
}

// isOver reports whether the entity was asked for, and its future resolved by something else than its own end: cancelled waits may still
// fall due.
func (m *Machine) isOver(id string) bool {
	op := m.open[id]
	return op != nil && op.future.done
}

// run is steps 2 to 4 of the package comment.
func (m *Machine) run() {
	for m.outcome == nil && m.failure == nil {
		if c := m.ready.pop(); c != nil {
			if !c.ended {
				c.resume()
			}
			if c.ended {
				m.bury()
			}
			continue
		}
		if !m.pollConds() {
			return
		}
	}
}

// bury forgets coroutines that have ended, now and then.
func (m *Machine) bury() {
	if m.dead++; m.dead < 64 || m.dead < len(m.coros)/2 {
		return
	}
	m.coros = slices.DeleteFunc(m.coros, func(c *coro) bool { return c.ended })
	m.dead = 0
}

// finish ends the segment; the first to do so counts.
func (m *Machine) finish(out Outcome) {
	if m.outcome == nil && m.failure == nil {
		m.outcome = &out
	}
}

func (m *Machine) fail(err error) {
	if m.failure == nil {
		m.failure = err
	}
}

func (m *Machine) failed() error {
	m.foreignMu.Lock()
	defer m.foreignMu.Unlock()
	if m.foreign != nil && m.failure == nil {
		m.failure = m.foreign
	}
	return m.failure
}

// Close unwinds what is still blocked: deferred functions of the workflow run, nothing else does. It returns when all have
// ended. A machine that was closed is of no further use.
func (m *Machine) Close() {
	m.closing.Store(true)
	for _, c := range m.coros {
		if c.ended {
			continue
		}
		var wg sync.WaitGroup
		wg.Go(c.stop) // Goexit in the coroutine ends this goroutine too
		wg.Wait()
	}
	m.coros = nil
}
