package river

import (
	"context"
	"fmt"
	"time"

	queue "github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/stepwell/stepwell/bench/engine"
)

// This file is what workloads ask of the queue. It has no signals and no children.

var (
	_ engine.Fanner  = (*peer)(nil)
	_ engine.Starter = (*peer)(nil)
	_ engine.Sleeper = (*peer)(nil)
	_ engine.Lister  = (*peer)(nil)
)

// insert puts one job in the queue. It is durable when insert returns.
func (p *peer) insert(ctx context.Context, job queue.JobArgs) error {
	in, err := p.client.Insert(ctx, job, nil)
	if err != nil {
		return fmt.Errorf("putting a job of River in the queue: %w", err)
	}
	p.last.Store(in.Job.ID)
	return nil
}

// Serial implements [engine.Engine].
func (p *peer) Serial(ctx context.Context, n int, gaps []time.Time) error {
	number, r := p.expect(1) // its last step
	if gaps != nil {
		p.gaps.Store(number, gaps)
		defer p.gaps.Delete(number)
	}
	if err := p.insert(ctx, serialStep{Run: number, N: n}); err != nil {
		p.runs.Delete(number)
		return err
	}
	return p.wait(ctx, number, r)
}

// Fanout implements [engine.Fanner].
func (p *peer) Fanout(ctx context.Context, n int) error {
	number, r := p.expect(n)
	jobs := make([]queue.InsertManyParams, n)
	for i := range jobs {
		jobs[i].Args = single{Run: number}
	}
	if _, err := p.client.InsertManyFast(ctx, jobs); err != nil {
		p.runs.Delete(number)
		return fmt.Errorf("putting %d jobs of River in the queue: %w", n, err)
	}
	return p.wait(ctx, number, r)
}

// Start implements [engine.Starter].
func (p *peer) Start(ctx context.Context) error { return p.insert(ctx, single{}) }

// Sleepers implements [engine.Sleeper]. A job sleeps as soon as it is in the queue.
func (p *peer) Sleepers(ctx context.Context, n int) error {
	const batch = 5000 // as its own bench command
	due := &queue.InsertOpts{ScheduledAt: time.Now().Add(24 * time.Hour)}
	for n > 0 {
		jobs := make([]queue.InsertManyParams, min(n, batch))
		for i := range jobs {
			jobs[i] = queue.InsertManyParams{Args: sleeper{}, InsertOpts: due}
		}
		if _, err := p.client.InsertManyFast(ctx, jobs); err != nil {
			return fmt.Errorf("putting %d sleeping jobs of River in the queue: %w", len(jobs), err)
		}
		n -= len(jobs)
	}
	return nil
}

// List implements [engine.Lister].
func (p *peer) List(ctx context.Context) error {
	page := queue.NewJobListParams().First(50).States(rivertype.JobStateCompleted)
	if _, err := p.client.JobList(ctx, page); err != nil {
		return fmt.Errorf("listing the jobs of River: %w", err)
	}
	return nil
}

// Events implements [engine.Lister].
func (p *peer) Events(ctx context.Context) error {
	id := p.last.Load()
	if id == 0 {
		return nil
	}
	if _, err := p.client.JobGet(ctx, id); err != nil {
		return fmt.Errorf("reading job %d of River: %w", id, err)
	}
	return nil
}
