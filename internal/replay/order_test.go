package replay

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
)

// replayed checks that the log, fed to a new machine in pages of each size, gives what the live machine has.
func (l *live) replayed(body Body) {
	l.t.Helper()
	for _, size := range []int{1, 2, 1000} {
		m, err := paged(Config{Run: "wrun_test", Created: created, Seed: 7}, body, l.log, size)
		if err != nil {
			l.t.Fatalf("replay in pages of %d: %v\n%s", size, err, printLog(l.log))
		}
		if got, want := snapshot(m), snapshot(l.m); got != want {
			l.t.Errorf("replayed in pages of %d:\n%s\nlive:\n%s", size, got, want)
		}
		m.Close()
	}
}

func permutations(n int) [][]int {
	if n == 0 {
		return [][]int{nil}
	}
	var all [][]int
	for _, p := range permutations(n - 1) {
		for at := range n {
			all = append(all, append(append(append([]int(nil), p[:at]...), n-1), p[at:]...))
		}
	}
	return all
}

func TestRaceOverFiveAtEveryOrderOfCompletion(t *testing.T) {
	body := func(x *Ctx) Outcome {
		var fs []*Future
		for i := range 5 {
			fs = append(fs, x.Step(world.KindClosure, fmt.Sprint("s", i), nil, nil))
		}
		first := x.WaitAny(fs...)
		after := step(x, "after") // losers finish meanwhile
		return Outcome{Output: fmt.Appendf(nil, "%d %s %s", first, fs[first].Payload(), after)}
	}
	for _, order := range permutations(5) {
		for losers := range 5 {
			l := start(t, body)
			for _, i := range order[:1+losers] {
				l.complete(fmt.Sprint("s", i), 0, fmt.Sprint(i))
			}
			l.complete("after", 0, "done")
			l.output(fmt.Sprintf("%d %d done", order[0], order[0]))
			l.replayed(body)
			l.m.Close()
		}
	}
}

func TestCoroutinesRunFirstComeFirstServed(t *testing.T) {
	body := func(x *Ctx) Outcome {
		var b strings.Builder
		s := x.Step(world.KindClosure, "s", nil, nil)
		for i := range 4 {
			x.Go("", func(x *Ctx, _ *Future) error {
				x.Wait(s)
				fmt.Fprint(&b, i)
				return nil
			})
		}
		x.Wait(x.Go("", func(x *Ctx, _ *Future) error { x.Wait(s); return nil }))
		return Outcome{Output: []byte(b.String())}
	}
	l := start(t, body)
	l.complete("s", 0, "1")
	l.output("0123")
	l.replayed(body)
}

func TestAwaitConditionWinsOverItsTimeoutInOneTurn(t *testing.T) {
	body := func(x *Ctx) Outcome {
		n := 0
		due := x.Sleep("tick", time.Second)
		x.Go("", func(x *Ctx, _ *Future) error { x.Wait(due); n++; return nil })
		// the condition comes true in the turn in which the time of "both" comes
		ok, err := x.Await("both", func() bool { return n > 0 || x.Now().After(created.Add(2*time.Millisecond)) }, time.Second, nil)
		return Outcome{Output: fmt.Appendf(nil, "%v %v", ok, err)}
	}
	l := start(t, body)
	l.add(world.Event{Type: world.WaitCompleted, ID: l.id("both", 0), Outcome: world.OutcomeDue})
	l.output("true <nil>")
	l.replayed(body)
}

func TestAwaitTimesOutAsAValue(t *testing.T) {
	body := func(x *Ctx) Outcome {
		ok, err := x.Await("never", func() bool { return false }, time.Second, nil)
		return Outcome{Output: fmt.Appendf(nil, "%v %v", ok, err)}
	}
	l := start(t, body)
	l.add(world.Event{Type: world.WaitCompleted, ID: l.id("never", 0), Outcome: world.OutcomeDue})
	l.output("false <nil>")
	l.replayed(body)
}

func TestAwaitOnWhatHoldsWritesNothing(t *testing.T) {
	l := start(t, func(x *Ctx) Outcome {
		ok, err := x.Await("now", func() bool { return true }, time.Second, nil)
		return Outcome{Output: fmt.Appendf(nil, "%v %v", ok, err)}
	})
	l.output("true <nil>")
	if got, want := len(l.log), 2; got != want {
		t.Errorf("events = %d, want %d: birth and start alone", got, want)
	}
}

