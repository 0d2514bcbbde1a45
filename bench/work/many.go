package work

// This file has the workloads of many runs that do little: starts, sleepers, families, and writers beside readers.

import (
	"context"
	"sync"
	"time"

	"github.com/stepwell/stepwell/bench/engine"
	"github.com/stepwell/stepwell/bench/measure"
)

var start = &Workload{
	Name: "start", What: "runs that are durably started, by so many clients at once, while they are worked on: starts a second",
	Figure: runsPerS, Unit: "starts/s",
	Run: func(ctx context.Context, b *Bench) error {
		e, ok := b.Engine.(engine.Starter)
		if !ok {
			return ErrNotOffered
		}
		if err := warm(ctx, b, e.Start); err != nil {
			return err
		}
		if err := b.Begin(); err != nil {
			return err
		}
		all, took, err := crowd(ctx, b.Concurrency, b.Time, e.Start)
		if err != nil {
			return err
		}
		b.Result.Took(all)
		b.Result.Over(int64(len(all)), 0, took)
		return b.End()
	},
}

var sleepers = &Workload{
	Name: "sleepers", What: "so many runs that sleep for a day: the time until all sleep, bytes on disk and resident memory of each",
	Figure: func(r *measure.Result) float64 { return r.Seconds }, Less: true, Unit: "s",
	Run: func(ctx context.Context, b *Bench) error {
		e, ok := b.Engine.(engine.Sleeper)
		if !ok {
			return ErrNotOffered
		}
		if err := b.Engine.Serial(ctx, 1, nil); err != nil {
			return err
		}
		if err := b.Begin(); err != nil {
			return err
		}
		began := time.Now()
		if err := e.Sleepers(ctx, b.N); err != nil {
			return err
		}
		b.Result.Over(int64(b.N), 0, time.Since(began))
		return b.End()
	},
}

const outside = 40 // clients that start as many runs as a parent has children

var children = &Workload{
	Name: "children", What: "one run that starts so many child runs and waits for all, from its start to its result: the median",
	Figure: p50, Less: true, Unit: "ms",
	Run: func(ctx context.Context, b *Bench) error {
		e, ok := b.Engine.(engine.Parent)
		if !ok {
			return ErrNotOffered
		}
		if err := e.Children(ctx, b.N); err != nil {
			return err
		}
		if err := b.oneByOne(ctx, b.N, func(ctx context.Context) error { return e.Children(ctx, b.N) }); err != nil {
			return err
		}
		_, took, err := times(ctx, outside, b.N, func(ctx context.Context) error { return b.Engine.Serial(ctx, 1, nil) })
		if err == nil && took > 0 {
			b.Result.OfStarts = b.Result.P50 / measure.Millis(took)
		}
		return err
	},
}

const (
	readers = 50          // of a mixed workload
	rest    = time.Second // between two questions of a reader, as a page that refreshes itself
)

var mixed = &Workload{
	Name: "mixed", What: "serial10 while 50 clients list and filter runs and read the events of one, each of them once a second: runs a second",
	Figure: runsPerS, Unit: "runs/s",
	Run: func(ctx context.Context, b *Bench) error {
		e, ok := b.Engine.(engine.Lister)
		if !ok {
			return ErrNotOffered
		}
		one := func(ctx context.Context) error { return b.Engine.Serial(ctx, steps, nil) }
		if err := warm(ctx, b, one); err != nil {
			return err
		}
		all, took, err := crowd(ctx, b.Concurrency, b.Time, one)
		if err != nil {
			return err
		}
		b.Result.Alone = float64(len(all)) / took.Seconds()
		if err := b.Begin(); err != nil {
			return err
		}
		stop := read(ctx, e)
		all, took, err = crowd(ctx, b.Concurrency, b.Time, one)
		asks, failed := stop()
		if err != nil {
			return err
		}
		if failed != nil {
			return failed
		}
		b.Result.Took(all)
		b.Result.Over(int64(len(all)), int64(len(all)*steps), took)
		b.Result.Asks = float64(len(asks)) / took.Seconds()
		b.Result.AskP50, b.Result.AskP99 = measure.Millis(measure.Percentile(asks, 50)), measure.Millis(measure.Percentile(asks, 99))
		return b.End()
	},
}

// read lets readers ask until they are stopped; then it tells how long their answers took.
func read(ctx context.Context, e engine.Lister) (stop func() ([]time.Duration, error)) {
	ctx, cancel := context.WithCancel(ctx)
	each := make([][]time.Duration, readers)
	errs := make([]error, readers)
	var wg sync.WaitGroup
	for i := range readers {
		wg.Go(func() {
			pause := time.NewTimer(rest * time.Duration(i) / readers) // they do not ask all at once
			defer pause.Stop()
			for n := i; ; n++ {
				select {
				case <-ctx.Done():
					return
				case <-pause.C:
				}
				ask := e.List
				if n%2 == 1 {
					ask = e.Events
				}
				began := time.Now()
				if err := ask(ctx); err != nil {
					if ctx.Err() == nil {
						errs[i] = err
					}
					return
				}
				each[i] = append(each[i], time.Since(began))
				pause.Reset(rest)
			}
		})
	}
	return func() (all []time.Duration, err error) {
		cancel()
		wg.Wait()
		for i := range readers {
			all = append(all, each[i]...)
			if errs[i] != nil {
				err = errs[i]
			}
		}
		return all, err
	}
}
