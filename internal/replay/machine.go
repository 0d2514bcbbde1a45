package replay

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stepwell/stepwell/world"
)

// Config is what a machine starts from. All of it is in the log, but for Secret.
type Config struct {
	Run     string
	Created time.Time // time of run_created: part of all IDs
	Seed    uint64
	Segment int
	Build   string // of this program, for reports
	Worker  string // its name, for the same
	// Unread are the signals and payloads that a continued segment starts with, in order.
	Unread []world.Event
	// Hooks are the open hooks that a continued segment starts with; code that asks for the token of one binds to it.
	Hooks []*world.Hook
	// Attributes are those that the segment starts with.
	Attributes map[string]json.RawMessage
	// Strict holds inputs against the recorded ones, and notes what the code asks for: see [Mismatch].
	Strict bool
	// Fork: the waits that the run started with keep their deadlines, whenever they were asked for.
	Fork bool
	// Fails reports whether a panic fails the run, as an error that its code returned would, instead of blocking it; nil: none does. See [Ctx.Crash].
	Fails func(*PanicError) bool
	// Secret is what the tokens of hooks come from that the code did not choose and the log does not hold. It is this process's own.
	Secret []byte
}

// ErrFurther says that a machine must know more of the log before it can go on: the code opened a hook without a chosen token, whose record may stand
// behind what was fed. The machine is of no further use; another one, fed with all of the segment at once, is.
var ErrFurther = errors.New("the record of a hook may stand farther on in the log")

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
	conds   line[*cond]
	coros   []*coro
	dead    int // of coros have ended
	named   int // names that coroutines count the uses of
	current atomic.Pointer[coro]
	resumes atomic.Uint64 // how often workflow code got control
	closing atomic.Bool

	queue   []world.Event // fed, but what follows them is not known yet
	held    []world.Event // results while the run is paused
	open    map[string]*Op
	asked   asked
	asks    uint64 // how many were
	past    past
	cancels []*Op // steps and children that were cancelled since Cancelled was last called

	// While events are processed: all that are known, the one at hand, and what has been read of those behind it.
	fed     []world.Event
	at      int
	more    bool                // the log goes on behind them
	matched int                 // creations before it were asked for, or will be reported: see locates
	sought  int                 // the creation after the one that recordedPeer found last
	ahead   ahead               // what Patched has read of them in this turn
	behind  behind              // what follows a held result in this turn
	patches map[string]decision // decided in this segment

	attributes  map[string]int // bytes by name, of those of the run as the code sees it; nil: it has set none
	decisions   decisions      // about payloads, in fed
	asides      map[string]int // payloads that were set aside in this segment, by the name of their event or hook
	accepted    map[string]int // records of payloads that were taken, in the same way
	acceptances []acceptance   // of this turn, with nothing asked for behind them

	boxes  map[string]*letterbox
	hooks  map[string]*hook // by ID, as long as the log may hold payloads for them
	tokens map[string]*hook
	own    map[string]string // of a fork: tokens that its code was given, and those that it asked for

	root      *scope
	started   bool
	limits    limits
	paused    bool
	timedOut  bool // the cancel came as the run took too long
	replaying atomic.Bool
	now       time.Time
	pcg       *rand.PCG
	rnd       *rand.Rand
	order     uint64
	index     uint64
	outcome   *Outcome
	failure   error
	thrown    thrown

	transcript []said // strict mode
	strayed    string // ID of what the event is about at which the code diverged

	local any // see Ctx.Local

	foreign foreign
}

// New makes a machine that has seen nothing yet.
func New(cfg Config, body Body) *Machine {
	m := &Machine{cfg: cfg, body: body, root: &scope{}, open: make(map[string]*Op)}
	m.pcg = source(cfg.Seed, cfg.Segment)
	m.rnd = rand.New(m.pcg)
	for _, h := range cfg.Hooks {
		m.carry(h)
	}
	for i := range cfg.Unread {
		e := &cfg.Unread[i]
		if h := m.hooks[e.ID]; e.Type == world.HookReceived && h != nil {
			h.unread = append(h.unread, &letter{seq: e.Seq, payload: e.Payload})
		} else if e.Type == world.SignalReceived {
			m.keep(e)
		}
	}
	return m
}

// source is the random sequence of a segment: a function of the seed, from which the seed cannot be found.
func source(seed uint64, segment int) *rand.PCG {
	b := binary.BigEndian.AppendUint64([]byte("random\x00"), seed)
	sum := sha256.Sum256(binary.AppendUvarint(b, uint64(segment)))
	return rand.NewPCG(binary.BigEndian.Uint64(sum[:]), binary.BigEndian.Uint64(sum[8:]))
}

