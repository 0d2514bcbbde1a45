package main

// This file measures a queue.

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// queue is a queue under the bench. A payload is a number.
type queue interface {
	// send is durable when it returns.
	send(ctx context.Context, payload int64) error
	// fill sends many at once.
	fill(ctx context.Context, payloads []int64) error
	// work has handlers call done with what they get, and acknowledges that; stop ends them.
	work(ctx context.Context, done func(payload int64)) (stop func() error, err error)
	close(ctx context.Context) error
}

// maker opens a queue for so many clients and handlers.
type maker struct {
	name     string
	postgres bool
	open     func(ctx context.Context, st store, clients int) (queue, error)
}

var makers = []maker{
	{"stepwell-postgres", true, openStepwell},
	{"river-postgres", true, openRiver},
	{"pgmq-sql-postgres", true, openPgmq},
	{"stepwell-sqlite", false, openStepwell},
	{"goqite-sqlite", false, openGoqite},
}

// patience is how long jobs may take that are there already.
const patience = 3 * time.Minute

func measure(ctx context.Context, q queue, s settings) (f figures, err error) {
	sent, err := sends(ctx, q, s)
	if err != nil {
		return f, err
	}
	f.sent = float64(sent) / s.sends.Seconds()
	if err := empty(ctx, q, sent); err != nil {
		return f, err
	}
	if f.worked, err = jobs(ctx, q, s.jobs); err != nil {
		return f, err
	}
	f.latency, f.late, err = latency(ctx, q)
	return f, err
}

// sends has clients send one message after the other.
func sends(ctx context.Context, q queue, s settings) (n int64, err error) {
	var all sync.WaitGroup
	var sent atomic.Int64
	var failed atomic.Value
	until := time.Now().Add(s.sends)
	for range s.clients {
		all.Go(func() {
			for time.Now().Before(until) {
				if err := q.send(ctx, 0); err != nil {
					failed.Store(err)
					return
				}
				sent.Add(1)
			}
		})
	}
	all.Wait()
	err, _ = failed.Load().(error)
	return sent.Load(), err
}

func empty(ctx context.Context, q queue, n int64) error {
	_, err := drain(ctx, q, n)
	return err
}

// jobs fills the queue and has it worked off.
func jobs(ctx context.Context, q queue, n int) (perSecond float64, err error) {
	if err := q.fill(ctx, make([]int64, n)); err != nil {
		return 0, err
	}
	took, err := drain(ctx, q, int64(n))
	return float64(n) / took.Seconds(), err
}

// drain works off n messages, and tells how long that took.
func drain(ctx context.Context, q queue, n int64) (took time.Duration, err error) {
	var left atomic.Int64
	left.Store(n)
	over := make(chan struct{})
	began := time.Now()
	stop, err := q.work(ctx, func(int64) {
		if left.Add(-1) == 0 {
			close(over)
		}
	})
	if err != nil {
		return 0, err
	}
	select {
	case <-over:
		took = time.Since(began)
	case <-time.After(patience):
		err = errors.New("the jobs are not done")
	}
	return took, errors.Join(err, stop())
}

// latency sends one at a time to handlers that wait.
func latency(ctx context.Context, q queue) (p50, p99 float64, err error) {
	const times = 300
	came := make(chan time.Duration, 1)
	zero := time.Now()
	stop, err := q.work(ctx, func(sent int64) { came <- time.Since(zero) - time.Duration(sent) })
	if err != nil {
		return 0, 0, err
	}
	var all []float64
	for range times {
		time.Sleep(10 * time.Millisecond) // they wait again
		if err := q.send(ctx, int64(time.Since(zero))); err != nil {
			return 0, 0, errors.Join(err, stop())
		}
		select {
		case took := <-came:
			all = append(all, float64(took)/float64(time.Millisecond))
		case <-time.After(patience):
			return 0, 0, errors.Join(errors.New("a message does not come"), stop())
		}
	}
	slices.Sort(all)
	return all[times/2], all[times*99/100], stop()
}
