// Sequences: the same calls, drawn at random, are made on two worlds, and what can be seen of the one is held against the other.

package worldtest

import (
	cmpx "cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stepwell/stepwell/world"
)

// Alike says how many sequences of calls to make on two stores.
type Alike struct {
	// of the first sequence, then counting up; 0: a new one each time, which is logged
	Seed      uint64
	Sequences int
	Calls     int // in each

	// Slow is for a store that learns of waiting work, and of what other workers hold, a moment
	// late. A claim then asks by name for what the reference gave.
	Slow bool
}

// RunAlike compares a store with a reference: the same calls must return the same answers, and all
// data must read the same. It ignores the numbers of inbox rows, and compares times from the
// stores' clocks only roughly. At a difference it shows the shortest sequence that it found, with
// its seed.
func RunAlike(t *testing.T, a Alike, reference, open func(testing.TB) world.World) {
	if a.Seed == 0 {
		a.Seed = uint64(time.Now().UnixNano())
	}
	t.Logf("the seed is %d", a.Seed)
	for i := range a.Sequences {
		seed := a.Seed + uint64(i)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, 0))
			calls := make([]call, a.Calls)
			for i := range calls {
				calls[i] = call{rng.Uint32(), rng.Uint64()}
			}
			try := func(calls []call) *pair {
				p := newPair(t, a.Slow, reference(t), open(t))
				p.play(calls)
				return p
			}
			p := try(calls)
			if p.difference == "" {
				return
			}
			calls = calls[:p.at+1]
			for end, size := time.Now().Add(patience), len(calls)/2; size > 0 && time.Now().Before(end); size /= 2 { // without what is not needed for it
				for from := 0; from+size < len(calls); {
					fewer := slices.Concat(calls[:from], calls[from+size:])
					if shorter := try(fewer); shorter.difference != "" {
						calls, p = fewer[:shorter.at+1], shorter
					} else {
						from += size
					}
				}
			}
			t.Errorf("sequence %d: after\n%s\nthe worlds differ (-reference +other):\n%s", seed, strings.Join(p.said, "\n"), p.difference)
		})
	}
}

// call is one drawn call: which, and where its choices come from. It means something whatever was called before, so a sequence can be cut anywhere.
type call struct {
	what    uint32
	choices uint64
}

// pair are two worlds to which the same happens. What is called goes by what the reference has answered.
type pair struct {
	testing.TB
	worlds  [2]world.World
	slow    bool // see [Alike]
	began   time.Time
	n       int // entities so far, to make new names of
	rng     *rand.Rand
	at      int      // the call at hand
	said    []string // what was called
	workers []string
	runs    []string
	owned   []owned
	tasks   []world.Task
	past    []*world.Commit

	difference string
}

// owned is a run that a worker was given.
type owned struct {
	run, worker string
	claim       int64
}

const (
	alikeLease = 100 * time.Hour

	// What a world's clock says is compared so far: no other time of a sequence lies between before and after.
	before = 25 * time.Second
	after  = 50 * time.Minute
)

func newPair(t testing.TB, slow bool, reference, other world.World) *pair {
	p := &pair{TB: t, slow: slow, worlds: [2]world.World{reference, other}, began: world.Now()}
	for range 2 {
		p.join()
	}
	return p
}

// play makes calls until the worlds differ, and closes both.
func (p *pair) play(calls []call) {
	defer func() {
		for _, w := range p.worlds {
			if err := w.Close(); err != nil {
				p.Errorf("close: %v", err)
			}
		}
	}()
	kinds := []struct {
		weight uint32
		call   func()
	}{
		{4, p.create}, {3, p.createOwned}, {7, p.claimSome}, {2, p.claimNamed}, {14, p.commitOwned}, {1, p.commitStale}, {6, p.send}, {6, p.operate}, {4, p.endTask},
		{1, p.changeWorkers}, {2, p.heartbeat}, {1, p.sweep}, {2, p.outcome}, {2, p.stream},
	}
	var all uint32
	for _, k := range kinds {
		all += k.weight
	}
	for i, c := range calls {
		p.at, p.rng = i, rand.New(rand.NewPCG(c.choices, 1))
		left := c.what % all
		for _, k := range kinds {
			if left < k.weight {
				k.call()
				break
			}
			left -= k.weight
		}
		if p.difference == "" && (i%8 == 7 || i == len(calls)-1) {
			p.look()
		}
		if p.difference != "" {
			return
		}
	}
}