// carry takes over a hook that was open when the last segment ended.
func (m *Machine) carry(h *world.Hook) {
	op := &Op{Type: world.HookCreated, ID: h.ID, Key: h.Key, Input: h.Metadata, Token: h.Token, Chosen: h.Chosen, scope: m.root, recorded: true}
	op.future = m.future(op)
	m.opened(op, m.root)
	m.addHook(op)
	if asked, ok := world.AskedIn(m.cfg.Run, h.Peer, h.Token); ok && h.Chosen { // a fork has another token than its code asks for
		op.hook.asked = asked
		put(&m.tokens, asked, op.hook)
		put(&m.own, h.Token, asked)
	}
	op.hook.granted = true
	op.future.resolve(nil, nil)
}

// Outcome is how the segment ended, or nil while it goes on.
func (m *Machine) Outcome() *Outcome { return m.outcome }

// Asked lists what the code asked for and the log does not hold yet, in order. The slice is valid until the next call of Feed.
func (m *Machine) Asked() []*Op { return m.asked.list() }

// Op returns an open operation: a step, wait or hook that the code asked for and that has not ended; or nil.
func (m *Machine) Op(id string) *Op { return m.open[id] }

// Cancelled lists the open steps that were cancelled since the last call, by themselves or with their scope. The engine ends each: at once with
// [world.CodeCancelled] if no body runs, else when the body has ended or its time for it is up. Of children, for which the code waits no longer, it ends the
// run too, unless that is detached.
func (m *Machine) Cancelled() []*Op {
	c := m.cancels
	m.cancels = nil
	return c
}

// Now is the logical time: that of the last delivered event.
func (m *Machine) Now() time.Time { return m.now }

// SetReplaying says whether what is fed was lived through before; the workflow's logger is silent then.
func (m *Machine) SetReplaying(on bool) { m.replaying.Store(on) }

// Size estimates the machine's memory in bytes: with the inputs of what is open, and what the code says that it holds
// of large values. The rest of what it has made is not known.
func (m *Machine) Size() int {
	n := 4096 + len(m.coros)*6<<10 + len(m.open)*768 + m.named*96 + len(m.held)*640
	for _, op := range m.open {
		n += len(op.Input)
	}
	if kept, ok := m.local.(interface{ Holds() int }); ok {
		n += kept.Holds()
	}
	for _, b := range m.boxes {
		for _, l := range b.unread.items[b.unread.from:] {
			n += 64 + len(l.payload)
		}
	}
	for _, h := range m.hooks {
		for _, l := range h.unread {
			n += 64 + len(l.payload)
		}
	}
	return n
}

// Feed gives the machine the next events of the log; more says that the log is known to go on behind them: their results are then delivered no
// sooner than the next one is known. An error means that the machine is of no further use: the code diverged ([*DivergedError]), panicked
// ([*PanicError]), or called the Context from outside ([*ForeignError]). The machine keeps payloads, not events.
func (m *Machine) Feed(events []world.Event, more bool) error {
	if err := m.failed(); err != nil {
		return err
	}
	m.fed, m.at, m.matched, m.sought, m.more, m.decisions = events, 0, 0, 0, more, decisions{}
	if len(m.queue) > 0 {
		m.queue = append(m.queue, events...)
		m.fed = m.queue
	}
	known := 0 // up to here the log is known to hold no further result
	for m.at < len(m.fed) && m.failure == nil {
		e := &m.fed[m.at]
		if !m.drives(e) {
			m.record(e)
			m.at++
			continue
		}
		if more {
			if known = m.nextResult(max(known, m.at+1)); known == len(m.fed) {
				break // what follows must be seen first: Patched looks ahead
			}
		}
		m.deliver(e)
		m.at++
	}
	m.queue = append(m.queue[:0:0], m.fed[m.at:]...)
	m.fed, m.at, m.matched = nil, 0, 0
	if !more && m.failure == nil {
		m.checkPast()
	}
	return m.failed()
}

// drives reports whether the event moves the machine: a result, or the start of the segment.
func (m *Machine) drives(e *world.Event) bool {
	return e.Result() || m.starts(e)
}

func (m *Machine) starts(e *world.Event) bool {
	return e.Type == world.RunStarted && m.cfg.Segment == 0 || e.Type == world.RunContinued && !m.started
}

// decides reports whether an event says what became of a chosen token: a result, and a creation too.
func decides(e *world.Event) bool {
	return e.Type == world.HookCreated && e.Chosen || e.Type == world.HookConflict
}

// nextResult is the index of the next event from i on that drives the machine and is not the record of a hook, which may come from the same turn;
// or the number of events.
func (m *Machine) nextResult(i int) int {
	for i < len(m.fed) && (!m.drives(&m.fed[i]) || decides(&m.fed[i])) {
		i++
	}
	return i
}

