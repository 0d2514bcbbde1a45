package behaviour_test

// A worker that ends while its database is away.

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// unplugged is a world whose database can go away: then no call is answered.
type unplugged struct {
	world.World
	away atomic.Bool
}

func (u *unplugged) answered(ctx context.Context) error {
	if !u.away.Load() {
		return nil
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

func (u *unplugged) Commit(ctx context.Context, c *world.Commit) (done world.Committed, err error) {
	if err := u.answered(ctx); err != nil {
		return done, err
	}
	return u.World.Commit(ctx, c)
}

func (u *unplugged) Heartbeat(ctx context.Context, q world.HeartbeatQuery) (b world.Heartbeat, err error) {
	if err := u.answered(ctx); err != nil {
		return b, err
	}
	return u.World.Heartbeat(ctx, q)
}

func (u *unplugged) Claim(ctx context.Context, q world.ClaimQuery) (t world.Claimed, err error) {
	if err := u.answered(ctx); err != nil {
		return t, err
	}
	return u.World.Claim(ctx, q)
}

func (u *unplugged) Leave(ctx context.Context, id string) error {
	if err := u.answered(ctx); err != nil {
		return err
	}
	return u.World.Leave(ctx, id)
}

// TestAWorkerEndsWithoutItsDatabase: where the database is away and no body runs, a worker that is told to end does not wait out its drain time.
func TestAWorkerEndsWithoutItsDatabase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &unplugged{World: memory.New()}
		flow := stepwell.Define("flow", func(ctx stepwell.Context, _ int) (int, error) {
			return stepwell.Step(ctx, "unplug", func(context.Context) (int, error) { u.away.Store(true); return 1, nil })
		})
		const drain = time.Minute
		app, err := stepwell.New(u, stepwell.Config{Definitions: []stepwell.Definition{flow}, Drain: drain})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- app.Run(ctx) }()
		synctest.Wait()
		if _, err := flow.Start(t.Context(), app, 1); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // the step has ended, and cannot be recorded
		told := time.Now()
		stop()
		if err := <-ended; err == nil {
			t.Error("got no error, want that it could not leave")
		}
		if took := time.Since(told); took >= drain/5 {
			t.Errorf("it ended after %s, want long before its drain time of %s: nobody is waited for", took, drain)
		}
		u.away.Store(false)
		if err := u.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
