package work

// This file has the workloads of recovery: replays of long logs, and the runs of a process that was killed.

import (
	"context"
	"errors"
	"time"

	"github.com/stepwell/stepwell/bench/engine"
	"github.com/stepwell/stepwell/bench/measure"
)

const (
	perStep  = 3  // events that a step has in Stepwell's log: it was asked for, has begun, has ended
	beside   = 50 // runs whose logs are written interleaved
	tickers  = 20 // runs of a process that is killed
	replayed = 5  // replays of a point, each in an engine that was opened for it
)

var replay = &Workload{
	Name: "replay", What: "a run of so many events wakes in an engine that has just been opened, until its next step begins; files are in the system's cache: the median",
	Figure: p50, Less: true, Unit: "ms", Run: func(ctx context.Context, b *Bench) error { return replays(ctx, b, 1, func() error { return nil }) },
}

var interleaved = &Workload{
	Name: "replay-cold", What: "the same with runs whose events were written interleaved with those of 49 others, and files that the system has forgotten: the median",
	Figure: p50, Less: true, Unit: "ms", Run: func(ctx context.Context, b *Bench) error {
		e, ok := b.Engine.(engine.Forgetter)
		if !ok {
			return ErrNotOffered
		}
		return replays(ctx, b, beside, e.Forget)
	},
}

func replays(ctx context.Context, b *Bench, side int, forget func() error) error {
	e, ok := b.Engine.(engine.Replayer)
	if !ok {
		return ErrNotOffered
	}
	ids, err := e.Prepare(ctx, side, b.N/perStep)
	if err != nil {
		return err
	}
	var all []time.Duration
	for i := range replayed {
		if err := b.Engine.Close(ctx); err != nil {
			return err
		}
		if err := forget(); err != nil {
			return err
		}
		if err := b.Reopen(ctx); err != nil {
			return err
		}
		took, err := b.Engine.(engine.Replayer).Wake(ctx, ids[i%len(ids)])
		if err != nil {
			return err
		}
		all = append(all, took)
	}
	b.Result.Took(all)
	b.Result.Measured = int64(len(all))
	return nil
}

var takeover = &Workload{
	Name: "takeover", What: "20 runs of a process that is killed with SIGKILL, until another one has begun a step of each: all of them; on SQLite that one starts after the death, on PostgreSQL it is there before",
	Figure: func(r *measure.Result) float64 { return r.P99 }, Less: true, Unit: "ms", Opens: true,
	Run: func(ctx context.Context, b *Bench) error {
		kill, err := b.Victim(ctx, tickers)
		if err != nil {
			return err
		}
		standby := b.Result.Store == string(engine.Postgres)
		if standby {
			err = b.Reopen(ctx)
			if err == nil {
				err = settle(ctx)
			}
		}
		killed := time.Now()
		if err = errors.Join(err, kill()); err != nil {
			return err
		}
		if !standby {
			if err := b.Reopen(ctx); err != nil {
				return err
			}
		}
		e, ok := b.Engine.(engine.Ticker)
		if !ok {
			return ErrNotOffered
		}
		at, err := e.Ticked(ctx, tickers)
		if err != nil {
			return err
		}
		var all []time.Duration
		for _, t := range at {
			all = append(all, t.Sub(killed))
		}
		b.Result.Took(all)
		b.Result.Measured = int64(len(all))
		return nil
	},
}

// settle gives a process that stands by the time to have looked at its peer: it looks about once a second.
func settle(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(2500 * time.Millisecond):
		return nil
	}
}
