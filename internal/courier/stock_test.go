package courier

// This file holds what is received ahead of the handlers, and how ends are written.

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// counting is a store that keeps what was asked of it.
type counting struct {
	world.Messenger
	lasts    time.Duration // a settlement
	refuseAt string        // a receipt that no call may have
	noAcks   bool          // none is taken

	mu      sync.Mutex
	limits  []int // of receives
	got     []int // what they came to
	settled []int // settlements of each call, but for renewals
}

func (k *counting) ReceiveMessages(ctx context.Context, q world.ReceiveQuery) (world.Received, error) {
	got, err := k.Messenger.ReceiveMessages(ctx, q)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.limits, k.got = append(k.limits, q.Limit), append(k.got, len(got.Messages))
	return got, err
}

func (k *counting) SettleMessages(ctx context.Context, all []world.Settlement) ([]bool, error) {
	if all[0].Kind != world.Extend {
		k.mu.Lock()
		k.settled = append(k.settled, len(all))
		k.mu.Unlock()
	}
	<-time.After(k.lasts)
	if slices.ContainsFunc(all, func(s world.Settlement) bool { return s.Receipt == k.refuseAt || k.noAcks && s.Kind == world.Ack }) {
		return nil, world.ErrInvalid
	}
	return k.Messenger.SettleMessages(ctx, all)
}

// consumes runs a consumer with two handlers of a queue with n messages; it calls during, and stops it then.
func consumes(t *testing.T, k *counting, n int, work func(ctx context.Context, nth int) error, during func()) {
	t.Helper()
	k.Messenger = memory.New().Messages()
	if err := k.DeclareQueue(t.Context(), world.MessageQueue{Name: "q"}); err != nil {
		t.Fatal(err)
	}
	if _, err := k.SendMessages(t.Context(), slices.Repeat([]world.Message{{Queue: "q", Payload: []byte("1")}}, n)); err != nil {
		t.Fatal(err)
	}
	var nth, beside atomic.Int32
	c := &Consumer{
		Queue: "q", Visibility: world.DefaultVisibility, Keep: k, Notifier: world.Unimplemented{}, Log: silent, Parallel: 2, Idle: time.Hour, Drain: time.Minute,
		Declare: func(context.Context, bool) error { return nil },
		Work: func(ctx context.Context, m *world.Message) world.Settlement {
			if beside.Add(1) > 2 {
				t.Error("more than two at once")
			}
			defer beside.Add(-1)
			switch err := work(ctx, int(nth.Add(1))); {
			case err == nil:
				return world.Settlement{Receipt: m.Receipt, Kind: world.Ack}
			case errors.Is(err, world.ErrReceipt):
				return world.Settlement{}
			}
			return Unread(m, 0)
		},
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); c.Run(ctx) }()
	during()
	stop()
	<-ended
}

func (k *counting) left(t *testing.T) map[world.MessageState]int64 {
	t.Helper()
	all, err := k.Queues(t.Context(), "q")
	if err != nil {
		t.Fatal(err)
	}
	return all[0].Counts
}

// TestReceiveAhead: quick handlers have messages wait for them, where there are more; slow ones do not.
func TestReceiveAhead(t *testing.T) {
	const n = 400
	for name, test := range map[string]struct {
		lasts    time.Duration
		receives int // at most
		ahead    int // the largest receive, at most
	}{
		"quick": {0, 12, 100},
		"10 ms": {10 * time.Millisecond, 202, 6},
		"slow":  {time.Second, 402, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := new(counting)
				consumes(t, k, n, func(context.Context, int) error { time.Sleep(test.lasts); return nil }, func() {
					time.Sleep(time.Hour)
					synctest.Wait()
					if left := k.left(t); len(left) > 0 {
						t.Errorf("left: %v", left)
					}
					if got := slices.Max(k.limits); len(k.limits) > test.receives || got > test.ahead {
						t.Errorf("%d receives, of at most %d: want %d, of at most %d", len(k.limits), got, test.receives, test.ahead)
					}
				})
			})
		})
	}
}

// TestAheadOfAStandstill: what waits for handlers that stand still is given back as it was, and no more is received.
func TestAheadOfAStandstill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := new(counting)
		consumes(t, k, 300, func(ctx context.Context, nth int) error {
			if nth > 20 {
				<-ctx.Done()
				return context.Cause(ctx)
			}
			return nil
		}, func() {
			time.Sleep(10 * time.Second)
			synctest.Wait()
			if left := k.left(t); left[world.MessageOut] != 2 || left[world.MessageReady] != 278 {
				t.Errorf("left: %v", left)
			}
			received := 0
			for _, n := range k.got {
				received += n
			}
			if received > 20+2+2*world.MaxReceive {
				t.Errorf("%d were received, %v", received, k.got)
			}
			page, err := k.PeekMessages(t.Context(), world.PeekQuery{Queue: "q", State: world.MessageReady, Limit: 300})
			if err != nil || slices.ContainsFunc(page.Messages, func(m world.Message) bool { return m.Receives != 0 }) {
				t.Errorf("given back with receives that count: %v", err)
			}
		})
	})
}

// TestAheadOfTheEnd: who stops gives back at once what waits, and works on what it works on.
func TestAheadOfTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := new(counting)
		var stopped atomic.Bool
		var worked atomic.Int32
		consumes(t, k, 300, func(ctx context.Context, nth int) error {
			if nth > 20 {
				time.Sleep(2 * time.Second)
				if stopped.Load() {
					if left := k.left(t); left[world.MessageOut] == 0 || left[world.MessageOut] > 2 {
						t.Errorf("left while it drains: %v", left)
					}
				}
				worked.Add(1)
			}
			return ctx.Err()
		}, func() {
			time.Sleep(500 * time.Millisecond)
			synctest.Wait()
			stopped.Store(true)
		})
		if n := worked.Load(); n != 2 {
			t.Errorf("%d were worked on at the end, want 2", n)
		}
	})
}