// Choices.

func (p *pair) oneIn(n int) bool { return p.rng.IntN(n) == 0 }

func choose[T any](p *pair, from ...T) T { return from[p.rng.IntN(len(from))] }

func (p *pair) fresh(prefix string) string {
	p.n++
	return fmt.Sprintf("%s_%d", prefix, p.n)
}

// ago is a time that was, or will be, long before or after any clock of this sequence; no whole number of minutes, as each counts for turns.
func (p *pair) ago() time.Time {
	return p.began.Add(choose(p, -30*time.Second, -31*time.Second, -90*time.Second, -150*time.Second, time.Hour, 2*time.Hour))
}

func (p *pair) anyRun() string {
	if len(p.runs) == 0 || p.oneIn(40) {
		return "wrun_nobody"
	}
	return choose(p, p.runs...)
}

func (p *pair) anyWorker() string { return choose(p, p.workers...) }

func (p *pair) classes() []world.Class {
	all := []world.Class{{Workflow: "a", Version: 2}, {Workflow: "b", Version: 1}, {Workflow: "a", Version: 1}, {Workflow: "a"}, {Workflow: "b"}}
	return all[p.rng.IntN(3):]
}

// Comparing.

// sentinels are the errors that callers branch on.
var sentinels = []error{
	world.ErrNotFound, world.ErrRunExists, world.ErrTerminal, world.ErrConflict, world.ErrTooEarly, world.ErrLeaseLost, world.ErrUnknownOutcome, world.ErrInboxFull,
	world.ErrDeliveryUsed, world.ErrStreamClosed, world.ErrTooLarge, world.ErrInvalid, world.ErrCorrupt, world.ErrFormat, world.ErrStorage, world.ErrClosed,
}

// both calls both worlds, and compares their answers and what kind of error each gave. It returns the reference's.
func both[T any](p *pair, what string, f func(w world.World, i int) (T, error)) (T, error) {
	p.said = append(p.said, fmt.Sprintf("%3d %s", p.at, what))
	var got [2]T
	var errs [2]error
	var kinds [2][]string
	for i, w := range p.worlds {
		got[i], errs[i] = f(w, i)
		for _, s := range sentinels {
			if errors.Is(errs[i], s) {
				kinds[i] = append(kinds[i], s.Error())
			}
		}
		if errs[i] != nil && kinds[i] == nil {
			kinds[i] = []string{errs[i].Error()}
		}
	}
	if d := cmp.Diff(kinds[0], kinds[1]); d != "" {
		p.differ(fmt.Sprintf("errors: %v against %v", errs[0], errs[1]))
	} else if d := cmp.Diff(got[0], got[1], p.comparing()...); d != "" {
		p.differ(what + ":\n" + d)
	}
	return got[0], errs[0]
}

func (p *pair) differ(how string) {
	if p.difference == "" {
		p.difference = how
	}
}

// comparing compares times by whose they are, and leaves out what is a world's own.
func (p *pair) comparing() []cmp.Option {
	return []cmp.Option{
		cmp.Transformer("time", func(t time.Time) string {
			clocks := func(d time.Duration) bool { return -before < d && d < after }
			switch d := t.Sub(p.began); {
			case t.IsZero():
				return ""
			case clocks(d):
				return "now"
			case clocks(d - alikeLease):
				return "the end of a lease"
			default:
				return d.String()
			}
		}),
		cmpopts.IgnoreFields(world.Mail{}, "Row"),
		cmpopts.IgnoreFields(world.Stats{}, "Counters"),
		cmpopts.IgnoreFields(world.RunPage{}, "Cursor"),
		cmpopts.IgnoreFields(world.WorkerRow{}, "Until"), // that of an idle worker is shown as if it had beaten
		cmpopts.IgnoreFields(world.ClaimedRun{}, "Log"),  // a world may bring it or not
		cmpopts.SortSlices(func(a, b world.OwnedRun) int { return strings.Compare(a.Run, b.Run) }),
		cmpopts.SortSlices(func(a, b world.TaskKey) int { return strings.Compare(a.Run+a.Step, b.Run+b.Step) }),
	}
}

