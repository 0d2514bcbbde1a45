package engine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell/internal/codec"
	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// TestAWrongClockWakesNobodyEarlyOrLate: a worker whose clock is off, or is set while it works. Its runs start after their delay, sleep in the
// queue, and sleep beside a body, in the session. Times are those of the world.
func TestAWrongClockWakesNobodyEarlyOrLate(t *testing.T) {
	const off, nap, late = 5 * time.Minute, 10 * time.Second, 60 * time.Millisecond
	for name, clock := range map[string]func(since time.Duration) time.Duration{
		"right":                 func(time.Duration) time.Duration { return 0 },
		"five minutes ahead":    func(time.Duration) time.Duration { return off },
		"five minutes behind":   func(time.Duration) time.Duration { return -off },
		"set back meanwhile":    func(since time.Duration) time.Duration { return -off * time.Duration(min(since/(15*time.Second), 1)) },
		"set forward meanwhile": func(since time.Duration) time.Duration { return off * time.Duration(min(since/(15*time.Second), 1)) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				var woken []time.Duration
				code := func(x *replay.Ctx) replay.Outcome {
					wake := func() { woken = append(woken, time.Since(begin)) }
					wake()
					x.Wait(x.Sleep("in the queue", nap))
					wake()
					slow := x.Step(world.KindClosure, "slow", nil, &StepSpec{Run: func(ctx context.Context, _ []byte) ([]byte, error) {
						<-time.After(2 * nap)
						return []byte("1"), nil
					}})
					x.Wait(x.Sleep("beside a body", nap))
					wake()
					x.Wait(slow)
					return replay.Outcome{}
				}
				w := memory.New()
				e, err := New(Config{
					World: untold{w}, Clock: func() time.Time { return time.Now().Add(clock(time.Since(begin))) },
					Workflows: []*Workflow{{Name: "naps", Version: 1, Check: fits, Body: func([]byte, string) replay.Body { return code }}},
				})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- e.Run(ctx) }()
				synctest.Wait()
				worker := e.workerID()
				if _, err := e.Start(ctx, Birth{ID: "late", Birth: world.Birth{Workflow: "naps"}, Input: []byte("1"), Delay: nap}); err != nil {
					t.Fatal(err)
				}
				until(t, "the run to end", func() bool { r, err := w.Run(ctx, "late"); return err == nil && r.Status.Terminal() })
				if len(woken) != 3 {
					t.Fatalf("the code went on at %v, want three times", woken)
				}
				for i, at := range woken {
					if want := time.Duration(i+1) * nap; at < want || at > want+time.Duration(i+1)*late {
						t.Errorf("wake-up %d came at %s, want it at %s", i+1, at, want)
					}
				}
				page, err := w.Events(ctx, "late", world.EventQuery{})
				if err != nil {
					t.Fatal(err)
				}
				last := begin
				for _, ev := range page.Events {
					if ev.Time.Before(last.Truncate(time.Microsecond)) || ev.Time.After(time.Now()) {
						t.Errorf("event %d, %s, has the time %s; the one before %s, now it is %s", ev.Seq, ev.Type, ev.Time, last, time.Now())
					}
					last = ev.Time
				}
				if e.workerID() != worker {
					t.Error("the worker lost its lease")
				}
				cancel()
				if err := <-ended; err != nil {
					t.Errorf("Run = %v", err)
				}
			})
		})
	}
}

