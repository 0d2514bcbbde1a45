package main

// This file is Stepwell's queue, with its defaults.

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/stepwell/stepwell"
	messages "github.com/stepwell/stepwell/queue"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/postgres"
	"github.com/stepwell/stepwell/world/sqlite"
)

type own struct {
	world   world.World
	client  *stepwell.App
	jobs    *messages.Queue[int64]
	clients int
}

func openStepwell(ctx context.Context, st store, clients int) (queue, error) {
	return openOwn(ctx, st, clients)
}

func openOwn(ctx context.Context, st store, clients int) (o *own, err error) {
	o = &own{jobs: messages.Define[int64]("jobs"), clients: clients}
	if st.url == "" {
		o.world, err = sqlite.Open(filepath.Join(st.dir, "stepwell.db"))
	} else {
		o.world, err = postgres.Open(ctx, st.url)
	}
	if err == nil {
		o.client, err = stepwell.New(o.world, stepwell.Config{})
	}
	return o, err
}

func (o *own) send(ctx context.Context, payload int64) error {
	_, err := o.jobs.Send(ctx, o.client, payload)
	return err
}

func (o *own) fill(ctx context.Context, payloads []int64) error {
	for part := range slices.Chunk(payloads, world.MaxBatch) {
		if _, err := o.jobs.SendAll(ctx, o.client, part); err != nil {
			return err
		}
	}
	return nil
}

func (o *own) work(ctx context.Context, done func(int64)) (stop func() error, err error) {
	app, err := stepwell.New(o.world, stepwell.Config{Definitions: []stepwell.Definition{
		o.jobs.Handle(func(_ context.Context, m *messages.Message[int64]) error { done(m.Payload); return nil }, messages.Parallel(o.clients)),
	}})
	if err != nil {
		return nil, err
	}
	running, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- app.Run(running) }()
	return func() error {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
		return nil
	}, nil
}

func (o *own) close(context.Context) error { return o.world.Close() }

// depthRounds is in how many turns few and many waiting messages are compared.
const depthRounds = 10

// compareDepths receives with few waiting and with many, in turns, and shows the medians of the turns.
func compareDepths(ctx context.Context, depth int) error {
	for _, pg := range []bool{true, false} {
		few, many, err := inTurns(ctx, pg, 1_000, depth)
		if err != nil {
			return err
		}
		fmt.Printf("postgres %v: %.0f jobs/s with 1,000 waiting, %.0f with %d: %.2f × the time\n", pg, few, many, depth, few/many)
	}
	return nil
}

func inTurns(ctx context.Context, pg bool, few, many int) (atFew, atMany float64, err error) {
	var owns [2]*own
	for i, depth := range []int{few, many} {
		st, err := newStore(pg)
		if err != nil {
			return 0, 0, err
		}
		defer st.remove()
		if owns[i], err = openOwn(ctx, st, 1); err != nil {
			return 0, 0, err
		}
		defer func() { _ = owns[i].world.Close() }()
		if err := owns[i].fill(ctx, make([]int64, depth)); err != nil {
			return 0, 0, err
		}
	}
	var rates [2][]float64
	for turn := range 2 * depthRounds {
		rate, err := owns[turn%2].refill(ctx)
		if err != nil {
			return 0, 0, err
		}
		rates[turn%2] = append(rates[turn%2], rate)
	}
	return median(rates[0]), median(rates[1]), nil
}

// refill is how many messages are received and acknowledged a second where what is received is sent again.
func (o *own) refill(ctx context.Context) (perSecond float64, err error) {
	n, spent := 0, time.Duration(0)
	for range 20 {
		began := time.Now()
		got, err := o.jobs.Receive(ctx, o.client, messages.Most(world.MaxReceive))
		if err != nil {
			return 0, err
		}
		var acks sync.WaitGroup
		for _, m := range got {
			acks.Go(func() { _ = m.Ack(ctx) }) // one that was not is received again
		}
		acks.Wait()
		n, spent = n+len(got), spent+time.Since(began)
		if err := o.fill(ctx, make([]int64, len(got))); err != nil {
			return 0, err
		}
	}
	return float64(n) / spent.Seconds(), nil
}
