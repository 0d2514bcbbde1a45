package replay

import (
	"fmt"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
)

// cost runs a workflow of a size to its end and says how long the machine took.
type cost func(tb testing.TB, n int) time.Duration

func feedAll(tb testing.TB, m *Machine, log []world.Event) {
	tb.Helper()
	if err := m.Feed(log, false); err != nil {
		tb.Fatal(err)
	}
}

// parallel asks for n things at once with ask, records them in reverse, and ends them from the last to the first with end.
func parallel(ask func(x *Ctx, i int) *Future, end func(op *Op) world.Event) cost {
	return func(tb testing.TB, n int) time.Duration {
		m := New(Config{Run: "wrun_test", Created: created, Seed: 7}, func(x *Ctx) Outcome {
			for i := range n {
				x.Go("", func(x *Ctx, _ *Future) error { x.Wait(ask(x, i)); return nil })
			}
			x.WaitAny()
			return Outcome{}
		})
		defer m.Close()
		began := time.Now()
		feedAll(tb, m, []world.Event{{Seq: 1, Type: world.RunStarted, Time: created}})
		ops := append([]*Op(nil), m.Asked()...)
		log := make([]world.Event, 0, 2*n)
		for i := range ops {
			log = append(log, ops[len(ops)-1-i].Event(created))
		}
		for i := range ops {
			log = append(log, end(ops[len(ops)-1-i]))
		}
		feedAll(tb, m, log)
		if len(ops) < n {
			tb.Fatalf("operations = %d, want at least %d", len(ops), n)
		}
		return time.Since(began)
	}
}

var costs = map[string]cost{
	"steps": parallel(func(x *Ctx, i int) *Future { return x.Step(world.KindClosure, fmt.Sprint(i), nil, nil) },
		func(op *Op) world.Event { return world.Event{Type: world.StepCompleted, ID: op.ID, Time: created} }),
	"waits for one event that time out": parallel(func(x *Ctx, _ int) *Future { return x.Event("go", nil, time.Hour, true) },
		func(op *Op) world.Event {
			return world.Event{Type: world.WaitCompleted, ID: op.ID, Outcome: world.OutcomeDue, Time: created}
		}),
	"chosen tokens": parallel(func(x *Ctx, i int) *Future { return x.Hook("h", fmt.Sprint(i), nil) },
		func(op *Op) world.Event { return world.Event{Type: world.HookReceived, ID: op.ID, Time: created} }),
	"scopes that are cancelled": parallel(func(x *Ctx, i int) *Future {
		inner := x.Scope()
		f := inner.Step(world.KindClosure, "s", nil, nil)
		inner.Sleep("nap", time.Hour)
		inner.Cancel()
		return f
	}, func(op *Op) world.Event {
		if op.Type == world.WaitCreated {
			return world.Event{Type: world.WaitCompleted, ID: op.ID, Outcome: world.OutcomeDue, Time: created}
		}
		return world.Event{Type: world.StepCompleted, ID: op.ID, Time: created}
	}),
	"one future beside another in a loop": func(tb testing.TB, n int) time.Duration {
		return serial(tb, n, func(x *Ctx) Outcome {
			stop := x.Event("stop", nil, 0, false)
			for {
				x.WaitAny(stop, x.Step(world.KindClosure, "a", nil, nil))
				if len(stop.waiters) > 64 {
					tb.Fatalf("%d waiters of one coroutine", len(stop.waiters))
				}
			}
		})
	},
}

// serial runs a workflow that asks for one step after another.
func serial(tb testing.TB, n int, body Body) time.Duration {
	m := New(Config{Run: "wrun_test", Created: created, Seed: 7}, body)
	defer m.Close()
	began := time.Now()
	feedAll(tb, m, []world.Event{{Seq: 1, Type: world.RunStarted, Time: created}})
	for range n {
		asked := m.Asked()
		op := asked[len(asked)-1]
		var log []world.Event
		for _, op := range asked {
			log = append(log, op.Event(created))
		}
		feedAll(tb, m, append(log, world.Event{Type: world.StepCompleted, ID: op.ID, Time: created}))
	}
	return time.Since(began)
}

// TestNothingIsQuadratic has each cost for ten times as many grow by far less than a hundredfold. What it counts is time, as no count would see all that could
// be quadratic; so one quick try in ten is enough: a machine that is busy makes some of them slow, what is quadratic makes all of them.
func TestNothingIsQuadratic(t *testing.T) {
	for name, run := range costs {
		t.Run(name, func(t *testing.T) {
			var few, many time.Duration
			for range 10 {
				few, many = max(run(t, 1000), time.Millisecond), run(t, 10_000)
				if many <= 40*few {
					return
				}
			}
			t.Errorf("1,000 take %s, 10,000 take %s: more than 40 times as long", few, many)
		})
	}
}

// serialLog is the log of a run of n steps.
func serialLog(n int) []world.Event {
	log := []world.Event{{Seq: 1, Type: world.RunStarted, Time: created}}
	for i := range n {
		k := world.Key{Kind: world.KindClosure, Name: "a", Occurrence: i}
		id := world.CorrelationID("wrun_test", created, k)
		log = append(log, world.Event{Type: world.StepCreated, ID: id, Kind: k.Kind, Name: k.Name, Occurrence: i, Time: created},
			world.Event{Type: world.StepStarted, ID: id, Time: created}, world.Event{Type: world.StepCompleted, ID: id, Time: created, Payload: []byte("1")})
	}
	return log
}

func BenchmarkReplay10000Steps(b *testing.B) {
	log := serialLog(10_000)
	b.ReportAllocs()
	for b.Loop() {
		m := New(Config{Run: "wrun_test", Created: created}, func(x *Ctx) Outcome {
			for {
				step(x, "a")
			}
		})
		m.SetReplaying(true)
		for from := 0; from < len(log); from += 1000 {
			to := min(from+1000, len(log))
			if err := m.Feed(log[from:to], to < len(log)); err != nil {
				b.Fatal(err)
			}
		}
		m.Close()
	}
}

func BenchmarkParallel1000(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		costs["steps"](b, 1000)
	}
}