// notLater compares when to look again. A world may say too early: whoever looks finds nothing then.
func (p *pair) notLater(next [2]time.Time, what string) {
	if at, other := next[0], next[1]; !at.IsZero() && !(p.slow && at.Sub(p.began) > alikeLease-before) && (other.IsZero() || other.After(at.Add(before))) {
		p.differ(fmt.Sprintf("%s: the next is due at %s, the other world says %s", what, at, other))
	}
}

// look compares all that can be read.
func (p *pair) look() {
	ctx := p.Context()
	said := len(p.said)
	for _, run := range p.runs {
		_, _ = both(p, "run "+run, func(w world.World, _ int) (world.Run, error) { return w.Run(ctx, run) })
		_, _ = both(p, "events of "+run, func(w world.World, _ int) (world.EventPage, error) { return w.Events(ctx, run, world.EventQuery{}) })
		_, _ = both(p, "streams of "+run, func(w world.World, _ int) ([]world.StreamRow, error) { return w.StreamsOf(ctx, run) })
		_, _ = both(p, "tasks of "+run, func(w world.World, _ int) ([]world.Task, error) { return w.Tasks(ctx, run) })
		_, _ = both(p, "stream s of "+run, func(w world.World, _ int) (world.ChunkPage, error) {
			return w.Chunks(ctx, run, "s", world.ChunkQuery{})
		})
	}
	for _, q := range []world.RunQuery{
		{}, {Workflow: "a"}, {Status: []world.Status{world.Running, world.Pending}}, {Workflow: "b", Status: []world.Status{world.Cancelled, world.Completed}},
		{Attributes: map[string]json.RawMessage{"tenant": json.RawMessage(`1`)}}, {Since: p.began}, {Parent: p.anyRun()}, {Limit: 2},
	} {
		_, _ = both(p, fmt.Sprintf("list %+v", q), func(w world.World, _ int) (world.RunPage, error) { return w.Runs(ctx, q) })
	}
	_, _ = both(p, "hooks", func(w world.World, _ int) ([]world.HookRow, error) { return w.Hooks(ctx, world.HookQuery{}) })
	_, _ = both(p, "ended hook", func(w world.World, _ int) ([]world.HookRow, error) {
		return w.Hooks(ctx, world.HookQuery{Token: "t1", Ended: true})
	})
	_, _ = both(p, "stats", func(w world.World, _ int) (world.Stats, error) {
		st, err := w.Stats(ctx)
		st.Workflows = slices.DeleteFunc(st.Workflows, func(f world.WorkflowStats) bool { return f == world.WorkflowStats{Workflow: f.Workflow} })
		return st, err
	})
	q := world.ReadyQuery{Classes: p.classes(), Steps: []string{"task"}}
	var next [2]time.Time
	_, _ = both(p, fmt.Sprintf("ready %+v", q), func(w world.World, i int) (world.Ready, error) {
		got, err := w.Ready(ctx, q)
		next[i], got.Next = got.Next, time.Time{}
		level := func(r world.ReadyItem) int64 { return int64(r.Priority) + int64(got.Now.Sub(r.Due)/time.Minute) }
		if !slices.IsSortedFunc(got.Items, func(a, b world.ReadyItem) int { return cmpx.Or(cmpx.Compare(level(b), level(a)), a.Due.Compare(b.Due)) }) {
			p.differ(fmt.Sprintf("ready: world %d lists %+v out of their order", i, got.Items))
		}
		slices.SortFunc(got.Items, func(a, b world.ReadyItem) int {
			return cmpx.Or(cmpx.Compare(a.Run, b.Run), cmpx.Compare(a.Step, b.Step))
		})
		return got, err // since when something is due differs a little, and so does the order
	})
	p.notLater(next, "ready")
	p.said = p.said[:said]
}
