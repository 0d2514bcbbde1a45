package restate

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/restatedev/sdk-go/ingress"

	"github.com/stepwell/stepwell/bench/engine"
)

// This file is what workloads ask of the engine.

var (
	_ engine.Fanner    = (*peer)(nil)
	_ engine.Starter   = (*peer)(nil)
	_ engine.Sleeper   = (*peer)(nil)
	_ engine.Signaller = (*peer)(nil)
	_ engine.Parent    = (*peer)(nil)
	_ engine.Lister    = (*peer)(nil)
	_ engine.Processes = (*peer)(nil)
)

// call runs a handler and compares its result with what it must be: how many it was given.
func (p *peer) call(ctx context.Context, handler string, in input) error {
	got, err := ingress.Service[input, int](p.client, name, handler).Request(ctx, in)
	if err != nil {
		return fmt.Errorf("handler %s of Restate: %w", handler, err)
	}
	if got != in.N {
		return fmt.Errorf("handler %s of Restate returned %d, want %d", handler, got, in.N)
	}
	return nil
}

// start starts a run of a handler. It is durable when start returns.
func (p *peer) start(ctx context.Context, handler string, in input) error {
	if _, err := ingress.ServiceSend[input](p.client, name, handler).Send(ctx, in); err != nil {
		return fmt.Errorf("starting handler %s of Restate: %w", handler, err)
	}
	return nil
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

// Fanout implements [engine.Fanner].
func (p *peer) Fanout(ctx context.Context, n int) error { return p.call(ctx, "fanout", input{N: n}) }

// Children implements [engine.Parent].
func (p *peer) Children(ctx context.Context, n int) error { return p.call(ctx, "parent", input{N: n}) }

// Start implements [engine.Starter].
func (p *peer) Start(ctx context.Context) error { return p.start(ctx, "serial", input{N: 1}) }

// Sleepers implements [engine.Sleeper]. A run sleeps when it is suspended: its handler's process need not keep it.
func (p *peer) Sleepers(ctx context.Context, n int) error {
	const starters = 32
	before, err := p.suspended(ctx)
	if err != nil {
		return err
	}
	var starting sync.WaitGroup
	failed := make(chan error, starters)
	for i := range starters {
		starting.Go(func() {
			for j := i; j < n; j += starters {
				if err := p.start(ctx, "sleeper", input{}); err != nil {
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
	for {
		if now, err := p.suspended(ctx); err != nil || now-before >= n {
			return err
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// suspended counts the runs that sleep.
func (p *peer) suspended(ctx context.Context) (int, error) {
	rows, err := p.query(ctx, "SELECT count(*) AS n FROM sys_invocation WHERE target_handler_name = 'sleeper' AND status = 'suspended'")
	if err != nil {
		return 0, err
	}
	if len(rows) != 1 {
		return 0, fmt.Errorf("counting the sleeping runs of Restate: %d rows, want 1", len(rows))
	}
	n, ok := rows[0]["n"].(float64)
	if !ok {
		return 0, fmt.Errorf("counting the sleeping runs of Restate: got %v, want a number", rows[0]["n"])
	}
	return int(n), nil
}

// query asks the admin port by SQL.
func (p *peer) query(ctx context.Context, sql string) ([]map[string]any, error) {
	var answer struct{ Rows []map[string]any }
	err := p.ask(ctx, p.admin+"/query", map[string]string{"query": sql}, &answer)
	return answer.Rows, err
}

// Signal implements [engine.Signaller]: the signal resolves an awakeable, by its ID, from outside.
func (p *peer) Signal(ctx context.Context) (sent, began time.Time, err error) {
	in, at, waits := input{Run: p.number.Add(1), N: 1}, make(chan time.Time, 1), make(chan string, 1)
	p.began.Store(in.Run, at)
	defer p.began.Delete(in.Run)
	p.waits.Store(in.Run, waits)
	defer p.waits.Delete(in.Run)
	result := make(chan error, 1)
	go func() { result <- p.call(ctx, "signalled", in) }()
	var id string
	select {
	case id = <-waits:
	case err := <-result:
		return sent, began, fmt.Errorf("the handler ended before it waited: %w", err)
	}
	if err := p.ask(ctx, p.ingress+"/restate/awakeables/"+id+"/resolve", 1, nil); err != nil {
		return sent, began, err
	}
	sent = time.Now()
	select {
	case began = <-at:
	case <-ctx.Done():
		return sent, began, ctx.Err()
	}
	return sent, began, <-result
}

// List implements [engine.Lister].
func (p *peer) List(ctx context.Context) error {
	_, err := p.query(ctx, "SELECT id, target, status, created_at FROM sys_invocation WHERE target_handler_name = 'serial' AND status = 'completed' ORDER BY created_at DESC LIMIT 50")
	return err
}

// Events implements [engine.Lister].
func (p *peer) Events(ctx context.Context) error {
	id := p.last.Load()
	if id == nil {
		return nil
	}
	_, err := p.query(ctx, "SELECT index, entry_type, name FROM sys_journal WHERE id = '"+*id+"' ORDER BY index")
	return err
}
