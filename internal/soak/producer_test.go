//go:build unix

package soak

// This file is the client: it starts transfers, confirms them, and follows each to its end.

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/postgres"
)

// producer starts transfers as fast as inFlight of them get done.
type producer struct {
	app     *stepwell.App
	pool    *pgxpool.Pool // for orders; nil: there are none
	rnd     *rand.Rand
	retries atomic.Int64 // calls that failed and were made again

	mu     sync.Mutex
	orders []*order // accepted ones
	faults []error
}

const inFlight = 24

// order is one transfer that was accepted.
type order struct {
	transfer
	events []world.Event // as its follower saw them, page by page, while it ran
	result string
}

// produce starts transfers until stop, and returns when all are over or ctx ends.
func (p *producer) produce(ctx context.Context, stop <-chan struct{}) {
	room := make(chan struct{}, inFlight)
	var carried sync.WaitGroup
	defer carried.Wait()
	for n := 1; ; n++ {
		t := transfer{
			N: n, From: p.rnd.IntN(accounts), Amount: 1 + p.rnd.Int64N(1000),
			NapMs: 20 + p.rnd.IntN(400), BodyMs: p.rnd.IntN(200),
		}
		t.To = (t.From + 1 + p.rnd.IntN(accounts-1)) % accounts
		thinking := time.Duration(p.rnd.IntN(300)) * time.Millisecond
		select {
		case <-stop:
			return
		case <-ctx.Done():
			return
		case room <- struct{}{}:
		}
		carried.Go(func() {
			if err := p.carry(ctx, t, thinking); err != nil {
				p.mu.Lock()
				p.faults = append(p.faults, fmt.Errorf("%s: %w", t.run(), err))
				p.mu.Unlock()
			}
			<-room
		})
	}
}

// carry starts a transfer, confirms it, and waits for its end.
func (p *producer) carry(ctx context.Context, t transfer, thinking time.Duration) error {
	o := &order{transfer: t}
	start := p.start
	if t.ordered() && p.pool != nil {
		start = p.startInOrder
	}
	err := p.insist(ctx, func(again bool) error { return start(ctx, t, again) })
	switch {
	case errors.Is(err, errChangedMind):
		return nil
	case err != nil:
		return fmt.Errorf("start: %w", err)
	}
	p.mu.Lock()
	p.orders = append(p.orders, o)
	p.mu.Unlock()
	if err := dawdle(ctx, int(thinking.Milliseconds())); err != nil {
		return err
	}
	err = p.insist(ctx, func(again bool) error {
		err := confirmed.Send(ctx, p.app, t.run(), t.N, stepwell.DeliveryID("the one"))
		if again && errors.Is(err, stepwell.ErrTerminal) {
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("confirm: %w", err)
	}
	if err := p.follow(ctx, o); err != nil {
		return fmt.Errorf("follow: %w", err)
	}
	err = p.insist(ctx, func(bool) (err error) {
		o.result, err = transferFlow.Get(p.app, t.run()).Result(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("result: %w", err)
	}
	return nil
}

// start starts a transfer. The engine itself finds out what became of a call whose answer was lost.
func (p *producer) start(ctx context.Context, t transfer, again bool) error {
	_, err := transferFlow.Start(ctx, p.app, t, stepwell.RunID(t.run()))
	if again && errors.Is(err, stepwell.ErrRunExists) {
		return nil // it failed as an unknown outcome, and had been done
	}
	return err
}

var errChangedMind = errors.New("the order was taken back")

// startInOrder starts a transfer in the transaction that writes its order. What became of that transaction is the client's to find out.
func (p *producer) startInOrder(ctx context.Context, t transfer, again bool) error {
	if again {
		var there bool
		err := p.pool.QueryRow(ctx, "select exists (select from ledger.orders where transfer = $1)", t.N).Scan(&there)
		if err != nil || there {
			return err
		}
	}
	err := pgx.BeginFunc(ctx, p.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "insert into ledger.orders values ($1)", t.N); err != nil {
			return err
		}
		if _, err := transferFlow.Start(ctx, p.app, t, stepwell.RunID(t.run()), stepwell.In(postgres.Tx(tx))); err != nil {
			return err
		}
		if t.received() {
			return errChangedMind
		}
		return nil
	})
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == "23505" {
		return fmt.Errorf("its order may be under way: %w", err) // the next try looks
	}
	if errors.Is(err, stepwell.ErrRunExists) { // the same, seen by the world
		return fmt.Errorf("its run may be under way: %v", err) //nolint:errorlint // it is not final
	}
	return err
}

// follow reads the log from a cursor, again and again, until it has an end.
func (p *producer) follow(ctx context.Context, o *order) error {
	cursor := ""
	for {
		err := p.insist(ctx, func(bool) error {
			for e, err := range p.app.Events(ctx, o.run(), stepwell.EventFilter{Cursor: cursor}) {
				if err != nil {
					return err
				}
				o.events = append(o.events, e)
				cursor = world.Cursor(e.Seq)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if n := len(o.events); n > 0 && o.events[n-1].Type.Terminal() {
			return nil
		}
		if err := dawdle(ctx, 100); err != nil {
			return err
		}
	}
}

// insist calls until it succeeds or fails for good: what the fire breaks is tried again.
func (p *producer) insist(ctx context.Context, call func(again bool) error) error {
	for again := false; ; again = true {
		err := call(again)
		if err == nil || final(err) {
			return err
		}
		p.retries.Add(1)
		if dawdle(ctx, 50) != nil {
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
}

// until polls for what is to come.
func (p *producer) until(ctx context.Context, there func() (bool, error)) error {
	for {
		var ok bool
		err := p.insist(ctx, func(bool) (err error) { ok, err = there(); return err })
		if err != nil || ok {
			return err
		}
		if err := dawdle(ctx, 20); err != nil {
			return err
		}
	}
}

// final reports whether an error says that trying again is of no use.
func final(err error) bool {
	for _, e := range []error{stepwell.ErrRunExists, stepwell.ErrNotFound, stepwell.ErrTerminal, stepwell.ErrInvalid, world.ErrCorrupt, world.ErrFormat} {
		if errors.Is(err, e) {
			return true
		}
	}
	if errors.Is(err, errChangedMind) {
		return true
	}
	_, ended := errors.AsType[*stepwell.RunError](err)
	return ended
}
