package durabletask

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/microsoft/durabletask-go/api"

	"github.com/stepwell/stepwell/bench/engine"
)

// This file is what workloads ask of the engine. It has no way to list its runs, so it is no [engine.Lister].

var (
	_ engine.Fanner    = fanning{}
	_ engine.Starter   = (*peer)(nil)
	_ engine.Sleeper   = (*peer)(nil)
	_ engine.Signaller = (*peer)(nil)
	_ engine.Parent    = (*peer)(nil)
)

// start starts a run of the named orchestration. It is durable when start returns.
func (p *peer) start(ctx context.Context, name string, in input) (api.InstanceID, error) {
	id := api.InstanceID(fmt.Sprintf("%s-%d", name, p.number.Add(1)))
	if _, err := p.client.ScheduleNewOrchestration(ctx, name, api.WithInstanceID(id), api.WithInput(in)); err != nil {
		return "", fmt.Errorf("starting run %s of durabletask-go: %w", id, err)
	}
	return id, nil
}

// result waits for the result of a run and compares it with what it must be.
func (p *peer) result(ctx context.Context, id api.InstanceID, want int) error {
	run, err := p.client.WaitForOrchestrationCompletion(ctx, id)
	if err != nil {
		return fmt.Errorf("run %s of durabletask-go: %w", id, err)
	}
	if got := run.SerializedOutput; got != strconv.Itoa(want) {
		return fmt.Errorf("run %s of durabletask-go returned %q (%s), want %d", id, got, run.FailureDetails.GetErrorMessage(), want)
	}
	return nil
}

// call starts a run and waits for its result, which is how many it was given.
func (p *peer) call(ctx context.Context, name string, in input) error {
	id, err := p.start(ctx, name, in)
	if err != nil {
		return err
	}
	return p.result(ctx, id, in.N)
}

// Serial implements [engine.Engine].
func (p *peer) Serial(ctx context.Context, n int, gaps []time.Time) error {
	in := input{N: n}
	if gaps != nil {
		in.Run = p.number.Add(1)
		p.gaps.Store(in.Run, gaps)
		defer p.gaps.Delete(in.Run)
	}
	return p.call(ctx, "serial", in)
}

// fanning is a peer on a store where a run can have steps in parallel. On PostgreSQL it cannot: where v0.6.0 inserts several activities
// in one statement it numbers the parameters of the second wrong, and the run's task fails and is tried for ever.
type fanning struct{ *peer }

// Fanout implements [engine.Fanner].
func (p fanning) Fanout(ctx context.Context, n int) error { return p.call(ctx, "fanout", input{N: n}) }

// Children implements [engine.Parent].
func (p *peer) Children(ctx context.Context, n int) error { return p.call(ctx, "parent", input{N: n}) }

// Start implements [engine.Starter].
func (p *peer) Start(ctx context.Context) error {
	_, err := p.start(ctx, "serial", input{N: 1})
	return err
}

// Sleepers implements [engine.Sleeper]. A run sleeps when its timer is in the store.
func (p *peer) Sleepers(ctx context.Context, n int) error {
	const starters = 32
	bodies := p.asleep.Load()
	before, err := p.timers(ctx)
	if err != nil {
		return err
	}
	var starting sync.WaitGroup
	failed := make(chan error, starters)
	for i := range starters {
		starting.Go(func() {
			for j := i; j < n; j += starters {
				if _, err := p.start(ctx, "sleeper", input{}); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	starting.Wait()
	close(failed)
	if err := <-failed; err != nil {
		return err
	}
	return await(ctx, func() (bool, error) {
		if p.asleep.Load()-bodies < int64(n) {
			return false, nil
		}
		now, err := p.timers(ctx)
		return now-before >= n, err
	})
}

// timers counts the timers that are set.
func (p *peer) timers(ctx context.Context) (count int, err error) {
	if err := p.store.QueryRowContext(ctx, "SELECT count(*) FROM NewEvents WHERE VisibleTime IS NOT NULL").Scan(&count); err != nil {
		return 0, fmt.Errorf("counting the timers of durabletask-go: %w", err)
	}
	return count, nil
}

// Signal implements [engine.Signaller].
func (p *peer) Signal(ctx context.Context) (sent, began time.Time, err error) {
	in, at := input{Run: p.number.Add(1), N: 1}, make(chan time.Time, 1)
	p.began.Store(in.Run, at)
	defer p.began.Delete(in.Run)
	id, err := p.start(ctx, "signalled", in)
	if err != nil {
		return sent, began, err
	}
	if err := await(ctx, func() (bool, error) {
		run, err := p.client.FetchOrchestrationMetadata(ctx, id)
		return err == nil && settled(run), err
	}); err != nil {
		return sent, began, fmt.Errorf("waiting until run %s of durabletask-go waits: %w", id, err)
	}
	if err := p.client.RaiseEvent(ctx, id, "go"); err != nil {
		return sent, began, fmt.Errorf("signalling run %s of durabletask-go: %w", id, err)
	}
	sent = time.Now()
	select {
	case began = <-at:
	case <-ctx.Done():
		return sent, began, ctx.Err()
	}
	return sent, began, p.result(ctx, id, in.N)
}

// await asks until the answer is yes, soon at first and then every 50 ms.
func await(ctx context.Context, yes func() (bool, error)) error {
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		if ok, err := yes(); ok || err != nil {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
