package wdk

// The worker to whom all of the DevKit's runs belong. It lives at no place: each server of the database speaks for
// it, and keeps its lease.

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/stepwell/stepwell/world"
)

// name is what people call the worker.
const name = "Workflow DevKit"

// lease is how long the worker is believed alive when no server is there any more.
const lease = 30 * time.Second

type worker struct {
	host *Host

	mu   sync.Mutex
	id   string // "": it has not joined
	stop context.CancelFunc
	soon chan struct{} // the worker is to look for what was sent to its runs
}

// begin has the worker join, or goes on with the one that is there, once.
func (w *worker) begin(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.id != "" {
		return nil
	}
	if err := w.join(ctx); err != nil {
		return fmt.Errorf("join as a worker: %w", err)
	}
	if w.stop == nil {
		ctx, stop := context.WithCancel(context.Background())
		w.stop = stop
		go w.live(ctx)
	}
	return nil
}

func (w *worker) join(ctx context.Context) error {
	stats, err := w.host.world.Stats(ctx)
	if err != nil {
		return err
	}
	for i := range stats.Workers {
		other := &stats.Workers[i]
		if other.Remote && other.Name == name && other.Until.After(stats.Now) {
			if _, err := w.host.world.Heartbeat(ctx, world.HeartbeatQuery{Worker: other.ID}); err == nil {
				w.id = other.ID
				return nil
			}
		}
	}
	id := world.NewID(world.PrefixWorker, time.Now())
	if _, err = w.host.world.Join(ctx, world.Worker{ID: id, Name: name, Lease: lease, Remote: true}); err == nil {
		w.id = id
	}
	return err
}

// look has the worker ask soon for what was sent to its runs.
func (w *worker) look() {
	select {
	case w.soon <- struct{}{}:
	default:
	}
}

// now is the worker's ID.
func (w *worker) now() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.id
}

func (w *worker) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stop != nil {
		w.stop()
	}
}

// live renews the lease, and appends what was sent to runs.
func (w *worker) live(ctx context.Context) {
	news := w.host.watch(mailbox)
	defer news.Stop()
	tick := time.NewTicker(lease / 6)
	defer tick.Stop()
	for ctx.Err() == nil {
		b, err := w.host.world.Heartbeat(ctx, world.HeartbeatQuery{Worker: w.now()})
		switch {
		case errors.Is(err, world.ErrLeaseLost):
			w.mu.Lock()
			if err = w.join(ctx); err != nil {
				w.host.log.Warn("Workflow DevKit: the worker could not join again", "err", err)
			}
			w.mu.Unlock()
		case err != nil:
			if ctx.Err() == nil {
				w.host.log.Warn("Workflow DevKit: the worker's lease was not renewed", "err", err)
			}
		default:
			for i := range b.Mail {
				if err := w.host.append(ctx, &b.Mail[i]); err != nil && ctx.Err() == nil {
					w.host.log.Warn("Workflow DevKit: what was sent to a run could not be appended", "run_id", b.Mail[i].Run, "err", err)
				}
			}
		}
		select {
		case <-ctx.Done():
		case <-news.Came:
		case <-w.soon:
		case <-tick.C:
		}
	}
}

// mailbox is what the worker waits for: news of no run and of no queue alone.
const mailbox = "mail"
