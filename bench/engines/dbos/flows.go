package dbos

// This file holds the workflows.

import (
	"context"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
)

type order struct {
	Steps int   `json:"steps"`
	Note  int64 `json:"note,omitempty"` // whom the bodies of steps tell when they begin; 0: nobody
}

func (b *bench) noted(tell func(i int, at time.Time)) (note int64, forget func()) {
	note = b.notes.Add(1)
	b.noting.Store(note, tell)
	return note, func() { b.noting.Delete(note) }
}

// body is what every step does: it returns its number.
func (b *bench) body(note int64, i int) dbos.Step[int] {
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
	named := dbos.WithStepName("step")
	b.serial = func(ctx dbos.Context, in order) (sum int, err error) {
		for i := range in.Steps {
			v, err := dbos.RunAsStep(ctx, b.body(in.Note, i), named)
			if err != nil {
				return 0, err
			}
			sum += v
		}
		return sum, nil
	}
	b.wide = func(ctx dbos.Context, in order) (n int, err error) {
		all := make([]<-chan dbos.StepOutcome[int], in.Steps)
		for i := range all {
			if all[i], err = dbos.Go(ctx, b.body(0, i), named); err != nil {
				return 0, err
			}
		}
		for _, c := range all {
			if o := <-c; o.Err != nil {
				return n, o.Err
			}
			n++
		}
		return n, nil
	}
	b.nap = func(ctx dbos.Context, _ order) (int, error) {
		b.napping.Add(1)
		_, err := dbos.Sleep(ctx, 24*time.Hour)
		return 0, err
	}
	b.listen = func(ctx dbos.Context, _ order) (int, error) {
		note, err := dbos.Recv[int64](ctx, topic, time.Hour)
		if err != nil {
			return 0, err
		}
		return dbos.RunAsStep(ctx, b.body(note, 0), named)
	}
	b.leaf = func(_ dbos.Context, in order) (int, error) { return in.Steps, nil }
	b.parent = func(ctx dbos.Context, in order) (n int, err error) {
		all := make([]dbos.WorkflowHandle[int], in.Steps)
		for i := range all {
			if all[i], err = dbos.RunWorkflow(ctx, b.leaf, order{Steps: i}); err != nil {
				return 0, err
			}
		}
		for _, h := range all {
			if _, err := h.GetResult(); err != nil {
				return n, err
			}
			n++
		}
		return n, nil
	}
	dbos.RegisterWorkflow(b.ctx, b.serial, dbos.WithWorkflowName("serial"))
	dbos.RegisterWorkflow(b.ctx, b.wide, dbos.WithWorkflowName("wide"))
	dbos.RegisterWorkflow(b.ctx, b.nap, dbos.WithWorkflowName("nap"))
	dbos.RegisterWorkflow(b.ctx, b.listen, dbos.WithWorkflowName("listen"))
	dbos.RegisterWorkflow(b.ctx, b.leaf, dbos.WithWorkflowName("leaf"))
	dbos.RegisterWorkflow(b.ctx, b.parent, dbos.WithWorkflowName("parent"))
}
