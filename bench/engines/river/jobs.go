package river

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	queue "github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
)

// This file holds the jobs, and how the end of a run's jobs is known.

// serialStep is step I of N of a serial run. It has a number where anybody waits for it.
type serialStep struct {
	Run  int64 `json:"run"`
	I, N int
}

// single is a step that nothing follows.
type single struct {
	Run int64 `json:"run"`
}

// sleeper is a job that is due in a day.
type sleeper struct{}

func (serialStep) Kind() string { return "serial" }
func (single) Kind() string     { return "single" }
func (sleeper) Kind() string    { return "sleeper" }

// run is what somebody waits for: some jobs.
type run struct {
	left atomic.Int64
	done chan struct{}
}

// expect makes a run of n jobs known.
func (p *peer) expect(n int) (int64, *run) {
	number, r := p.number.Add(1), &run{done: make(chan struct{})}
	r.left.Store(int64(n))
	p.runs.Store(number, r)
	return number, r
}

// wait waits until all jobs of a run are done.
func (p *peer) wait(ctx context.Context, number int64, r *run) error {
	defer p.runs.Delete(number)
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for the jobs of River: %w", ctx.Err())
	}
}

// arrived notes that a job of a run is done.
func (p *peer) arrived(number int64) {
	if r, found := p.runs.Load(number); found && r.(*run).left.Add(-1) == 0 {
		close(r.(*run).done)
	}
}

// count reads what River says of completed jobs: a job that is done alone is durable from then on, not when its worker returned.
func (p *peer) count(completed <-chan *queue.Event) {
	defer close(p.ended)
	for event := range completed {
		if event.Job.Kind != (single{}).Kind() {
			continue
		}
		var job single
		if err := json.Unmarshal(event.Job.EncodedArgs, &job); err == nil {
			p.arrived(job.Run)
		}
	}
}

type serialWorker struct {
	queue.WorkerDefaults[serialStep]
	peer *peer
}

// Work does a step: it puts the next one in the queue and completes this one, in one transaction.
func (w *serialWorker) Work(ctx context.Context, job *queue.Job[serialStep]) error {
	p, step := w.peer, job.Args
	if at, found := p.gaps.Load(step.Run); found {
		at.([]time.Time)[step.I] = time.Now()
	}
	tx, err := p.pool.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx) // after the commit it does nothing
	if step.I+1 < step.N {
		if _, err := p.client.InsertTx(ctx, tx, serialStep{Run: step.Run, I: step.I + 1, N: step.N}, nil); err != nil {
			return err
		}
	}
	if _, err := queue.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job); err != nil {
		return err
	}
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	if step.I+1 == step.N {
		p.arrived(step.Run)
	}
	return nil
}

type singleWorker struct{ queue.WorkerDefaults[single] }

func (*singleWorker) Work(context.Context, *queue.Job[single]) error { return nil }

type sleeperWorker struct{ queue.WorkerDefaults[sleeper] }

func (*sleeperWorker) Work(context.Context, *queue.Job[sleeper]) error { return nil }