// TestNobodySleepsByAClockThatWasWrong: the database's clock is set back for a time, while a step waits for its next attempt, or a nap for its end beside a
// body. Both go on within a heartbeat from when it is right again.
func TestNobodySleepsByAClockThatWasWrong(t *testing.T) {
	const off, right, heartbeat = 10 * time.Minute, 20 * time.Second, 2 * time.Second
	slow := func(x *replay.Ctx) *replay.Future {
		return x.Step(world.KindClosure, "slow", nil, &StepSpec{Run: func(ctx context.Context, _ []byte) ([]byte, error) {
			<-ctx.Done() // the run is over
			return nil, ctx.Err()
		}})
	}
	for name, code := range map[string]func(x *replay.Ctx, tries *int){
		"retry": func(x *replay.Ctx, tries *int) {
			x.Wait(x.Step(world.KindClosure, "flaky", nil, &StepSpec{Run: func(context.Context, []byte) ([]byte, error) {
				if *tries++; *tries == 1 {
					return nil, errors.New("not yet")
				}
				return []byte("1"), nil
			}}))
		},
		"nap beside a body": func(x *replay.Ctx, _ *int) {
			slow(x)
			x.Wait(x.Step(world.KindClosure, "fails", nil, &StepSpec{
				Run:    func(context.Context, []byte) ([]byte, error) { return nil, errors.New("once, for good") },
				Policy: Policy{Attempts: 1},
			}))
			x.Wait(x.Sleep("nap", 3*time.Second))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &setBack{World: memory.New(), off: off, right: right}
				var ended time.Time
				tries := 0
				e, err := New(Config{
					World: w, Heartbeat: heartbeat, Record: func(err error) *world.Error { return codec.FromError(err, nil) },
					Workflows: []*Workflow{{Name: "waits", Version: 1, Check: fits, Body: func([]byte, string) replay.Body {
						return func(x *replay.Ctx) replay.Outcome {
							code(x, &tries)
							ended = time.Now()
							return replay.Outcome{}
						}
					}}},
				})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() { done <- e.Run(ctx) }()
				synctest.Wait()
				if _, err := e.Start(ctx, Birth{ID: "r", Birth: world.Birth{Workflow: "waits"}, Input: []byte("1")}); err != nil {
					t.Fatal(err)
				}
				until(t, "the run to end", func() bool { r, err := w.Run(ctx, "r"); return err == nil && r.Status.Terminal() })
				if late := ended.Sub(w.set.Add(right)); w.set.IsZero() || late < 0 || late > 2*heartbeat {
					t.Errorf("it went on %s after the clock was right again, want it within a heartbeat of %s", late, heartbeat)
				}
				cancel()
				if err := <-done; err != nil {
					t.Errorf("Run = %v", err)
				}
			})
		})
	}
}

// setBack is a database whose clock is set back as soon as a step has failed, and is right again a time
// later. While it is back, nothing is due there.
type setBack struct {
	*memory.World
	off, right time.Duration
	set        time.Time
}

func (w *setBack) Abilities() world.Abilities { return world.Abilities{Timekeeper: w} }

func (w *setBack) Time() time.Time {
	if !w.set.IsZero() && time.Since(w.set) < w.right {
		return w.World.Time().Add(-w.off)
	}
	return w.World.Time()
}

func (w *setBack) Commit(ctx context.Context, c *world.Commit) (world.Committed, error) {
	out, err := w.World.Commit(ctx, c)
	for i := range c.Events {
		if e := &c.Events[i]; w.set.IsZero() && (e.Type == world.StepRetrying || e.Type == world.StepFailed) {
			w.set = time.Now()
		}
	}
	return out, err
}

func (w *setBack) Claim(ctx context.Context, q world.ClaimQuery) (world.Claimed, error) {
	if now := w.Time(); !now.Equal(w.World.Time()) {
		return world.Claimed{Now: now}, nil
	}
	return w.World.Claim(ctx, q)
}

func (w *setBack) Heartbeat(ctx context.Context, q world.HeartbeatQuery) (world.Heartbeat, error) {
	b, err := w.World.Heartbeat(ctx, q)
	off := w.Time().Sub(w.World.Time())
	b.Now, b.Until = b.Now.Add(off), b.Until.Add(off)
	return b, err
}

// TestADelayCountsByTheWorldsClock: also where a client that does not work asks for it, whose own clock is wrong.
func TestADelayCountsByTheWorldsClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := memory.New()
		e, err := New(Config{World: w, Clock: func() time.Time { return time.Now().Add(-time.Hour) }})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Start(t.Context(), Birth{ID: "late", Birth: world.Birth{Workflow: "x"}, Input: []byte("1"), Delay: time.Minute}); err != nil {
			t.Fatal(err)
		}
		r, err := w.Run(t.Context(), "late")
		if err != nil {
			t.Fatal(err)
		}
		if got, want := r.Queue.WakeAt, time.Now().Add(time.Minute); got.Sub(want).Abs() > time.Second {
			t.Errorf("it is due at %s, want %s", got, want)
		}
		if d := time.Until(r.CreatedAt); d.Abs() > time.Second { // else what it waits for would count from there
			t.Errorf("it is created %s off the world's time", d)
		}
	})
}

// untold is a world whose time is known by its answers alone, as that of one that is far away.
type untold struct{ *memory.World }

func (untold) Abilities() world.Abilities { return world.Abilities{} }

// fits takes any input.
func fits([]byte) error { return nil }
