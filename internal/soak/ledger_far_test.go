//go:build unix

package soak

// This file is the ledger from afar: its workers and its client reach either store through a server, and encrypt. There is no transaction to share, so a body that moves
// money may do so again under the same key, and that counts once.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote"
)

// notedFar is noted, of a server.
type notedFar struct {
	*remote.World
	noted noted
}

// Join implements world.Queue.
func (w *notedFar) Join(ctx context.Context, wk world.Worker) (world.Heartbeat, error) {
	sent := time.Now()
	b, err := w.World.Join(ctx, wk)
	if err == nil {
		w.noted.notes.worker.Store(&wk.ID)
		err = w.noted.lease(sent, &b)
	}
	return b, err
}

// Heartbeat implements world.Queue.
func (w *notedFar) Heartbeat(ctx context.Context, q world.HeartbeatQuery) (world.Heartbeat, error) {
	sent := time.Now()
	b, err := w.World.Heartbeat(ctx, q)
	if err == nil {
		err = w.noted.lease(sent, &b)
	}
	return b, err
}

// serveFar is the life of an application that works through a server.
func (o *orders) serveFar(ctx context.Context, n *notes) (err error) {
	w, err := openSoon(ctx, o.URL)
	if err != nil || ctx.Err() != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	ring, err := keys(o.Keys)
	if err != nil {
		return err
	}
	through, ok := w.(*remote.World)
	if !ok {
		return fmt.Errorf("%s is no server", o.URL)
	}
	app, err := stepwell.New(&notedFar{through, noted{notes: n}}, stepwell.Config{
		Definitions: (&ledger{notes: n, far: true}).definitions(), Name: o.Name, Lease: o.Lease, Poll: o.Poll, Drain: 5 * time.Second, Encryption: ring,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return err
	}
	return app.Run(ctx)
}

// TestFarLedgerUnderFire makes transfers through a server of either store, on remote workers that encrypt, while workers and server are killed and stopped. What is left
// is held against the same oracle as that of TestLedgerUnderFire.
func TestFarLedgerUnderFire(t *testing.T) {
	for _, store := range sample.One(t, "sqlite", "postgres") {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			url := "sqlite:" + filepath.Join(t.TempDir(), "ledger.db")
			if store == "postgres" {
				url = pgtest.New(t, pgtest.Config{}).URL(t)
			}
			farLedger(t, url, *soakTime/4)
		})
	}
}

func farLedger(t *testing.T, url string, burn time.Duration) {
	seed := *soakSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("again: go test ./internal/soak -run TestFarLedgerUnderFire -soak.time=%s -soak.seed=%d", *soakTime, seed)
	ctx, stop := context.WithTimeout(t.Context(), burn+2*patience)
	defer stop()
	crew := newCrew(t, t.TempDir(), workers, func(string) string { return url })
	crew.told.Far, crew.told.Keys, crew.front = true, newKeys(t), freeAddress(t)
	for place := range workers {
		if err := crew.hire(place); err != nil {
			t.Fatal(err)
		}
	}
	p := &producer{app: counting(t, "http://"+crew.front, crew.told.Keys), rnd: rand.New(rand.NewPCG(seed, 8))}
	trail := &trail{begin: time.Now()}
	f := &fire{rnd: rand.New(rand.NewPCG(seed, 9)), crew: crew, log: trail.add, cuts: map[string][]time.Time{}, counts: map[string]int{}}
	enough, produced := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(produced)
		p.produce(ctx, enough)
	}()
	burnt := f.smoulder(ctx, burn)
	if burnt != nil {
		t.Errorf("the fire: %v", burnt)
	}
	close(enough)
	quiet, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case <-produced:
	case <-quiet.Done():
		t.Errorf("%s after the fire not all runs are over", patience)
		stop()
		<-produced
	}
	for _, err := range p.faults {
		t.Error(err)
	}
	if err := crew.dismiss(); err != nil {
		t.Error(err)
	}
	p.app = counting(t, url, crew.told.Keys) // the server is gone
	(&tally{producer: producer{app: p.app}}).encrypted(t, url)
	q := &inquest{app: p.app}
	looking, looked := context.WithTimeout(context.Background(), patience)
	defer looked()
	q.judge(looking, t, crew, nil, p.orders)
	q.report(t, trail)
	t.Logf("%d transfers, faults %v; %d bodies began, by right of an ended lease: %v", len(p.orders), f.counts, q.starts, q.excused)
	if len(p.orders) < 5 {
		t.Errorf("%d transfers are not enough for a proof", len(p.orders))
	}
}
