package replay

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
	"pgregory.net/rapid"
)

// driver plays the engine's and the outside world's part for a live machine and keeps what the machine was like after each event.
type driver struct {
	t     *rapid.T
	m     *Machine
	state world.State
	log   []world.Event
	seen  []string // the machine after each event; "" where no commit can end
	at    time.Time
}

func newDriver(t *rapid.T, n node) *driver {
	return &driver{t: t, m: New(fuzzConfig, n.body()), at: created, state: world.State{ID: fuzzConfig.Run}}
}

var fuzzConfig = Config{Run: "wrun_fuzz", Created: created, Seed: 11, Build: "now"}

// append adds an event to the log if the fold lets it, and feeds it.
func (d *driver) append(e world.Event) {
	e.Seq, e.Time, e.Build = int64(len(d.log)+1), d.at, "recorded"
	changed, err := d.state.Apply(&e, time.Time{})
	if err != nil {
		d.t.Fatalf("the fold refuses what the code asked for: %v\n%s", err, printLog(d.log))
	}
	if !changed {
		return
	}
	d.log = append(d.log, e)
	if err := d.m.Feed([]world.Event{e}, false); err != nil {
		d.t.Fatalf("live, event %d: %v\n%s", e.Seq, err, printLog(d.log))
	}
	now := ""
	if !slices.ContainsFunc(d.m.Asked(), func(op *Op) bool { return op.Key.Kind == world.KindPatch }) {
		now = snapshot(d.m)
	}
	d.seen = append(d.seen, now)
}

// flush records what the code asked for, or the first so many of it. A patch is always recorded with the result that led to it.
func (d *driver) flush(most int) {
	for tries := 0; tries < 50; tries++ {
		asked := slices.Clone(d.m.Asked())
		if len(asked) == 0 {
			return
		}
		before := len(d.log)
		for _, op := range asked {
			if most == 0 && !slices.ContainsFunc(d.m.Asked(), func(op *Op) bool { return op.Key.Kind == world.KindPatch }) {
				return
			}
			if d.m.asked.find(op.Type, op.ID) < 0 {
				continue // its record was made void meanwhile
			}
			most = max(most-1, 0)
			e := op.Event(d.at)
			if e.Type == world.HookCreated && e.Chosen && rapid.IntRange(0, 3).Draw(d.t, "conflict") == 0 {
				e.Type, e.Chosen, e.Peer = world.HookConflict, false, "wrun_other"
			}
			d.append(e)
			if d.m.Outcome() != nil {
				return
			}
		}
		if len(d.log) == before {
			return
		}
	}
}

// outside lists what may happen next.
func (d *driver) outside() []world.Event {
	es := []world.Event{
		{Type: world.SignalReceived, Name: "a", Payload: []byte(`{"k":0}`)}, {Type: world.SignalReceived, Name: "b", Payload: []byte(`{"k":1}`)},
		{Type: world.RunPaused}, {Type: world.RunResumed}, {Type: world.RunResumed},
	}
	if rapid.IntRange(0, 5).Draw(d.t, "cancel") == 0 {
		es = append(es, world.Event{Type: world.CancelRequested})
	}
	for _, e := range d.log {
		switch e.Type {
		case world.StepCreated:
			if d.state.Step(e.ID) != nil {
				es = append(es, world.Event{Type: world.StepCompleted, ID: e.ID, Payload: fmt.Appendf(nil, "%d", len(d.log))},
					world.Event{Type: world.StepFailed, ID: e.ID, Error: &world.Error{Message: "no"}})
			}
		case world.WaitCreated:
			if w := d.state.Wait(e.ID); w != nil && !w.Until.IsZero() {
				es = append(es, world.Event{Type: world.WaitCompleted, ID: e.ID, Outcome: world.OutcomeDue})
			}
		case world.HookCreated:
			if d.state.Hook(e.ID) != nil {
				es = append(es, world.Event{Type: world.HookReceived, ID: e.ID, Payload: fmt.Appendf(nil, "%d", len(d.log))})
			}
		}
	}
	return es
}

func (d *driver) live() {
	d.append(world.Event{Type: world.RunCreated, Birth: &world.Birth{Workflow: "w", Seed: fuzzConfig.Seed}})
	d.append(world.Event{Type: world.RunStarted})
	for n := rapid.IntRange(0, 24).Draw(d.t, "events"); n > 0 && d.m.Outcome() == nil; n-- {
		most := 1 << 20
		if rapid.IntRange(0, 4).Draw(d.t, "split") == 0 {
			most = rapid.IntRange(0, 2).Draw(d.t, "first part")
		}
		d.flush(most)
		if d.m.Outcome() != nil {
			break
		}
		d.at = d.at.Add(time.Millisecond)
		d.append(rapid.SampledFrom(d.outside()).Draw(d.t, "happens"))
	}
	d.flush(1 << 20)
}

