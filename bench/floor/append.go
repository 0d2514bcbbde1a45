package floor

// This file appends rows to a log and does nothing else: what clients ask for meanwhile is written as one transaction, as Stepwell's writers do it.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stepwell/stepwell/bench/engine"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/layout"
)

const group = 256 // rows of a transaction at most

// row is what an append writes: a commit of a trivial step.
type row struct {
	run, seq   int64
	head, body []byte
}

// appender writes groups of rows, each in one transaction that is synced when it returns.
type appender interface {
	append(ctx context.Context, rows []row) error
	close() error
}

// step makes the head and body of the commit of a step of serial10: the step before has ended, the next is asked for and begins.
func step() (row, error) {
	now := world.Now()
	id := world.CorrelationID("wrun_01JD3Z8Q7R2M4T6V8X0A1B2C3D", now, world.Key{Kind: world.KindClosure, Name: "step", Occurrence: 4})
	next := world.CorrelationID("wrun_01JD3Z8Q7R2M4T6V8X0A1B2C3D", now, world.Key{Kind: world.KindClosure, Name: "step", Occurrence: 5})
	head, body, err := layout.AppendRow(nil, nil, [16]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, "0123abc", now, []world.Event{
		{Type: world.StepCompleted, Time: now, ID: id, Attempt: 1, Payload: json.RawMessage("4")},
		{Type: world.StepCreated, Time: now, ID: next, Kind: world.KindClosure, Name: "step", Occurrence: 5},
		{Type: world.StepStarted, Time: now, ID: next, Attempt: 1},
	})
	return row{head: head, body: body}, err
}

func (f *Floor) append(ctx context.Context) (err error) {
	open, writers := openSQLite, 1
	if f.Store.Kind == engine.Postgres {
		open, writers = openPostgres, 2 // as many as Stepwell has
	}
	indexed := f.Work == AppendIndexed
	var all []appender
	defer func() {
		for _, a := range all {
			err = errors.Join(err, a.close())
		}
	}()
	for i := range writers {
		a, err := open(ctx, f.Store, i == 0, indexed)
		if err != nil {
			return err
		}
		all = append(all, a)
	}
	if _, _, err := f.write(ctx, all, f.Time/10); err != nil {
		return err
	}
	if err := f.Begin(); err != nil {
		return err
	}
	times, took, err := f.write(ctx, all, f.Time)
	if err != nil {
		return err
	}
	f.Result.Took(times)
	f.Result.Over(int64(len(times)), int64(len(times)), took)
	return f.End()
}

// runs is the next key of a run.
var runs atomic.Int64

// request is a row of a client's, and where it is told what became of it.
type request struct {
	row
	done chan error
}

// write lets clients append one row after the other, each when the one before is durable.
func (f *Floor) write(ctx context.Context, all []appender, span time.Duration) (times []time.Duration, took time.Duration, err error) {
	r, err := step()
	if err != nil {
		return nil, 0, err
	}
	requests := make(chan *request, f.Concurrency)
	var writing, asking sync.WaitGroup
	for _, a := range all {
		writing.Go(func() { serve(ctx, a, requests) })
	}
	began := time.Now()
	each, errs := make([][]time.Duration, f.Concurrency), make([]error, f.Concurrency)
	for c := range f.Concurrency {
		asking.Go(func() {
			q := &request{row: r, done: make(chan error, 1)}
			for q.run = runs.Add(1); errs[c] == nil && time.Since(began) < span; q.seq += 3 {
				if q.seq == 33 {
					q.run, q.seq = runs.Add(1), 0
				}
				one := time.Now()
				requests <- q
				errs[c] = <-q.done
				each[c] = append(each[c], time.Since(one))
			}
		})
	}
	asking.Wait()
	took = time.Since(began)
	close(requests)
	writing.Wait()
	for _, e := range each {
		times = append(times, e...)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, 0, fmt.Errorf("append: %w", err)
	}
	return times, took, nil
}

// serve writes what has come meanwhile, until nothing can come any more.
func serve(ctx context.Context, a appender, requests <-chan *request) {
	asked, rows := make([]*request, 0, group), make([]row, 0, group)
	for first := range requests {
		asked, rows = append(asked[:0], first), append(rows[:0], first.row)
	more:
		for len(rows) < group {
			select {
			case q, ok := <-requests:
				if !ok {
					break more
				}
				asked, rows = append(asked, q), append(rows, q.row)
			default:
				break more
			}
		}
		err := a.append(ctx, rows)
		for _, q := range asked {
			q.done <- err
		}
	}
}
