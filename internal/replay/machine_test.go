package replay

import (
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
)

var created = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)

// live drives a machine the way the engine does, keeping the log.
type live struct {
	t   testing.TB
	m   *Machine
	log []world.Event
	at  time.Time
}

func start(t testing.TB, body Body) *live {
	l := &live{t: t, m: New(Config{Run: "wrun_test", Created: created, Seed: 7}, body), at: created}
	t.Cleanup(l.m.Close)
	l.add(world.Event{Type: world.RunCreated, Birth: &world.Birth{Workflow: "w", Seed: 7}})
	l.add(world.Event{Type: world.RunStarted})
	return l
}

// add appends an event, feeds it, and records what the code asks for.
func (l *live) add(e world.Event) {
	l.t.Helper()
	l.at = l.at.Add(time.Millisecond)
	l.append(e)
	for _, op := range append([]*Op(nil), l.m.Asked()...) {
		l.append(op.Event(l.at))
	}
}

func (l *live) append(e world.Event) {
	l.t.Helper()
	e.Seq, e.Time = int64(len(l.log)+1), l.at
	l.log = append(l.log, e)
	if err := l.m.Feed([]world.Event{e}, false); err != nil {
		l.t.Fatalf("feed %d %s: %v", e.Seq, e.Type, err)
	}
}

// id finds the n-th creation with a name.
func (l *live) id(name string, n int) string {
	l.t.Helper()
	for _, e := range l.log {
		if e.Creation() && e.Name == name && e.Type != world.HookDisposed {
			if n == 0 {
				return e.ID
			}
			n--
		}
	}
	l.t.Fatalf("no creation %q in the log", name)
	return ""
}

func (l *live) complete(name string, n int, result string) {
	l.t.Helper()
	l.add(world.Event{Type: world.StepCompleted, ID: l.id(name, n), Payload: []byte(result)})
}

func (l *live) output(want string) {
	l.t.Helper()
	out := l.m.Outcome()
	if out == nil {
		l.t.Fatalf("the run goes on, want output %s", want)
	}
	if got := string(out.Output); got != want {
		l.t.Errorf("output = %s, want %s", got, want)
	}
}

func step(x *Ctx, name string) string {
	f := x.Step(world.KindClosure, name, nil, nil)
	x.Wait(f)
	if f.Err() != nil {
		return "error:" + f.Err().Error()
	}
	return string(f.Payload())
}

func TestSerialStepsGoOnInPlace(t *testing.T) {
	l := start(t, func(x *Ctx) Outcome {
		return Outcome{Output: []byte(step(x, "a") + step(x, "b") + step(x, "b"))}
	})
	l.complete("a", 0, "1")
	l.complete("b", 0, "2")
	l.complete("b", 1, "3")
	l.output("123")
}

func TestRaceGoesOnWithTheFirstInLogOrder(t *testing.T) {
	l := start(t, func(x *Ctx) Outcome {
		a, b := x.Step(world.KindClosure, "a", nil, nil), x.Step(world.KindClosure, "b", nil, nil)
		first := x.WaitAny(a, b)
		return Outcome{Output: []byte{'0' + byte(first)}}
	})
	l.complete("b", 0, "2")
	l.output("1")
}

func TestSignalBeforeItsWaitIsKept(t *testing.T) {
	l := start(t, func(x *Ctx) Outcome {
		step(x, "a")
		f := x.Event("verify", []byte(`{"userId":"42"}`), time.Hour, true)
		x.Wait(f)
		return Outcome{Output: f.Payload()}
	})
	l.add(world.Event{Type: world.SignalReceived, Name: "verify", Payload: []byte(`{"userId":"1"}`)})
	l.add(world.Event{Type: world.SignalReceived, Name: "verify", Payload: []byte(`{"userId":"42"}`)})
	l.complete("a", 0, "1")
	l.output(`{"userId":"42"}`)
}

func TestCloseUnwindsDefersButCannotBeRecovered(t *testing.T) {
	unwound := 0
	m := New(Config{Run: "r", Created: created}, func(x *Ctx) Outcome {
		defer func() { unwound++ }()
		for {
			func() {
				defer func() { _ = recover() }()
				step(x, "a")
			}()
		}
	})
	if err := m.Feed([]world.Event{{Seq: 1, Type: world.RunStarted, Time: created}}, false); err != nil {
		t.Fatal(err)
	}
	m.Close()
	if unwound != 1 {
		t.Errorf("deferred functions ran %d times, want 1", unwound)
	}
}

func BenchmarkStep(b *testing.B) {
	m := New(Config{Run: "wrun_test", Created: created}, func(x *Ctx) Outcome {
		for {
			step(x, "a")
		}
	})
	defer m.Close()
	evs := make([]world.Event, 0, 4)
	_ = m.Feed([]world.Event{{Type: world.RunStarted, Time: created}}, false)
	b.ReportAllocs()
	for b.Loop() {
		op := m.Asked()[0]
		evs = append(evs[:0], op.Event(created), world.Event{Type: world.StepStarted, ID: op.ID}, world.Event{Type: world.StepCompleted, ID: op.ID, Time: created})
		if err := m.Feed(evs, false); err != nil {
			b.Fatal(err)
		}
	}
}
