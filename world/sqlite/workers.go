package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/stepwell/stepwell/world"
)

// defaultLease is how long a worker is believed alive after a beat, where it does not say.
const defaultLease = 10 * time.Second

var (
	insertWorker = load("insert_worker")
	beatWorker   = load("beat_worker")
	deleteWorker = load("delete_worker")
	workerKeys   = load("worker_keys")
	returnRuns   = load("return_runs")
	returnTasks  = load("return_tasks")
	ownedMail    = load("owned_mail")
	ownedRuns    = load("owned_runs")
	remoteWorker = load("remote_worker")
	rejoinWorker = load("rejoin_worker")
)

// alive returns a worker that is alive, else nil. One that this group buries is dead for what follows in it.
func (g *group) alive(id string) *worker {
	if wk := g.crew.worker(id); wk != nil && !g.buried[wk.key] {
		return wk
	}
	return nil
}

// worker returns the key of a worker that is alive, else 0.
func (g *group) worker(id string) int64 {
	if wk := g.alive(id); wk != nil {
		return wk.key
	}
	return 0
}

// workerID returns the ID of a worker, "" where there is none.
func (g *group) workerID(key int64) (id string) {
	if key == 0 {
		return ""
	}
	if wk := g.crew.byKey(key); wk != nil {
		return wk.ID
	}
	_ = g.c.query(workerKeys, func(r row) (bool, error) { // another process's
		if r.int(0) == key {
			id = r.text(1)
		}
		return id == "", nil
	})
	return id
}

// owned notes, once the group is committed, that a worker owns a run, or does no more.
func (g *group) owned(worker int64, r *run, owns bool) {
	runKey, id := r.key, r.id
	if !owns {
		if g.givenUp == nil {
			g.givenUp = make(map[int64]bool)
		}
		g.givenUp[runKey] = true
	}
	g.gave = g.gave || owns
	g.onCommit(func() { g.crew.own(worker, runKey, id, owns) })
}

// lost notes that a run was taken from its owner.
func (g *group) lost(worker int64, id string) {
	g.onCommit(func() { g.crew.lose(worker, id) })
}

// Join registers a worker; see [world.Queue]. The first one of a World takes the lock of the worker process, and ends what the
// process before it left behind.
func (w *World) Join(ctx context.Context, wk world.Worker) (world.Beat, error) {
	if err := world.CheckWorker(&wk); err != nil {
		return world.Beat{}, err
	}
	if wk.Lease == 0 {
		wk.Lease = defaultLease
	}
	classes, steps, err := registered(&wk)
	if err != nil {
		return world.Beat{}, err
	}
	wk.Classes, wk.Steps = append([]world.Class(nil), wk.Classes...), append([]string(nil), wk.Steps...)
	return askFor(ctx, w, true, func(g *group) (b world.Beat, err error) {
		if g.worker(wk.ID) != 0 {
			return b, fmt.Errorf("worker %s has joined: %w", wk.ID, world.ErrConflict)
		}
		if err := w.lead(g, wk.Name); err != nil {
			return b, err
		}
		until := g.now.Add(wk.Lease)
		key, err := g.insert(insertWorker, wk.ID, wk.Name, wk.Build, classes, steps, int64(wk.Lease), g.now.UnixMicro(), until.UnixMicro(), bit(wk.Remote))
		if err != nil {
			return b, err
		}
		lease := g.steady.Add(wk.Lease)
		joined := &worker{Worker: wk, key: key, since: g.now, until: lease, shown: lease, runs: make(map[int64]string)}
		g.onCommit(func() { g.crew.add(joined) })
		return world.Beat{Now: g.now, Until: until}, nil
	})
}

// registered is how the file keeps what a worker can run.
func registered(wk *world.Worker) (classes, steps string, err error) {
	a, err := json.Marshal(wk.Classes)
	if err != nil {
		return "", "", err
	}
	b, err := json.Marshal(wk.Steps)
	return string(a), string(b), err
}

// show has the file show the lease of a worker. A row that was lost is written again: leases are decided here, and nobody else can have this one.
func (g *group) show(wk *worker, until time.Time) error {
	n, err := g.changed(beatWorker, wk.key, until.UnixMicro())
	if err != nil || n > 0 {
		return err
	}
	classes, steps, err := registered(&wk.Worker)
	if err != nil {
		return err
	}
	return g.exec(rejoinWorker, wk.key, wk.ID, wk.Name, wk.Build, classes, steps, int64(wk.Lease), wk.since.UnixMicro(), until.UnixMicro(), bit(wk.Remote))
}

