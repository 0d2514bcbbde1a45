package engine

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// TestABeatOfABodyThatEndsIsNotALostLease: a body that begins asks whether the lease still runs, and its context ends with ErrLeaseLost as its cause. A world returns the
// cause of a context that is over: that is no word of the world's, and the worker keeps what it has.
func TestABeatOfABodyThatEndsIsNotALostLease(t *testing.T) {
	body, end := context.WithCancelCause(t.Context())
	w := endsHeartbeats{memory.New(), func() { end(world.ErrLeaseLost) }}
	defer w.Close()
	var log bytes.Buffer
	e, err := New(Config{World: w, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.join(t.Context()); err != nil {
		t.Fatal(err)
	}
	worker := e.workerID()
	e.heartbeatOnce(body)
	if body.Err() == nil {
		t.Error("the world was not asked")
	}
	if strings.Contains(log.String(), "is lost") || e.workerID() != worker {
		t.Errorf("the worker was %s and is %s; it says:\n%s", worker, e.workerID(), log.String())
	}
}

// TestJoinsThatFailAreNotTriedAtOnce: a worker whose lease is lost and who cannot join anew asks again with backoff, and works as
// soon as it may.
func TestJoinsThatFailAreNotTriedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &refusesJoins{World: memory.New()}
		defer w.Close()
		e, err := New(Config{World: w, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- e.Run(ctx) }()
		time.Sleep(time.Minute)
		w.refusing.Store(true)
		before := w.joins.Load()
		time.Sleep(time.Minute)
		if n := w.joins.Load() - before; n < 20 || n > 60 {
			t.Errorf("%d joins in a minute in which all fail, want about one in two seconds", n)
		}
		w.refusing.Store(false)
		time.Sleep(5 * time.Second)
		if before = w.joins.Load(); !e.lease.runs() {
			t.Error("the worker has no lease, though it may join")
		}
		time.Sleep(time.Minute)
		if n := w.joins.Load() - before; n != 0 {
			t.Errorf("it joined %d times more", n)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// refusesJoins is a world that sometimes knows no worker and takes none.
type refusesJoins struct {
	*memory.World
	refusing atomic.Bool
	joins    atomic.Int64
}

func (w *refusesJoins) Join(ctx context.Context, wk world.Worker) (world.Heartbeat, error) {
	w.joins.Add(1)
	if w.refusing.Load() {
		return world.Heartbeat{}, world.ErrStorage
	}
	return w.World.Join(ctx, wk)
}

func (w *refusesJoins) Heartbeat(ctx context.Context, q world.HeartbeatQuery) (world.Heartbeat, error) {
	if w.refusing.Load() {
		return world.Heartbeat{}, world.ErrLeaseLost
	}
	return w.World.Heartbeat(ctx, q)
}

func (w *refusesJoins) Claim(ctx context.Context, q world.ClaimQuery) (world.Claimed, error) {
	if w.refusing.Load() {
		return world.Claimed{}, world.ErrLeaseLost
	}
	return w.World.Claim(ctx, q)
}

// endsHeartbeats is a world whose heartbeats are interrupted.
type endsHeartbeats struct {
	*memory.World
	end func()
}

func (w endsHeartbeats) Heartbeat(ctx context.Context, q world.HeartbeatQuery) (world.Heartbeat, error) {
	w.end()
	return w.World.Heartbeat(ctx, q)
}