// TestEndsShare: no handler waits for an end to be written, and those that end meanwhile are written together.
func TestEndsShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &counting{lasts: time.Second}
		consumes(t, k, 60, func(context.Context, int) error { return nil }, func() {
			time.Sleep(time.Minute)
			synctest.Wait()
			if left := k.left(t); len(left) > 0 || len(k.settled) > 6 {
				t.Errorf("left: %v after %v", left, k.settled)
			}
		})
	})
}

// TestEndsAlone: an end that is refused holds up no other.
func TestEndsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &counting{refuseAt: world.Receipt(1, 1)} // of the first message's first receive
		consumes(t, k, 40, func(context.Context, int) error { return nil }, func() {
			time.Sleep(time.Minute)
			synctest.Wait()
			if left := k.left(t); len(left) > 0 { // it was received again
				t.Errorf("left: %v", left)
			}
			if n := slices.Max(k.settled); n < 2 {
				t.Errorf("settled together: %v", k.settled)
			}
		})
	})
}

// TestEndsHoldUp: where no end can be written, no more is received than handlers, and what is ahead of them, come to.
func TestEndsHoldUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &counting{noAcks: true}
		var worked atomic.Int32
		consumes(t, k, 900, func(context.Context, int) error {
			worked.Add(1)
			time.Sleep(100 * time.Microsecond)
			return nil
		}, func() {
			time.Sleep(20 * time.Second)
			synctest.Wait()
			if n := worked.Load(); n < 2 || n > 2+2*world.MaxReceive {
				t.Errorf("%d were worked on, and none has ended", n)
			}
		})
	})
}

// hanging is a store whose renewals have no answer.
type hanging struct{ world.Messenger }

func (k hanging) SettleMessages(ctx context.Context, all []world.Settlement) ([]bool, error) {
	if all[0].Kind == world.Extend {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return k.Messenger.SettleMessages(ctx, all)
}

// TestRenewalsHang: what waits for handlers that stand still is given back while a renewal has no answer.
func TestRenewalsHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const visibility = 9 * time.Second
		keep := memory.New().Messages()
		if err := keep.DeclareQueue(t.Context(), world.MessageQueue{Name: "q", Visibility: visibility}); err != nil {
			t.Fatal(err)
		}
		if _, err := keep.SendMessages(t.Context(), slices.Repeat([]world.Message{{Queue: "q", Payload: []byte("1")}}, 900)); err != nil {
			t.Fatal(err)
		}
		var nth, slow atomic.Int32
		began := time.Now()
		c := &Consumer{
			Queue: "q", Visibility: visibility, Keep: hanging{keep}, Notifier: world.Unimplemented{}, Log: silent, Parallel: 2, Idle: time.Hour,
			Declare: func(context.Context, bool) error { return nil },
			Work: func(_ context.Context, m *world.Message) world.Settlement {
				if waited := visibility - time.Until(m.Until); waited > 1500*time.Millisecond {
					t.Errorf("begun when it had waited for %s", waited)
				}
				switch {
				case nth.Add(1) == 1:
					time.Sleep(visibility - time.Second) // its renewal hangs from 3 s to 6 s
				case time.Since(began) > 3500*time.Millisecond:
					slow.Add(1)
					time.Sleep(2 * time.Second)
				default:
					time.Sleep(10 * time.Millisecond)
				}
				return world.Settlement{Receipt: m.Receipt, Kind: world.Ack}
			},
		}
		ctx, stop := context.WithTimeout(t.Context(), visibility)
		defer stop()
		c.Run(ctx)
		if slow.Load() == 0 {
			t.Error("no handler stood still")
		}
	})
}

// TestRenewed: what is known to be ours is worked on, and what is not is given back; a renewal that hangs is given up.
func TestRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		worked := 0
		c := &Consumer{Visibility: 9 * time.Second, Keep: hanging{}, Log: silent, ends: make(chan end, 1), Work: func(context.Context, *world.Message) world.Settlement {
			worked++
			return world.Settlement{}
		}}
		c.stock.init()
		own := func() *working {
			now := time.Now()
			return c.stock.own(t.Context(), &world.Message{Receipt: "r", Until: now.Add(c.Visibility)}, now, now)
		}
		w := own()
		time.Sleep(5 * time.Second)
		all, _ := c.stock.due()
		c.stock.renewed(all, time.Now(), []bool{true}, nil)
		time.Sleep(8 * time.Second)
		if c.work(w); worked != 1 {
			t.Error("one that was renewed 8 s ago is not worked on")
		}
		w, began := own(), time.Now()
		time.Sleep(4 * time.Second)
		all, _ = c.stock.due()
		c.renew(t.Context(), all)
		again, _ := c.stock.due()
		if took := time.Since(began); took > 7*time.Second || len(again) != 1 {
			t.Errorf("a renewal hung for %s, and then %d are due", took-4*time.Second, len(again))
		}
		time.Sleep(8500*time.Millisecond - time.Since(began))
		if c.work(w); worked != 1 {
			t.Error("one is worked on that was received 8.5 s ago")
		}
		if e := <-c.ends; e.s.Kind != world.Unread {
			t.Errorf("it ends with %+v", e.s)
		}
	})
}
