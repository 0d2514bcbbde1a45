package work

// This file has the workloads of single runs: their rate, their latency, long ones and wide ones.

import (
	"context"
	"fmt"
	"time"

	"github.com/stepwell/stepwell/bench/engine"
	"github.com/stepwell/stepwell/bench/measure"
)

const steps = 10 // of an ordinary run

var serial = &Workload{
	Name: "serial10", What: "runs of 10 serial steps, started by so many clients at once: steps a second",
	Figure: stepsPerS, Unit: "steps/s",
	Run: func(ctx context.Context, b *Bench) error {
		one := func(ctx context.Context) error { return b.Engine.Serial(ctx, steps, nil) }
		if err := warm(ctx, b, one); err != nil {
			return err
		}
		if err := b.Begin(); err != nil {
			return err
		}
		all, took, err := crowd(ctx, b.Concurrency, b.Time, one)
		if err != nil {
			return err
		}
		b.Result.Took(all)
		b.Result.Over(int64(len(all)), int64(len(all)*steps), took)
		return b.End()
	},
}

var latency = &Workload{
	Name: "latency", What: "one run of 10 serial steps at a time, from its start to its result: the median",
	Figure: p50, Less: true, Unit: "ms",
	Run: func(ctx context.Context, b *Bench) error {
		var gaps []time.Duration
		one := func(ctx context.Context) error {
			begun := make([]time.Time, steps)
			if err := b.Engine.Serial(ctx, steps, begun); err != nil {
				return err
			}
			for i := range steps - 1 {
				gaps = append(gaps, begun[i+1].Sub(begun[i]))
			}
			return nil
		}
		if err := warm(ctx, b, one); err != nil {
			return err
		}
		gaps = nil
		if err := b.Begin(); err != nil {
			return err
		}
		all, took, err := crowd(ctx, 1, b.Time, one)
		if err != nil {
			return err
		}
		b.Result.Took(all)
		b.Result.GapP50, b.Result.GapP99 = measure.Millis(measure.Percentile(gaps, 50)), measure.Millis(measure.Percentile(gaps, 99))
		b.Result.Over(int64(len(all)), int64(len(all)*steps), took)
		return b.End()
	},
}

var long = &Workload{
	Name: "long", What: "one run of so many serial steps; what a step takes in its first and in its last tenth",
	Figure: p50, Less: true, Unit: "ms",
	Run: func(ctx context.Context, b *Bench) error {
		if err := warm(ctx, b, func(ctx context.Context) error { return b.Engine.Serial(ctx, steps, nil) }); err != nil {
			return err
		}
		begun := make([]time.Time, b.N)
		if err := b.Begin(); err != nil {
			return err
		}
		began := time.Now()
		if err := b.Engine.Serial(ctx, b.N, begun); err != nil {
			return err
		}
		took := time.Since(began)
		tenth := b.N / 10
		micros := func(from, to int) float64 {
			return float64(begun[to].Sub(begun[from]).Microseconds()) / float64(to-from)
		}
		b.Result.FirstTenth, b.Result.LastTenth = micros(0, tenth), micros(b.N-1-tenth, b.N-1)
		b.Result.Took([]time.Duration{took})
		b.Result.Over(1, int64(b.N), took)
		return b.End()
	},
}

var fanout = &Workload{
	Name: "fanout", What: "one run with so many parallel steps, from its start to its result: the median",
	Figure: p50, Less: true, Unit: "ms",
	Run: func(ctx context.Context, b *Bench) error {
		e, ok := b.Engine.(engine.Fanner)
		if !ok {
			return ErrNotOffered
		}
		one := func(ctx context.Context) error { return e.Fanout(ctx, b.N) }
		if err := one(ctx); err != nil {
			return fmt.Errorf("warm-up: %w", err)
		}
		return b.oneByOne(ctx, b.N, one)
	},
}

// oneByOne measures something that is done one after the other; each has so many steps.
func (b *Bench) oneByOne(ctx context.Context, steps int, do func(ctx context.Context) error) error {
	if err := b.Begin(); err != nil {
		return err
	}
	all, took, err := crowd(ctx, 1, b.Time, do)
	if err != nil {
		return err
	}
	b.Result.Took(all)
	b.Result.Over(int64(len(all)), int64(len(all)*steps), took)
	return b.End()
}
