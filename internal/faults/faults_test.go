package faults_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell/internal/faults"
	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
	"github.com/stepwell/stepwell/world/worldtest"
)

// TestTransparent: without a plan, a world with failpoints is a world like any other.
func TestTransparent(t *testing.T) {
	worldtest.RunOver(t, func(testing.TB) world.World { return faults.New(memory.New(), nil) }, sample.Share(t, 6))
}

func birth(run string) *world.Commit {
	return &world.Commit{ID: [16]byte{1}, Run: run, First: 1, Events: []world.Event{{
		Type: world.RunCreated, Time: world.Now(), Payload: []byte("1"), Birth: &world.Birth{Workflow: "w", Version: 1, Priority: 1},
	}}}
}

func signal(run string) *world.Delivery {
	return &world.Delivery{Run: run, Events: []world.Event{{Type: world.SignalReceived, Name: "s", Payload: []byte("1")}}}
}

// exists reports whether a run is in the world below.
func exists(t *testing.T, w world.World, run string) bool {
	t.Helper()
	_, err := w.Run(t.Context(), run)
	if err != nil && !errors.Is(err, world.ErrNotFound) {
		t.Fatal(err)
	}
	return err == nil
}

func TestFaultsOfOneCall(t *testing.T) {
	for name, test := range map[string]struct {
		fault faults.Fault
		err   error
		there bool
	}{
		"none":        {faults.Fault{}, nil, true},
		"refused":     {faults.Fault{Err: world.ErrStorage}, world.ErrStorage, false},
		"not written": {faults.Fault{Err: world.ErrUnknownOutcome}, world.ErrUnknownOutcome, false},
		"lost":        {faults.Fault{Err: world.ErrUnknownOutcome, Lost: true}, world.ErrUnknownOutcome, true},
		"twice":       {faults.Fault{Twice: true}, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			below := memory.New()
			w := faults.New(below, faults.At(faults.Commit, 2, test.fault))
			if _, err := w.Commit(t.Context(), birth("first")); err != nil {
				t.Fatalf("first commit: got %v, want no error", err)
			}
			if _, err := w.Commit(t.Context(), birth("second")); !errors.Is(err, test.err) {
				t.Errorf("second commit: got %v, want %v", err, test.err)
			}
			if got := exists(t, below, "second"); got != test.there {
				t.Errorf("written: got %v, want %v", got, test.there)
			}
			if got, want := w.Calls(faults.Commit), 2; got != want {
				t.Errorf("calls: got %d, want %d", got, want)
			}
		})
	}
}

func TestDeliveredTwice(t *testing.T) {
	below := memory.New()
	w := faults.New(below, faults.All(faults.Deliver, faults.Fault{Twice: true}))
	if _, err := w.Commit(t.Context(), birth("r")); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Deliver(t.Context(), signal("r")); err != nil {
		t.Fatal(err)
	}
	row, err := below.Run(t.Context(), "r")
	if err != nil || row.Queue.Mail != 2 {
		t.Errorf("got %d in the inbox, %v; want 2, as it had no delivery ID", row.Queue.Mail, err)
	}
}

// TestKill: at a crash before the call nothing is written; after it, it is; and the dead do nothing more.
func TestKill(t *testing.T) {
	for _, after := range []bool{false, true} {
		t.Run(fmt.Sprintf("after=%v", after), func(t *testing.T) {
			below := memory.New()
			var w *faults.World
			f := faults.Fault{Before: func() { w.Kill() }}
			if after {
				f = faults.Fault{After: func() { w.Kill() }}
			}
			w = faults.New(below, faults.At(faults.Commit, 1, f))
			heard := 0
			w.Notify(func(world.Notice) { heard++ })
			if _, err := w.Commit(t.Context(), birth("r")); !errors.Is(err, world.ErrClosed) {
				t.Errorf("commit: got %v, want %v", err, world.ErrClosed)
			}
			if got := exists(t, below, "r"); got != after {
				t.Errorf("written: got %v, want %v", got, after)
			}
			heard = 0
			if _, err := below.Commit(t.Context(), birth("other")); err != nil || heard != 0 {
				t.Errorf("the dead heard %d notices, want 0 (%v)", heard, err)
			}
			_, joined := w.Join(t.Context(), world.Worker{ID: "wrkr_1"})
			_, events := w.Events(t.Context(), "r", world.EventQuery{})
			_, outcome := w.Outcome(t.Context(), birth("r"))
			_, swept := w.Sweep(t.Context(), 1)
			for _, err := range []error{joined, events, outcome, swept, w.Leave(t.Context(), "wrkr_1")} {
				if !errors.Is(err, world.ErrClosed) {
					t.Errorf("a call of the dead: got %v, want %v", err, world.ErrClosed)
				}
			}
		})
	}
}

func TestDelaysTakeTheirTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := faults.New(memory.New(), faults.All(faults.Heartbeat, faults.Fault{Delay: time.Second, Late: time.Minute}))
		if _, err := w.Join(t.Context(), world.Worker{ID: "wrkr_1", Lease: time.Hour}); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, err := w.Heartbeat(t.Context(), world.HeartbeatQuery{Worker: "wrkr_1"})
		if got, want := time.Since(began), time.Minute+time.Second; err != nil || got != want {
			t.Errorf("took %s, %v; want %s", got, err, want)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := w.Heartbeat(ctx, world.HeartbeatQuery{Worker: "wrkr_1"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want %v", err, context.DeadlineExceeded)
		}
	})
}

func TestEvict(t *testing.T) {
	w := faults.New(memory.New(), nil)
	if _, err := w.Join(t.Context(), world.Worker{ID: "wrkr_1"}); err != nil {
		t.Fatal(err)
	}
	if err := w.Evict(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Heartbeat(t.Context(), world.HeartbeatQuery{Worker: "wrkr_1"}); !errors.Is(err, world.ErrLeaseLost) {
		t.Errorf("heartbeat: got %v, want %v", err, world.ErrLeaseLost)
	}
}

func TestNoticesAreLost(t *testing.T) {
	w := faults.New(memory.New(), nil)
	w.KeepNotices(func(n world.Notice) bool { return n.Kind != world.NoticeWork })
	var heard []world.NoticeKind
	stop := w.Notify(func(n world.Notice) { heard = append(heard, n.Kind) })
	if _, err := w.Commit(t.Context(), birth("r")); err != nil {
		t.Fatal(err)
	}
	stop()
	if len(heard) == 0 || slices.Contains(heard, world.NoticeWork) {
		t.Errorf("heard %v, want all but %q", heard, world.NoticeWork)
	}
}

// TestRandomIsDeterministic: the same seed gives the same faults to the same calls, each kind comes, and no more than allowed.
func TestRandomIsDeterministic(t *testing.T) {
	rates := faults.Rates{
		Unknown: .1, Storage: .1, Lost: .1, Twice: .1, Delay: .1, MaxDelay: time.Second, Crash: .1, Evict: .1, Most: 300,
	}
	draw := func(seed uint64) (got []string) {
		did := ""
		plan := faults.Random(seed, rates, func() { did = "crash" }, func() { did = "evict" })
		for i := range 2000 {
			f := plan(faults.Call{Op: faults.Ops[i%len(faults.Ops)], N: i/len(faults.Ops) + 1})
			did = ""
			if f.Before != nil {
				f.Before()
			}
			if f.After != nil {
				f.After()
			}
			got = append(got, fmt.Sprint(f.Err, f.Lost, f.Twice, f.Delay > 0, f.Late > 0, f.Before != nil, f.After != nil, did))
		}
		return got
	}
	one, again, other := draw(7), draw(7), draw(8)
	if !slices.Equal(one, again) {
		t.Error("one seed gave two plans")
	}
	if slices.Equal(one, other) {
		t.Error("two seeds gave one plan")
	}
	none := fmt.Sprint(error(nil), false, false, false, false, false, false, "")
	faulty := slices.DeleteFunc(slices.Clone(one), func(s string) bool { return s == none })
	if got, want := len(faulty), rates.Most; got != want {
		t.Errorf("got %d faults, want %d", got, want)
	}
	slices.Sort(faulty)
	// unknown (2), storage, lost, twice, delays (2), crashes (2), evict
	if got, want := len(slices.Compact(faulty)), 10; got != want {
		t.Errorf("got %d sorts of faults, want %d:\n%q", got, want, slices.Compact(faulty))
	}
}