// deliver runs one turn.
func (m *Machine) deliver(e *world.Event) {
	m.ahead = ahead{}
	if decides(e) {
		m.record(e)
	}
	m.advance(e)
}

// advance applies one result and runs the code until it is blocked.
func (m *Machine) advance(e *world.Event) {
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
			switch {
			case e.Type == world.CancelRequested:
				m.behind = aCancel
			case i < len(held)-1:
				m.behind = aResult
			default:
				m.behind = nothing
			}
			m.advance(&held[i])
		}
		m.behind = nothing
	}
	switch {
	case m.failure != nil:
		return
	case m.outcome != nil:
		m.late(e)
		return
	}
	if e.Time.After(m.now) {
		m.now = e.Time.UTC()
	}
	m.apply(e)
	m.run()
	m.settleAcceptances()
}

// behind is what follows a result that was held while the run was paused.
type behind int

const (
	nothing behind = iota
	aResult        // another one
	aCancel        // which ended the pause
)

func (m *Machine) apply(e *world.Event) {
	switch e.Type {
	case world.RunStarted, world.RunContinued:
		m.start(e)
	case world.SignalReceived:
		m.signal(e)
	case world.HookReceived:
		m.payload(e)
	case world.CancelRequested:
		m.timedOut = e.Error != nil && e.Error.Code == world.CodeTimeout
		m.cancelScope(m.root)
	case world.HookCreated, world.HookConflict:
		m.decided(e)
	case world.StepCompleted, world.StepFailed, world.WaitCompleted:
		m.end(e)
	}
}

func (m *Machine) start(e *world.Event) {
	if m.started {
		return
	}
	m.started = true
	m.limits = limits{cmp.Or(e.MaxPayload, world.DefaultMaxPayload), cmp.Or(e.MaxValue, world.DefaultMaxValue)}
	call(m)
}

// limits are what the segment's code is held to, in bytes, as the event says that began the segment.
type limits struct{ payload, value int }

// MaxPayload is how many bytes the code may send at once.
func (x *Ctx) MaxPayload() int { return x.m.limits.payload }

// MaxValue is how many bytes one value may have that the code hands over.
func (x *Ctx) MaxValue() int { return x.m.limits.value }

// call runs the workflow's function, or, where code has panicked, what follows that.
func call(m *Machine) {
	x := &Ctx{m: m, scope: m.root}
	m.spawn("", func() { m.finish(m.body(x)) })
}

// late takes note of what comes after the code has come to its end: payloads stay unread, and results are ignored, but nobody may have
// asked for them.
func (m *Machine) late(e *world.Event) {
	switch e.Type {
	case world.SignalReceived:
		if e.ID == "" {
			m.keep(e)
		}
	case world.HookReceived:
		m.payload(e)
	case world.StepCompleted, world.StepFailed, world.WaitCompleted:
		m.end(e)
	}
}

// end delivers the end of a step or a wait. One that a cancel, a signal or a condition has ended for the code already only ends in the
// log.
func (m *Machine) end(e *world.Event) {
	op := m.open[e.ID]
	switch {
	case op == nil || op.hook != nil || !op.recorded && !op.future.done:
		m.fail(m.unasked(e))
		return
	case op.future.done:
		if i := m.asked.find(world.WaitCompleted, op.ID); i >= 0 {
			m.asked.remove(i) // it has ended otherwise
		}
		m.ended(op)
		return
	}
	m.ended(op)
	op.attempt = e.Attempt
	if e.Type != world.StepFailed {
		op.future.apart = e.Apart
		op.future.resolve(e.Payload, nil)
		if r := op.receiver; r != nil && !r.gone() {
			r.end(nil, ErrNoPayload)
		}
		m.stopWaiting(op)
		return
	}
	err := e.Error
	if err == nil {
		err = &world.Error{Message: "step failed"}
	}
	op.future.resolve(nil, err)
}

// run is steps 2 to 4 of the package comment.
func (m *Machine) run() {
	for m.outcome == nil && m.failure == nil {
		c := m.ready.pop()
		if c == nil {
			if !m.pollConds() {
				return
			}
			continue
		}
		c.resume()
		if c.ended {
			m.bury()
		}
	}
}

// bury forgets coroutines that have ended, now and then.
func (m *Machine) bury() {
	if m.dead++; m.dead < 64 || m.dead < len(m.coros)/2 {
		return
	}
	m.coros = slices.DeleteFunc(m.coros, func(c *coro) bool {
		if c.ended {
			m.named -= len(c.names)
		}
		return c.ended
	})
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

// Sound reports whether the machine has not failed, nor was called from outside.
func (m *Machine) Sound() bool { return m.failed() == nil }

func (m *Machine) failed() error {
	if err := m.foreign.err(); err != nil { // what else went wrong may come of it
		m.failure = err
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
