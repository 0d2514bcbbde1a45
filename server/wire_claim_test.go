package server

import (
	"context"
	"errors"
	"testing"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

// TestTakesOnce: a numbered take is made once, whichever of its tries comes first, and none that comes late takes anything.
func TestTakesOnce(t *testing.T) {
	type try struct {
		n     int64
		again bool
		made  int   // claims that were made until then
		err   error // what it is refused with
	}
	away := errors.New("the database is away")
	for name, c := range map[string]struct {
		fails error // the first claim that is made
		tries []try
	}{
		"in order":                                      {nil, []try{{1, false, 1, nil}, {2, false, 2, nil}}},
		"the answer is lost":                            {nil, []try{{1, false, 1, nil}, {1, true, 1, nil}, {1, true, 1, nil}, {2, false, 2, nil}}},
		"the first try comes behind the second":         {nil, []try{{1, true, 1, nil}, {1, false, 1, world.ErrConflict}, {2, false, 2, nil}}},
		"the first try comes behind the next":           {nil, []try{{1, true, 1, nil}, {2, false, 2, nil}, {1, false, 2, world.ErrConflict}, {1, true, 2, world.ErrConflict}}},
		"it failed, and is asked for again":             {away, []try{{1, false, 1, away}, {1, true, 2, nil}, {1, true, 2, nil}}},
		"it failed, and its first try comes again":      {away, []try{{1, true, 1, away}, {1, false, 1, world.ErrConflict}, {1, true, 2, nil}}},
		"another server has it, and it is repeated":     {world.ErrConflict, []try{{1, false, 1, world.ErrConflict}, {1, true, 1, world.ErrConflict}}},
		"nobody knows what it took, and it is repeated": {world.ErrUnknownOutcome, []try{{1, false, 1, world.ErrUnknownOutcome}, {1, true, 1, world.ErrUnknownOutcome}}},
	} {
		t.Run(name, func(t *testing.T) {
			var all claims
			made := 0
			claim := func() (wire.Taken, error) {
				if made++; made == 1 && c.fails != nil {
					return wire.Taken{}, c.fails
				}
				return wire.Taken{}, nil // nothing was due
			}
			for i, s := range c.tries {
				_, err := all.once(t.Context(), &wire.TakeQuery{Worker: "w", N: s.n, Again: s.again}, claim)
				if !errors.Is(err, s.err) || made != s.made {
					t.Errorf("try %d of take %d: got %v, with %d takes made; want %v, with %d", i+1, s.n, err, made, s.err, s.made)
				}
			}
		})
	}
}

// TestHeldIsBehindTakes: what a worker holds is said when its last claim is over, and no earlier one takes anything then; asked twice it waits again.
func TestHeldIsBehindTakes(t *testing.T) {
	var all claims
	began, end := make(chan struct{}), make(chan struct{})
	go func() {
		_, _ = all.once(t.Context(), &wire.TakeQuery{Worker: "w", N: 1}, func() (wire.Taken, error) {
			close(began)
			<-end
			return wire.Taken{}, nil
		})
	}()
	<-began
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for range 2 { // nobody waits for the answer
		if err := all.fence(gone, "w", 3); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v while the claim is made, want it to wait", err)
		}
	}
	close(end)
	if err := all.fence(t.Context(), "w", 3); err != nil {
		t.Fatal(err)
	}
	for i, want := range []error{world.ErrConflict, world.ErrConflict, world.ErrConflict, nil} {
		_, err := all.once(t.Context(), &wire.TakeQuery{Worker: "w", N: int64(i + 1)}, func() (wire.Taken, error) { return wire.Taken{}, nil })
		if !errors.Is(err, want) {
			t.Errorf("take %d: got %v, want %v", i+1, err, want)
		}
	}
}