// snapshot is all that the law says of a machine.
func snapshot(m *Machine) string {
	var b strings.Builder
	for _, op := range m.openOps() {
		fmt.Fprintf(&b, "open %s %s %s recorded=%v done=%v err=%v\n", op.Type, op.ID, op.Describe(), op.recorded, op.future.done, op.future.err)
	}
	for _, op := range m.Asked() {
		fmt.Fprintf(&b, "asks %s %s from=%d input=%s match=%s token=%s\n", op.Type, op.Describe(), op.From, op.Input, op.Match, op.Token)
	}
	fmt.Fprintf(&b, "%s, now %s, random %s, unread %s, paused %v, held %d\n", m.ending(), m.now, m.random(), m.unreadSeqs(), m.paused, len(m.held))
	var blocked []string
	for _, c := range m.coros {
		if !c.ended {
			blocked = append(blocked, fmt.Sprintf("coroutine %q waits for %s\n", c.path, m.waitsFor(c)))
		}
	}
	slices.Sort(blocked)
	return b.String() + strings.Join(blocked, "")
}

// feed gives a new machine a log in pages of drawn sizes.
func feed(t *rapid.T, body Body, log []world.Event) (*Machine, error) {
	return paged(fuzzConfig, body, log, rapid.SampledFrom([]int{1, 2, 3, 7, 1000}).Draw(t, "page"))
}

// paged gives a new machine a log in pages, or as a whole where it asks for that.
func paged(cfg Config, body Body, log []world.Event, size int) (*Machine, error) {
	m := New(cfg, body)
	for rest := log; ; rest = rest[size:] {
		more := len(rest) > size
		err := m.Feed(rest[:min(size, len(rest)):min(size, len(rest))], more)
		if errors.Is(err, ErrFurther) {
			m.Close()
			m = New(cfg, body)
			err, more = m.Feed(log, false), false
		}
		if err != nil || !more {
			return m, err
		}
	}
}

func printLog(log []world.Event) string {
	var b strings.Builder
	for _, e := range log {
		fmt.Fprintf(&b, "%3d %s %s %s %s %s from=%d %s\n", e.Seq, e.Type, e.Kind, e.Name, e.Path, e.ID, e.From, e.Payload)
	}
	return b.String()
}

// liveEqualsReplayed is law 5 (docs/design/README.md#law-5): replaying the log, cut anywhere, gives the state that the live
// machine had there.
func liveEqualsReplayed(t *rapid.T) {
	program := drawProgram(t)
	d := newDriver(t, program)
	defer d.m.Close()
	d.live()
	for n, want := range d.seen {
		if want == "" {
			continue
		}
		m, err := feed(t, program.body(), d.log[:n+1])
		if err != nil {
			t.Fatalf("replay of %d events: %v\n%s", n+1, err, printLog(d.log[:n+1]))
		}
		if got := snapshot(m); got != want {
			t.Fatalf("after %d events\nreplayed:\n%s\nlive:\n%s\n%s", n+1, got, want, printLog(d.log[:n+1]))
		}
		m.Close()
	}
	wrongProgram(t, program, d.log)
}

// wrongProgram feeds the log to changed code: it diverges with a report, or is as good as the old.
func wrongProgram(t *rapid.T, program node, log []world.Event) {
	m, err := feed(t, mutate(t, program).body(), log)
	defer func() { m.Close() }()
	if err == nil {
		return
	}
	d, ok := errors.AsType[*DivergedError](err)
	if !ok {
		t.Fatalf("got %v, want a divergence", err)
	}
	if d.Seq < 1 || d.Seq > int64(len(log)) || d.Log == "" || d.Code == "" || d.Build != "recorded" {
		t.Fatalf("the report lacks something: %+v", d)
	}
	e := log[d.Seq-1]
	if e.Creation() && e.Name != "" && !strings.Contains(d.Log, fmt.Sprintf("%q", e.Name)) {
		t.Fatalf("the report %q does not name what the log has: %+v", d.Log, e)
	}
}

func TestLiveEqualsReplayed(t *testing.T) { rapid.Check(t, liveEqualsReplayed) }

func FuzzReplay(f *testing.F) { f.Fuzz(rapid.MakeFuzz(liveEqualsReplayed)) }
