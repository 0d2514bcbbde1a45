package engine

import (
	"sync"
	"testing"
)

// Who looks for a slot while the last one is given back either gets it or is told of it.
func TestASlotThatBecomesFreeIsSeen(t *testing.T) {
	for range 20_000 {
		told := make(chan struct{}, 1)
		s := newSlots(1, func() { nudge(told) })
		if got := s.try(1); got != 1 {
			t.Fatalf("try(1) = %d, want 1", got)
		}
		var back sync.WaitGroup
		back.Go(func() { s.release(1) })
		got := s.reserve()
		back.Wait()
		if got == 0 && len(told) == 0 {
			t.Fatal("no slot, and nobody told of it")
		}
	}
}
