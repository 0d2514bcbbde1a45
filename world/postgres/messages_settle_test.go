package postgres

// What is told of ends of receives that shared a transaction, where some could not be written.

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
)

// TestEndsBesideALock: a message that a stranger has locked is an error for who settles it alone, and an unknown
// outcome for who settles it with one that is written. Who settles another hears nothing of it.
func TestEndsBesideALock(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.patience = 200 * time.Millisecond
	k := w.Messages()
	if err := k.DeclareQueue(t.Context(), world.MessageQueue{Name: "q"}); err != nil {
		t.Fatal(err)
	}
	if _, err := k.SendMessages(t.Context(), slices.Repeat([]world.Message{{Queue: "q", Payload: []byte("1")}}, 4)); err != nil {
		t.Fatal(err)
	}
	got, err := k.ReceiveMessages(t.Context(), world.ReceiveQuery{Queue: "q", Limit: 4})
	if err != nil || len(got.Messages) != 4 {
		t.Fatalf("received %d: %v", len(got.Messages), err)
	}
	calls := func() (all []*settling) {
		for _, of := range [][]int{{0}, {1, 2}, {3}} {
			s := &settling{done: make(chan struct{}, 1)}
			for _, i := range of {
				s.all = append(s.all, world.Settlement{Receipt: got.Messages[i].Receipt, Kind: world.Ack})
			}
			all = append(all, s)
		}
		return all
	}
	var keys []int64
	for _, i := range []int{2, 3} {
		key, _, err := world.ReadReceipt(got.Messages[i].Receipt)
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key)
	}
	end := locked(t, w, fmt.Sprintf("SELECT 1 FROM {schema}.messages WHERE key IN (%d, %d) FOR UPDATE", keys[0], keys[1]))
	first := calls()
	w.messaging.settleGroup(t.Context(), first)
	if s := first[0]; s.err != nil || !slices.Equal(s.settled, []bool{true}) {
		t.Errorf("the one that is not locked: %v, %v", s.settled, s.err)
	}
	wantErr(t, first[1].err, world.ErrUnknownOutcome)
	if err := first[2].err; !errors.Is(err, world.ErrStorage) || errors.Is(err, world.ErrUnknownOutcome) {
		t.Errorf("the one that is locked: %v, want that nothing was written", err)
	}
	end()
	again := calls()
	w.messaging.settleGroup(t.Context(), again)
	for i, want := range [][]bool{{false}, {false, true}, {true}} {
		if s := again[i]; s.err != nil || !slices.Equal(s.settled, want) {
			t.Errorf("call %d again: %v, %v, want %v", i, s.settled, s.err, want)
		}
	}
}
