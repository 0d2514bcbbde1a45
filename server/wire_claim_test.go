package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
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
			claim := func() (world.Claimed, error) {
				if made++; made == 1 && c.fails != nil {
					return world.Claimed{}, c.fails
				}
				return world.Claimed{}, nil // nothing was due
			}
			for i, s := range c.tries {
				_, err := all.once(t.Context(), "key k", &wire.ClaimIn{ClaimQuery: world.ClaimQuery{Worker: "w", Number: s.n}, Again: s.again}, claim)
				if !errors.Is(err, s.err) || made != s.made {
					t.Errorf("try %d of take %d: got %v, with %d claims made; want %v, with %d", i+1, s.n, err, made, s.err, s.made)
				}
			}
		})
	}
}

// TestHeldIsBehindClaims: what a worker holds is said when its last claim is over, and no earlier one takes
// anything then; asked twice it waits again.
func TestHeldIsBehindTakes(t *testing.T) {
	var all claims
	began, end := make(chan struct{}), make(chan struct{})
	go func() {
		_, _ = all.once(t.Context(), "key k", &wire.ClaimIn{ClaimQuery: world.ClaimQuery{Worker: "w", Number: 1}}, func() (world.Claimed, error) {
			close(began)
			<-end
			return world.Claimed{}, nil
		})
	}()
	<-began
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for range 2 { // nobody waits for the answer
		if err := all.fence(gone, "key k", "w", 3); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v while the claim is made, want it to wait", err)
		}
	}
	close(end)
	if err := all.fence(t.Context(), "key k", "w", 3); err != nil {
		t.Fatal(err)
	}
	for i, want := range []error{world.ErrConflict, world.ErrConflict, world.ErrConflict, nil} {
		_, err := all.once(t.Context(), "key k", &wire.ClaimIn{ClaimQuery: world.ClaimQuery{Worker: "w", Number: int64(i + 1)}}, func() (world.Claimed, error) { return world.Claimed{}, nil })
		if !errors.Is(err, want) {
			t.Errorf("take %d: got %v, want %v", i+1, err, want)
		}
	}
}

// TestClaimsOfInventedWorkers: workers that nobody knows fill no table, and one that is full shuts out no known worker,
// nor those of another key.
func TestClaimsOfInventedWorkers(t *testing.T) {
	var all claims
	take := func(who, worker string, n int64, err error) error {
		_, got := all.once(t.Context(), who, &wire.ClaimIn{ClaimQuery: world.ClaimQuery{Worker: worker, Number: n}}, func() (world.Claimed, error) { return world.Claimed{}, err })
		return got
	}
	for i := range 2 * mostClaims {
		if err := take("key a", fmt.Sprint("invented-", i), 1, world.ErrLeaseLost); !errors.Is(err, world.ErrLeaseLost) {
			t.Fatalf("worker %d: got %v, want %v", i, err, world.ErrLeaseLost)
		}
	}
	if len(all.last) != 0 || len(all.parts) != 0 {
		t.Fatalf("%d workers are remembered that nobody knows", len(all.last))
	}
	full := 0
	for i := range mostClaims {
		if err := take("key a", fmt.Sprint("a-", i), 1, nil); errors.Is(err, errBusy) {
			full++
		}
	}
	if full != mostClaims-claimsPart {
		t.Errorf("one key's workers were refused %d times, want it to have %d", full, claimsPart)
	}
	if err := take("key a", "a-7", 2, nil); err != nil {
		t.Errorf("a worker that is known: %v", err)
	}
	if err := take("key b", "b-1", 1, nil); err != nil {
		t.Errorf("a worker of another key: %v", err)
	}
	all.forget("a-8")
	if err := take("key a", "a-new", 1, nil); err != nil {
		t.Errorf("where one has left: %v", err)
	}
}

// TestWorkerIDsAreShort: no door of workers takes an ID that no worker can have, and a claim of one that never joined
// is not remembered.
func TestWorkerIDsAreShort(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", Options{})
	long := strings.Repeat("w", world.MaxRunID+1)
	for call, body := range map[string]string{
		"claim": `{"worker": %q, "runs": 1, "n": 1}`, "heartbeat": `{"worker": %q}`, "held": `{"worker": %q, "n": 1}`, "leave": `{"worker": %q}`, "join": `{"id": %q}`,
		"commit":  `{` + firstID + `, "run": "r", "worker": %q, "first": 2, "events": [{"type": "run_started", ` + at + `}]}`,
		"append":  `{"run": "r", "worker": %q, "stream": "s", "chunks": [1]}`,
		"deliver": `{"worker": %q, "task": {"run": "r", "step": "s", "attempt": 1}, "events": [{"type": "step_completed", "id": "s", "attempt": 1, ` + at + `}]}`,
	} {
		r.refused(400, "INVALID", "POST", inWorld+call, fmt.Sprintf(body, long))
	}
	r.refused(409, "LEASE_LOST", "POST", inWorld+"claim", `{"worker": "nobody", "runs": 1, "n": 1}`)
	r.refused(409, "LEASE_LOST", "POST", inWorld+"held", `{"worker": "nobody", "n": 1}`)
	r.send("POST", "/v1/steps/take", `{"worker": "nobody", "steps": ["s"], "most": 1, "number": 1}`)
	if n := len(r.server.doors.claims.last) + len(r.server.stepper.claims.last); n != 0 {
		t.Errorf("%d claims are remembered of workers that never joined", n)
	}
}
