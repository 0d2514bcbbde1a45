package stepwell

// This file holds the workflows.

import (
	"context"
	"time"

	"github.com/stepwell/stepwell"
)

// order is the input of all of them.
type order struct {
	Steps int   `json:"steps"`
	Note  int64 `json:"note,omitempty"` // whom the bodies of steps tell when they begin: see bench.note; 0: nobody
}

type flows struct {
	serial, wide, nap, listen, leaf, parent, tick *stepwell.Workflow[order, int]
	ping                                          *stepwell.EventDef[int]
}

func (f *flows) all() []stepwell.Definition {
	return []stepwell.Definition{f.serial, f.wide, f.nap, f.listen, f.leaf, f.parent, f.tick}
}

// noted makes somebody whom bodies of steps tell their number and the time when they begin.
func (b *bench) noted(tell func(i int, at time.Time)) (note int64, forget func()) {
	note = b.notes.Add(1)
	b.noting.Store(note, tell)
	return note, func() { b.noting.Delete(note) }
}

// body is what every step does: it returns its number.
func (b *bench) body(note int64, i int) func(context.Context) (int, error) {
	return func(context.Context) (int, error) {
		if note != 0 {
			if tell, ok := b.noting.Load(note); ok {
				tell.(func(int, time.Time))(i, time.Now())
			}
		}
		return i, nil
	}
}

func (b *bench) define() {
	f := &b.flows
	f.ping = stepwell.Event[int]("ping")
	f.serial = stepwell.Define("serial", func(ctx stepwell.Context, in order) (int, error) {
		return b.steps(ctx, in)
	})
	f.wide = stepwell.Define("wide", func(ctx stepwell.Context, in order) (int, error) {
		all := make([]*stepwell.Future[int], in.Steps)
		for i := range all {
			all[i] = stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) { return stepwell.Step(ctx, "step", b.body(0, i)) })
		}
		got, err := stepwell.All(ctx, all...)
		return len(got), err
	})
	f.nap = stepwell.Define("nap", func(ctx stepwell.Context, _ order) (int, error) {
		return 0, stepwell.Sleep(ctx, "nap", 24*time.Hour)
	})
	f.listen = stepwell.Define("listen", func(ctx stepwell.Context, in order) (int, error) {
		if _, err := b.steps(ctx, in); err != nil {
			return 0, err
		}
		for {
			note, _, err := f.ping.Wait(ctx)
			if note <= 0 || err != nil {
				return 0, err
			}
			if _, err := stepwell.Step(ctx, "heard", b.body(int64(note), 0)); err != nil {
				return 0, err
			}
		}
	})
	f.leaf = stepwell.Define("leaf", func(_ stepwell.Context, in order) (int, error) { return in.Steps, nil })
	f.parent = stepwell.Define("parent", func(ctx stepwell.Context, in order) (int, error) {
		all := make([]*stepwell.Future[int], in.Steps)
		for i := range all {
			all[i] = f.leaf.Child().Start(ctx, order{Steps: i}).Future
		}
		got, err := stepwell.All(ctx, all...)
		return len(got), err
	})
	f.tick = stepwell.Define("tick", func(ctx stepwell.Context, in order) (int, error) {
		for range in.Steps {
			if err := stepwell.Do(ctx, "tick", b.ticks); err != nil {
				return 0, err
			}
		}
		return in.Steps, nil
	})
}

// steps are trivial ones in turn; their numbers are added.
func (b *bench) steps(ctx stepwell.Context, in order) (sum int, err error) {
	for i := range in.Steps {
		v, err := stepwell.Step(ctx, "step", b.body(in.Note, i))
		if err != nil {
			return 0, err
		}
		sum += v
	}
	return sum, nil
}

// ticks is a step that takes 100 ms; the first of each run here is noted.
func (b *bench) ticks(ctx context.Context) error {
	b.ticking.LoadOrStore(stepwell.Info(ctx).Run, time.Now())
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(100 * time.Millisecond):
		return nil
	}
}
