package postgres

// What queues cost in statements.

import (
	"slices"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
)

// TestQueueStatements: a receive from an idle queue tells in its one round trip what is to come too; where there is
// much, it is one statement, and so is any number of acknowledgements.
func TestQueueStatements(t *testing.T) {
	t.Parallel()
	w := open(t)
	k := w.Messages()
	if err := k.DeclareQueue(t.Context(), world.MessageQueue{Name: "q"}); err != nil {
		t.Fatal(err)
	}
	send := func(n int, group string) {
		t.Helper()
		if _, err := k.SendMessages(t.Context(), slices.Repeat([]world.Message{{Queue: "q", Payload: []byte("1"), Group: group}}, n)); err != nil {
			t.Fatal(err)
		}
	}
	receive := func(limit, want int) (ends []world.Settlement) {
		t.Helper()
		got, err := k.ReceiveMessages(t.Context(), world.ReceiveQuery{Queue: "q", Limit: limit})
		if err != nil || len(got.Messages) != want {
			t.Fatalf("got %d messages, want %d: %v", len(got.Messages), want, err)
		}
		for _, m := range got.Messages {
			ends = append(ends, world.Settlement{Receipt: m.Receipt, Kind: world.Ack})
		}
		return ends
	}
	settle := func(ends []world.Settlement, want bool) {
		t.Helper()
		done, err := k.SettleMessages(t.Context(), ends)
		if err != nil || slices.Contains(done, !want) {
			t.Fatalf("%v %v, want %v", done, err, want)
		}
	}
	var ends []world.Settlement
	costs := func(what string, statements int64, do func()) {
		t.Helper()
		before := w.counters.statements.Load()
		do()
		if n := w.counters.statements.Load() - before; n != statements {
			t.Errorf("%s: %d statements, want %d", what, n, statements)
		}
	}
	costs("nothing is there", 2, func() { receive(10, 0) })
	send(1, "")
	costs("one", 2, func() { ends = receive(10, 1) })
	costs("its end", 1, func() { settle(ends, true) })
	send(100, "")
	costs("as many as it may take", 2, func() { ends = receive(30, 30) })
	costs("as many again", 1, func() { ends = append(ends, receive(30, 30)...) })
	costs("less than it may take, where there were more", 2, func() { ends = append(ends, receive(50, 40)...) })
	costs("nothing more", 2, func() { receive(50, 0) })
	costs("their ends", 1, func() { settle(ends, true) })
	settle(ends, false)
	send(2, "g")
	ends = receive(10, 1)
	settle(ends, true)
	settle(ends, false)
	settle(receive(10, 1), true)
}

// TestIdleReceiveAfterMany: where many messages were worked off, a look at what is to come reads what they left in
// the index now and then alone. Until such a look nobody rests for long.
func TestIdleReceiveAfterMany(t *testing.T) {
	t.Parallel()
	w := open(t)
	k := w.Messages()
	if err := k.DeclareQueue(t.Context(), world.MessageQueue{Name: "q"}); err != nil {
		t.Fatal(err)
	}
	var got world.Received
	receive := func(want int) {
		t.Helper()
		var err error
		if got, err = k.ReceiveMessages(t.Context(), world.ReceiveQuery{Queue: "q", Limit: world.MaxReceive}); err != nil || len(got.Messages) != want {
			t.Fatalf("got %d messages, want %d: %v", len(got.Messages), want, err)
		}
		var ends []world.Settlement
		for _, m := range got.Messages {
			ends = append(ends, world.Settlement{Receipt: m.Receipt, Kind: world.Ack})
		}
		if want == 0 {
			return
		}
		if _, err := k.SettleMessages(t.Context(), ends); err != nil {
			t.Fatal(err)
		}
	}
	send := func(n int) {
		t.Helper()
		if _, err := k.SendMessages(t.Context(), slices.Repeat([]world.Message{{Queue: "q", Payload: []byte("1")}}, n)); err != nil {
			t.Fatal(err)
		}
	}
	allBefore := func(at time.Time) {
		low := w.messaging.lowOf("q")
		low.full = at
		w.messaging.keepLow("q", &low)
	}
	for range 60 {
		send(world.MaxReceive)
		receive(world.MaxReceive)
	}
	send(1)
	allBefore(time.Time{})
	receive(1)
	low := w.messaging.lowOf("q").from
	all := blocksOf(t, w, w.sql(nextMessage), "q", make([]time.Time, len(low)), orInfinity(time.Time{}))
	some := blocksOf(t, w, w.sql(nextMessage), "q", low[:], orInfinity(w.now().Add(fullPause)))
	if some*3 > all {
		t.Errorf("a look at what is to come reads %d blocks, and %d where it begins with the last message: want a third", all, some)
	}
	allBefore(time.Now().Add(time.Hour))
	if receive(0); got.Next.Sub(got.Now) != fullPause {
		t.Errorf("where a look did not read all, the next is at %v, want %v later", got.Next, fullPause)
	}
	allBefore(time.Time{})
	if receive(0); !got.Next.IsZero() {
		t.Errorf("the next look at an empty queue is at %v, want none", got.Next)
	}
}
