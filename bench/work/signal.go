package work

// This file has the workloads of signals: in the process that works on the run, and from another one.

import (
	"context"
	"time"

	"github.com/stepwell/stepwell/bench/engine"
)

var signal = &Workload{
	Name: "signal", What: "from the moment a signal to a waiting run is accepted until the body of the run's next step begins, same process: the median",
	Figure: p50, Less: true, Unit: "ms",
	Run: func(ctx context.Context, b *Bench) error {
		e, ok := b.Engine.(engine.Signaller)
		if !ok {
			return ErrNotOffered
		}
		return signals(ctx, b, e.Signal)
	},
}

var remote = &Workload{
	Name: "signal-remote", What: "the same, where the signal comes over another client's connections to the store: the median",
	Figure: p50, Less: true, Unit: "ms",
	Run: func(ctx context.Context, b *Bench) error {
		e, ok := b.Engine.(engine.RemoteSignaller)
		if !ok {
			return ErrNotOffered
		}
		return signals(ctx, b, e.SignalRemote)
	},
}

func signals(ctx context.Context, b *Bench, do func(ctx context.Context) (sent, began time.Time, err error)) error {
	var late []time.Duration
	one := func(ctx context.Context) error {
		sent, began, err := do(ctx)
		late = append(late, max(began.Sub(sent), 0))
		return err
	}
	if err := warm(ctx, b, one); err != nil {
		return err
	}
	late = nil
	if err := b.Begin(); err != nil {
		return err
	}
	_, took, err := crowd(ctx, 1, b.Time, one)
	if err != nil {
		return err
	}
	b.Result.Over(int64(len(late)), 0, took)
	b.Result.RunsPerS, b.Result.StepsPerS = 0, 0 // most of the time runs were brought to wait
	b.Result.Took(late)
	return b.End()
}
