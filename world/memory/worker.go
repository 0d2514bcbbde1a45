// Workers: who is alive, for how long, and what they hold.

package memory

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/stepwell/stepwell/world"
)

// defaultLease is how long a worker is believed alive after a heartbeat, where it does not say.
const defaultLease = 10 * time.Second

type worker struct {
	world.Worker
	joined time.Time
	until  time.Time
	runs   map[*run]struct{}
	tasks  map[*task]struct{}
	lost   []string // since the last heartbeat
}

// Join registers a worker; see [world.Queue].
func (w *World) Join(ctx context.Context, wk world.Worker) (world.Heartbeat, error) {
	if err := world.CheckWorker(&wk); err != nil {
		return world.Heartbeat{}, err
	}
	if wk.Lease == 0 {
		wk.Lease = defaultLease
	}
	if err := w.enter(ctx); err != nil {
		return world.Heartbeat{}, err
	}
	defer w.mu.Unlock()
	if w.workers[wk.ID] != nil {
		return world.Heartbeat{}, fmt.Errorf("worker %s has joined: %w", wk.ID, world.ErrConflict)
	}
	if err := w.limits.may(wk.Says()); err != nil {
		return world.Heartbeat{}, fmt.Errorf("worker %s: join: %w", wk.ID, err)
	}
	w.said.define(wk.Definitions, wk.ID)
	w.limits.say(wk.Says(), &notices{}) // who joins looks for work anyway
	w.said.retention = world.LowerRetention(w.said.retention, wk.MaxRetention)
	wk.Classes, wk.Steps, wk.Definitions, wk.StepLimits = slices.Clone(wk.Classes), slices.Clone(wk.Steps), nil, nil
	now := w.now()
	joined := &worker{
		Worker: wk, joined: now, until: now.Add(wk.Lease),
		runs: make(map[*run]struct{}), tasks: make(map[*task]struct{}),
	}
	w.workers[wk.ID] = joined
	w.replaceCancels(joined, &notices{}) // who joins looks for work anyway
	return world.Heartbeat{Now: now, Until: now.Add(wk.Lease)}, nil
}

// Heartbeat renews a worker's lease and returns its news; see [world.Queue].
func (w *World) Heartbeat(ctx context.Context, q world.HeartbeatQuery) (world.Heartbeat, error) {
	if err := w.enter(ctx); err != nil {
		return world.Heartbeat{}, err
	}
	defer w.mu.Unlock()
	wk := w.workers[q.Worker]
	if wk == nil {
		return world.Heartbeat{}, fmt.Errorf("worker %s: %w", q.Worker, world.ErrLeaseLost)
	}
	now := w.now()
	wk.until = now.Add(wk.Lease)
	b := world.Heartbeat{Now: now, Until: wk.until, Lost: wk.lost}
	wk.lost = nil
	for r := range wk.runs {
		b.Mail = append(b.Mail, r.letters()...)
	}
	slices.SortFunc(b.Mail, func(a, b world.Mail) int { return cmp.Compare(a.Row, b.Row) })
	for _, k := range q.Tasks {
		if r := w.runs[k.Run]; r == nil || r.tasks[k.Step] == nil || !r.tasks[k.Step].heldBy(q.Worker, k.Attempt) {
			b.Ended = append(b.Ended, k)
		}
	}
	if q.Account {
		b.Account = wk.account()
	}
	return b, nil
}

// Leave ends a worker's lease and hands back what it holds; see [world.Queue].
func (w *World) Leave(ctx context.Context, id string) error {
	if err := w.enter(ctx); err != nil {
		return err
	}
	var n notices
	if wk := w.workers[id]; wk != nil {
		w.bury(wk, false, &n)
	}
	w.mu.Unlock()
	w.tell(&n)
	return nil
}

// expire ends the leases of the workers that died.
func (w *World) expire(now time.Time, n *notices) {
	for _, wk := range w.workers {
		if !wk.until.After(now) {
			w.bury(wk, true, n)
		}
	}
}

// bury ends a worker's lease. Its runs and tasks are due at once, by whoever comes next; where it died, that is counted against the
// runs that got nowhere since it took them.
func (w *World) bury(wk *worker, died bool, n *notices) {
	delete(w.workers, wk.ID)
	w.replaceCancels(wk, n)
	now := w.now()
	for _, r := range slices.SortedFunc(maps.Keys(wk.runs), func(a, b *run) int { return cmp.Compare(a.id, b.id) }) {
		if died && r.seq == r.claimed {
			r.strikes++
		} else {
			r.strikes = 0
		}
		r.owner, r.wakeAt = nil, now
		w.place(r, n)
	}
	for t := range wk.tasks {
		t.holder, t.Worker, t.Visible = nil, "", now
		w.placeTask(t, n)
	}
	clear(wk.runs)
	clear(wk.tasks)
}
