package server

// The parts of pushing that need no endpoint: the circuit, and when something is named again.

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// The circuit opens at the failure that is one too many, is asked after longer and longer pauses, and closes with a success.
func TestCircuit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := circuit{most: 3, reset: 10 * time.Second, state: circuitClosed}
		want := func(state circuitState, doing string) {
			t.Helper()
			if c.state != state {
				t.Fatalf("%s: the circuit is %s, want %s", doing, c.state, state)
			}
		}
		fail := func() { c.failure(time.Now()) }
		fail()
		fail()
		want(circuitClosed, "two failures")
		c.success()
		fail()
		fail()
		want(circuitClosed, "two failures after a success")
		fail()
		want(circuitOpen, "three in a row")
		last := time.Duration(0)
		for range 10 {
			d := c.wait(time.Now())
			if d <= 0 || d > longestReset || last > 0 && d < min(last, longestReset*3/4) {
				t.Fatalf("open for %s after %s", d, last)
			}
			last = d
			fail() // what was under way does not count
			if got := c.wait(time.Now()); got != d {
				t.Fatalf("a late failure: open for %s, want %s", got, d)
			}
			if c.success() {
				t.Fatal("a late success closed it")
			}
			want(circuitOpen, "a late success")
			time.Sleep(d) //lint:allow virtual time
			c.well()
			want(circuitHalf, "it says that it is well")
			fail()
			want(circuitOpen, "a failure of the one message that is tried")
		}
		time.Sleep(longestReset) //lint:allow virtual time
		c.well()
		if !c.success() {
			t.Fatal("the one message that is tried had an answer, and the circuit is not closed by it")
		}
		want(circuitClosed, "a success")
		fail()
		want(circuitClosed, "a failure after that")
	})
}

// Something that messages do nothing for is named less and less often; something that moves is named at once.
func TestClaimsDoNotSpin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pusher{items: map[itemKey]*item{}, wake: make(chan struct{}, 1)}
		k, due := itemKey{run: "r"}, time.Now()
		for _, says := range []bool{true, false} { // that it did something, and that it did not
			due = due.Add(time.Second)
			sent := 0
			for began := time.Now(); time.Since(began) < time.Hour; {
				switch wait := p.claim(k, due); {
				case wait == 0:
					sent++
					if p.claim(k, due) == 0 {
						t.Fatal("it was named again while its message is in flight")
					}
					p.answered(k, p.items[k].sent, says)
				default:
					time.Sleep(min(wait, 10*time.Millisecond)) //lint:allow virtual time
				}
				p.forget()
			}
			if sent < 100 || sent > 300 {
				t.Errorf("says %v: %d messages in an hour, want about one in 22 s", says, sent)
			}
		}
		for range 100 {
			due = due.Add(time.Millisecond)
			if wait := p.claim(k, due); wait != 0 {
				t.Fatalf("it has moved, and is named after %s, want at once", wait)
			}
			p.answered(k, p.items[k].sent, true)
		}
		if wait := p.claim(k, due.Add(1)); wait != 0 {
			t.Fatalf("it is named after %s, want at once", wait)
		}
		late := p.items[k].sent
		again := due.Add(2) // it was given back, and its message has no answer
		if wait := p.claim(k, again); wait != strayAfter {
			t.Fatalf("it is named after %s while its message is in flight, want %s", wait, strayAfter)
		}
		time.Sleep(strayAfter) //lint:allow virtual time
		if wait := p.claim(k, again); wait != 0 {
			t.Fatalf("its message is given up after %s more, want at once", wait)
		}
		if p.answered(k, late, true); p.claim(k, again) == 0 {
			t.Fatal("the answer to a message that was given up counts")
		}
		p.answered(k, p.items[k].sent, true)
		time.Sleep(time.Hour) //lint:allow virtual time
		p.forget()
		if len(p.items) != 0 {
			t.Errorf("%d items are remembered for ever", len(p.items))
		}
	})
}

// A message that is accepted, while nobody takes what it names, is given up, after a time that grows: who accepted it hangs.
func TestAHungMessageIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pusher{items: map[itemKey]*item{}, wake: make(chan struct{}, 1)}
		k, due := itemKey{run: "r"}, time.Now()
		var last context.Context
		for i, wait := range []time.Duration{hungAfter, 2 * hungAfter, 4 * hungAfter, 8 * hungAfter, 8 * hungAfter} {
			if got := p.claim(k, due); got != 0 {
				t.Fatalf("message %d: it is named after %s, want at once", i, got)
			}
			if last != nil && !errors.Is(context.Cause(last), errHung) {
				t.Fatalf("message %d: the one before it is not given up", i)
			}
			ctx, giveUp := context.WithCancelCause(t.Context())
			p.sends(k, giveUp)
			if last = ctx; p.claim(k, due) != wait {
				t.Fatalf("message %d is given up after %s, want %s", i, p.claim(k, due), wait)
			}
			time.Sleep(wait) //lint:allow virtual time
		}
		p.answered(k, p.items[k].sent, false)
		time.Sleep(againMost) //lint:allow virtual time
		if got, then := p.claim(k, due), p.claim(k, due); got != 0 || then != hungAfter {
			t.Errorf("after an answer: named after %s, given up after %s, want at once and %s", got, then, hungAfter)
		}
	})
}