// harken begins to listen to the bell: there is a worker here.
func (w *World) harken() {
	if w.bell == nil {
		w.bell = listen(w)
	}
}

// lead makes this the worker process of the file.
func (w *World) lead(g *group, name string) error {
	if w.lock == nil {
		lock, err := w.lockWorker(name)
		if err != nil {
			return err
		}
		w.lock = lock
		w.writer.reserve.make(w.path, w.opt.CheckpointSize, w.opt.allocate)
	}
	return g.takeOver()
}

// takeOver goes on, once, where the worker process before this one ended: what that one left comes back, but for what
// it had joined for workers that live elsewhere: they go on.
func (g *group) takeOver() error {
	if g.crew.complete.Load() || g.voided {
		return nil
	}
	g.voided = true
	g.onCommit(func() { g.crew.complete.Store(true) })
	var left []int64
	var remote []*worker
	if err := g.c.query(listWorkers, func(r row) (bool, error) {
		wk := scanWorker(r)
		if wk.Remote {
			remote = append(remote, &worker{Worker: wk.Worker, key: r.int(0), since: wk.JoinedAt, tasks: wk.Tasks, runs: make(map[int64]string)})
		} else {
			left = append(left, r.int(0))
		}
		return true, nil
	}); err != nil {
		return err
	}
	for _, key := range left {
		if err := g.bury(key, true); err != nil {
			return err
		}
	}
	for _, wk := range remote {
		if err := g.adopt(wk); err != nil {
			return err
		}
	}
	return nil
}

// adopt goes on with a worker that lives elsewhere. It has a whole lease from now on: it may have beaten a moment before the process ended that knew of it, and
// could not meanwhile.
func (g *group) adopt(wk *worker) error {
	wk.until = g.steady.Add(wk.Lease)
	wk.shown = wk.until
	if err := g.exec(beatWorker, wk.key, g.now.Add(wk.Lease).UnixMicro()); err != nil {
		return err
	}
	if err := g.c.query(ownedRuns, func(r row) (bool, error) { wk.runs[r.int(0)] = r.text(1); return true, nil }, wk.key); err != nil {
		return err
	}
	g.onCommit(func() { g.crew.add(wk) })
	return nil
}

// know goes on with the workers that live elsewhere, where one of them asks for something and this process is not the worker process yet. Where
// another one is, it knows them, and this one does not.
func (w *World) know(ctx context.Context, id string) error {
	if id == "" || w.crew.complete.Load() || ctx.Err() != nil {
		return nil
	}
	remote := false
	if err := w.read(ctx, func(c *conn) error {
		_, err := c.one(remoteWorker, func(r row) error { remote = r.bool(0); return nil }, id)
		return err
	}); err != nil || !remote {
		return err
	}
	err := w.write(ctx, func(g *group) error { return w.lead(g, "a server of remote workers") })
	if errors.Is(err, world.ErrWorkerExists) {
		return nil
	}
	return err
}

// bury ends a worker's lease. Its runs and tasks are due at once, by whoever comes next; where it died, that is counted against the runs
// that got nowhere since it took them.
func (g *group) bury(key int64, died bool) error {
	now := g.now.UnixMicro()
	runs, err := g.changed(returnRuns, key, now, bit(died))
	if err != nil {
		return err
	}
	tasks, err := g.changed(returnTasks, key, now)
	if err != nil {
		return err
	}
	g.notice(world.NoticeWork, "") // also where it held nothing: runs that are to be cancelled may have waited for its code
	if runs+tasks > 0 {
		g.wr.cache.runs = make(map[string]*run)
	}
	if err := g.exec(deleteWorker, key); err != nil {
		return err
	}
	if g.buried == nil {
		g.buried = make(map[int64]bool)
	}
	g.buried[key] = true
	g.onCommit(func() { g.crew.remove(key) })
	return nil
}

// Leave ends a worker's lease and hands back what it holds; see [world.Queue].
func (w *World) Leave(ctx context.Context, id string) error {
	if err := w.know(ctx, id); err != nil {
		return err
	}
	return w.write(ctx, func(g *group) error {
		key := g.worker(id)
		if key == 0 {
			return nil
		}
		return g.bury(key, false)
	})
}
