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
	_ = g.tx.query(workerKeys, func(r row) (bool, error) { // another process's
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
	g.tx.onCommit(func() { g.crew.own(worker, runKey, id, owns) })
}

// lost notes that a run was taken from its owner.
func (g *group) lost(worker int64, id string) {
	g.tx.onCommit(func() { g.crew.lose(worker, id) })
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
		until := g.tx.now().Add(wk.Lease)
		key, err := g.tx.insert(insertWorker, wk.ID, wk.Name, wk.Build, classes, steps, int64(wk.Lease), g.tx.now().UnixMicro(), until.UnixMicro(), bit(wk.Remote))
		if err != nil {
			return b, err
		}
		lease := g.tx.leases().Add(wk.Lease)
		joined := &worker{Worker: wk, key: key, since: g.tx.now(), until: lease, shown: lease, runs: make(map[int64]string)}
		g.tx.onCommit(func() { g.crew.add(joined) })
		return world.Beat{Now: g.tx.now(), Until: until}, nil
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
	n, err := g.tx.changed(beatWorker, wk.key, until.UnixMicro())
	if err != nil || n > 0 {
		return err
	}
	classes, steps, err := registered(&wk.Worker)
	if err != nil {
		return err
	}
	return g.tx.exec(rejoinWorker, wk.key, wk.ID, wk.Name, wk.Build, classes, steps, int64(wk.Lease), wk.since.UnixMicro(), until.UnixMicro(), bit(wk.Remote))
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
	g.tx.onCommit(func() { g.crew.complete.Store(true) })
	var left []int64
	var remote []*worker
	if err := g.tx.query(listWorkers, func(r row) (bool, error) {
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
	wk.until = g.tx.leases().Add(wk.Lease)
	wk.shown = wk.until
	if err := g.tx.exec(beatWorker, wk.key, g.tx.now().Add(wk.Lease).UnixMicro()); err != nil {
		return err
	}
	if err := g.tx.query(ownedRuns, func(r row) (bool, error) { wk.runs[r.int(0)] = r.text(1); return true, nil }, wk.key); err != nil {
		return err
	}
	g.tx.onCommit(func() { g.crew.add(wk) })
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
	now := g.tx.now().UnixMicro()
	runs, err := g.tx.changed(returnRuns, key, now, bit(died))
	if err != nil {
		return err
	}
	tasks, err := g.tx.changed(returnTasks, key, now)
	if err != nil {
		return err
	}
	g.tx.notice(world.NoticeWork, "") // also where it held nothing: runs that are to be cancelled may have waited for its code
	if runs+tasks > 0 {
		g.runs.byID = make(map[string]*run)
	}
	if err := g.tx.exec(deleteWorker, key); err != nil {
		return err
	}
	if g.buried == nil {
		g.buried = make(map[int64]bool)
	}
	g.buried[key] = true
	g.tx.onCommit(func() { g.crew.remove(key) })
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

// buryLost hands back what owners have that are not among the workers, as if they had left. Workers that are alive are
// among them, though their rows be lost: they belong to this process.
func (g *group) buryLost() (owners int, err error) {
	if err := g.eachWorker(func(wk *worker) error {
		until, _ := g.crew.lease(wk)
		if err := g.show(wk, g.tx.now().Add(until.Sub(g.tx.leases()))); err != nil {
			return err
		}
		_, err := g.disownStrays(wk)
		return err
	}); err != nil {
		return 0, err
	}
	for _, s := range []*statement{lostRuns, lostTasks} {
		n, err := g.tx.changed(s)
		if err != nil {
			return 0, err
		}
		owners += int(n)
	}
	if owners == 0 {
		return 0, nil
	}
	return owners, g.bury(nobody, false)
}

// eachWorker calls do for all workers that are alive.
func (g *group) eachWorker(do func(wk *worker) error) error {
	for _, wk := range g.crew.all() {
		if g.buried[wk.key] {
			continue
		}
		if err := do(wk); err != nil {
			return err
		}
	}
	return nil
}

// disownStrays tells which runs the file has a worker own. What the worker was never given, as somebody changed the file by hand, comes back.
func (g *group) disownStrays(wk *worker) (owned map[int64]bool, err error) {
	owned = make(map[int64]bool)
	if err := g.tx.query(ownedRuns, func(r row) (bool, error) { owned[r.int(0)] = true; return true, nil }, wk.key); err != nil {
		return nil, err
	}
	if g.gave {
		return owned, nil
	}
	strays := g.crew.strays(wk, owned)
	for _, key := range strays {
		delete(owned, key)
		if err := g.tx.exec(disown, key, wk.key, int64(nobody)); err != nil {
			return nil, err
		}
	}
	if len(strays) > 0 {
		err = g.bury(nobody, false)
	}
	return owned, err
}

// lostRuns tells which runs are no longer the worker's though it did not give them up: an operator of this process, or another process
// behind its back, ended them.
func (g *group) lostRuns(wk *worker) (lost []string, err error) {
	lost, has := g.crew.lostSince(wk)
	if has > 0 {
		owned, err := g.disownStrays(wk)
		if err != nil {
			return nil, err
		}
		gone, ids := g.crew.missing(wk, owned, g.givenUp)
		lost = append(lost, ids...)
		g.tx.onCommit(func() { g.crew.disown(wk, gone) })
	}
	g.tx.onCommit(func() { g.crew.toldLost(wk, len(lost)) }) // with those that this group takes from it
	return lost, nil
}

// account is what a worker owns now.
func (g *group) account(wk *worker) (*world.Account, error) {
	a := &world.Account{}
	if err := g.tx.query(accountRuns, func(r row) (bool, error) {
		a.Runs = append(a.Runs, world.OwnedRun{Run: r.text(0), Take: r.int(1), Last: r.int(2)})
		return true, nil
	}, wk.key); err != nil {
		return nil, err
	}
	err := g.tx.query(heldTasks, func(r row) (bool, error) {
		a.Tasks = append(a.Tasks, world.TaskKey{Run: r.text(0), Step: r.text(1), Attempt: int(r.int(2))})
		return true, nil
	}, wk.key)
	return a, err
}

// holdsTask notes, once the group is committed, that a worker was given a task: should it die, others take from then on.
func (g *group) holdsTask(id string) {
	g.tx.onCommit(func() { g.crew.holdsTask(id) })
}

// buryExpired ends the leases that have run out, but for that of one who is heard of.
func (g *group) buryExpired(but string) error {
	for _, key := range g.crew.expired(g.tx.leases(), but) {
		if err := g.bury(key, true); err != nil {
			return err
		}
	}
	return nil
}

// renew prolongs the lease of a worker, and tells its end. The file shows it to others: about is enough.
func (g *group) renew(wk *worker) (until time.Time, err error) {
	until = g.tx.now().Add(wk.Lease)
	lease := g.tx.leases().Add(wk.Lease)
	_, shown := g.crew.lease(wk)
	shows := shown.Sub(g.tx.leases()) < wk.Lease/2
	if shows {
		err = g.show(wk, until)
	}
	g.tx.onCommit(func() { g.crew.renew(wk, lease, shows) })
	return until, err
}

// nextEnd is when to look again, as the crew knows it.
func (g *group) nextEnd(but *worker, next time.Time) time.Time { return g.crew.nextEnd(but, next) }