func TestFirstToEndTheRunCounts(t *testing.T) {
	body := func(x *Ctx) Outcome {
		s := x.Step(world.KindClosure, "s", nil, nil)
		x.Go("", func(x *Ctx, _ *Future) error { x.Wait(s); x.Continue(Continue{Input: []byte("next")}); return nil })
		x.Wait(x.Go("", func(x *Ctx, _ *Future) error { return nil }))
		x.Wait(s)
		return Outcome{Output: []byte("returned")}
	}
	l := start(t, body)
	l.complete("s", 0, "1")
	if o := l.m.Outcome(); o == nil || o.Continue == nil || string(o.Continue.Input) != "next" {
		t.Errorf("outcome = %+v, want the continuation of the coroutine that waited first", o)
	}
	l.replayed(body)
}

func TestMapBeginsNothingAfterAFailure(t *testing.T) {
	began := 0
	body := func(x *Ctx) Outcome {
		began = 0
		i, err := x.Items(5, 0, func(_ *Ctx, i int) error {
			began++
			return fmt.Errorf("item %d", i)
		})
		return Outcome{Output: fmt.Appendf(nil, "%d %v", i, err)}
	}
	l := start(t, body)
	l.output("0 item 0")
	if got, want := began, 1; got != want {
		t.Errorf("items begun = %d, want %d", got, want)
	}
}

// TestEveryPairOfHappenings has two of all that can come from outside arrive in both orders, at every position of a run.
func TestEveryPairOfHappenings(t *testing.T) {
	body := func(x *Ctx) Outcome {
		var b strings.Builder
		say := func(what string, f *Future) {
			fmt.Fprintf(&b, "%s %s %v %v;", what, f.Payload(), f.Err(), f.Received())
		}
		say("first", x.stepped("first"))
		h := x.Hook("h", "", nil)
		x.Go("", func(x *Ctx, _ *Future) error { f := x.Receive(h); x.Wait(f); say("payload", f); return nil })
		f := x.Event("go", nil, time.Second, true)
		x.Wait(f)
		say("event", f)
		say("last", x.stepped("last"))
		fmt.Fprint(&b, x.Now(), x.Uint64())
		return Outcome{Output: []byte(b.String())}
	}
	happenings := map[string]func(l *live) world.Event{
		"signal": func(*live) world.Event {
			return world.Event{Type: world.SignalReceived, Name: "go", Payload: []byte("1")}
		},
		"signal2": func(*live) world.Event {
			return world.Event{Type: world.SignalReceived, Name: "go", Payload: []byte("2")}
		},
		"cancel": func(*live) world.Event { return world.Event{Type: world.CancelRequested} },
		"pause":  func(*live) world.Event { return world.Event{Type: world.RunPaused} },
		"resume": func(*live) world.Event { return world.Event{Type: world.RunResumed} },
		"due": func(l *live) world.Event {
			return l.happens(world.WaitCreated, world.Event{Type: world.WaitCompleted, Outcome: world.OutcomeDue})
		},
		"payload": func(l *live) world.Event {
			return l.happens(world.HookCreated, world.Event{Type: world.HookReceived, Payload: []byte("3")})
		},
	}
	for position := range 4 {
		for first, a := range happenings {
			for second, b := range happenings {
				l := start(t, body)
				for i := range 4 {
					if i == position {
						l.possible(a(l))
						l.possible(b(l))
					}
					l.possible(l.happens(world.StepCreated, world.Event{Type: world.StepCompleted, Payload: []byte("9")}))
				}
				l.possible(world.Event{Type: world.RunResumed})
				l.replayed(body)
				if t.Failed() {
					t.Fatalf("%s, then %s, at %d", first, second, position)
				}
				l.m.Close()
			}
		}
	}
}

func (x *Ctx) stepped(name string) *Future {
	f := x.Step(world.KindClosure, name, nil, nil)
	x.Wait(f)
	return f
}

// happens gives an event the ID of the last creation of a type.
func (l *live) happens(created world.EventType, e world.Event) world.Event {
	for _, c := range l.log {
		if c.Type == created {
			e.ID = c.ID
		}
	}
	return e
}

// possible adds an event if the fold allows it after the log so far and the run goes on.
func (l *live) possible(e world.Event) {
	l.t.Helper()
	s := world.State{ID: "wrun_test"}
	for i := range l.log {
		if _, err := s.Apply(&l.log[i], time.Time{}); err != nil {
			l.t.Fatalf("event %d: %v", i+1, err)
		}
	}
	try := e
	if changed, err := s.Apply(&try, time.Time{}); err == nil && changed && l.m.Outcome() == nil {
		l.add(e)
	}
}
