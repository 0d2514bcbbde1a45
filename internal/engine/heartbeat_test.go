package engine

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

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

// endsHeartbeats is a world whose heartbeats are interrupted.
type endsHeartbeats struct {
	*memory.World
	end func()
}

func (w endsHeartbeats) Heartbeat(ctx context.Context, q world.HeartbeatQuery) (world.Heartbeat, error) {
	w.end()
	return w.World.Heartbeat(ctx, q)
}
