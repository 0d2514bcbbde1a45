package sqlite

import (
	"encoding/json"
	"time"

	"github.com/stepwell/stepwell/world"
)

var (
	accountRuns     = load("account_runs")
	heldTasks       = load("held_tasks")
	lostRuns        = load("lost_runs")
	lostTasks       = load("lost_tasks")
	disown          = load("disown")
	insertWorker    = load("insert_worker")
	heartbeatWorker = load("heartbeat_worker")
	deleteWorker    = load("delete_worker")
	workerKeys      = load("worker_keys")
	returnRuns      = load("return_runs")
	returnTasks     = load("return_tasks")
	ownedRuns       = load("owned_runs")
	rejoinWorker    = load("rejoin_worker")
)

// nobody is the key of no worker.
const nobody = -1

// workers are those that are alive, as a transaction leaves them.
//
//   - Whose lease this transaction ends is dead for all that follows in it, and the crew forgets him once it is committed.
//   - Nothing is owned by a worker who is not there: who buries one frees what he held.
//   - A run is a worker's where the file says so and he was given it. What the file alone says is taken back.
type workers struct {
	tx   *txn
	crew *crew
	runs *runs

	buried  map[int64]bool // workers whose lease ends with it
	givenUp map[int64]bool // runs that their owners gave up in it: not lost, says a heartbeat of the same group
	gave    bool           // it gave somebody a run, which he does not know of yet
	voided  bool           // it ends what the worker process before this one left
}

func (ws *workers) begin() { ws.buried, ws.givenUp, ws.gave, ws.voided = nil, nil, false, false }

// alive returns a worker that is alive, else nil. One that this group buries is dead for what follows in it.
func (ws *workers) alive(id string) *worker {
	if wk := ws.crew.worker(id); wk != nil && !ws.buried[wk.key] {
		return wk
	}
	return nil
}

// key returns the key of a worker that is alive, else 0.
func (ws *workers) key(id string) int64 {
	if wk := ws.alive(id); wk != nil {
		return wk.key
	}
	return 0
}

// id returns the ID of a worker, "" where there is none.
func (ws *workers) id(key int64) (id string) {
	if key == 0 {
		return ""
	}
	if wk := ws.crew.byKey(key); wk != nil {
		return wk.ID
	}
	_ = ws.tx.query(workerKeys, func(r row) (bool, error) { // another process's
		if r.int(0) == key {
			id = r.text(1)
		}
		return id == "", nil
	})
	return id
}

// own notes, once the group is committed, that a worker owns a run, or does no more.
func (ws *workers) own(worker int64, r *run, owns bool) {
	runKey, id := r.key, r.id
	if !owns {
		if ws.givenUp == nil {
			ws.givenUp = make(map[int64]bool)
		}
		ws.givenUp[runKey] = true
	}
	ws.gave = ws.gave || owns
	ws.tx.onCommit(func() { ws.crew.own(worker, runKey, id, owns) })
}

// lose notes that a run was taken from its owner.
func (ws *workers) lose(worker int64, id string) {
	ws.tx.onCommit(func() { ws.crew.lose(worker, id) })
}

// join begins the lease of a worker, and tells its end.
func (ws *workers) join(wk world.Worker, classes, steps string) (until time.Time, err error) {
	now := ws.tx.now()
	until = now.Add(wk.Lease)
	key, err := ws.tx.insert(insertWorker, wk.ID, wk.Name, wk.Build, classes, steps, int64(wk.Lease), now.UnixMicro(), until.UnixMicro(), bit(wk.Remote))
	if err != nil {
		return time.Time{}, err
	}
	lease := ws.tx.leases().Add(wk.Lease)
	joined := &worker{Worker: wk, key: key, since: now, until: lease, shown: lease, runs: make(map[int64]string)}
	ws.tx.onCommit(func() { ws.crew.add(joined) })
	return until, nil
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
func (ws *workers) show(wk *worker, until time.Time) error {
	n, err := ws.tx.changed(heartbeatWorker, wk.key, until.UnixMicro())
	if err != nil || n > 0 {
		return err
	}
	classes, steps, err := registered(&wk.Worker)
	if err != nil {
		return err
	}
	return ws.tx.exec(rejoinWorker, wk.key, wk.ID, wk.Name, wk.Build, classes, steps, int64(wk.Lease), wk.since.UnixMicro(), until.UnixMicro(), bit(wk.Remote))
}

// takeover goes on, once, where the worker process before this one ended: what that one left comes back, but for what
// it had joined for workers that live elsewhere: they go on.
func (ws *workers) takeover() error {
	if ws.crew.leads() || ws.voided {
		return nil
	}
	ws.voided = true
	ws.tx.onCommit(ws.crew.lead)
	var left []int64
	var remote []*worker
	if err := ws.tx.query(listWorkers, func(r row) (bool, error) {
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
		if err := ws.bury(key, true); err != nil {
			return err
		}
	}
	for _, wk := range remote {
		if err := ws.adopt(wk); err != nil {
			return err
		}
	}
	return nil
}

// adopt goes on with a worker that lives elsewhere. It has a whole lease from now on: it may have beaten a moment before the process ended that knew of it, and
// could not meanwhile.
func (ws *workers) adopt(wk *worker) error {
	wk.until = ws.tx.leases().Add(wk.Lease)
	wk.shown = wk.until
	if err := ws.tx.exec(heartbeatWorker, wk.key, ws.tx.now().Add(wk.Lease).UnixMicro()); err != nil {
		return err
	}
	if err := ws.tx.query(ownedRuns, func(r row) (bool, error) { wk.runs[r.int(0)] = r.text(1); return true, nil }, wk.key); err != nil {
		return err
	}
	ws.tx.onCommit(func() { ws.crew.add(wk) })
	return nil
}

// bury ends a worker's lease. Its runs and tasks are due at once, by whoever comes next; where it died, that is counted against the runs
// that got nowhere since it took them.
func (ws *workers) bury(key int64, died bool) error {
	now := ws.tx.now().UnixMicro()
	runs, err := ws.tx.changed(returnRuns, key, now, bit(died))
	if err != nil {
		return err
	}
	tasks, err := ws.tx.changed(returnTasks, key, now)
	if err != nil {
		return err
	}
	ws.tx.notice(world.NoticeWork, "") // also where it held nothing: runs that are to be cancelled may have waited for its code
	if runs+tasks > 0 {
		ws.runs.rereadAll() // but for what dead owners said: that still holds
	}
	if err := ws.tx.exec(deleteWorker, key); err != nil {
		return err
	}
	if ws.buried == nil {
		ws.buried = make(map[int64]bool)
	}
	ws.buried[key] = true
	ws.tx.onCommit(func() { ws.crew.remove(key) })
	return nil
}

// buryLost hands back what owners have that are not among the workers, as if they had left. Workers that are alive are
// among them, though their rows be lost: they belong to this process.
func (ws *workers) buryLost() (owners int, err error) {
	if err := ws.each(func(wk *worker) error {
		until, _ := ws.crew.lease(wk)
		if err := ws.show(wk, ws.tx.now().Add(until.Sub(ws.tx.leases()))); err != nil {
			return err
		}
		_, err := ws.disownStrays(wk)
		return err
	}); err != nil {
		return 0, err
	}
	for _, s := range []*statement{lostRuns, lostTasks} {
		n, err := ws.tx.changed(s)
		if err != nil {
			return 0, err
		}
		owners += int(n)
	}
	if owners == 0 {
		return 0, nil
	}
	return owners, ws.bury(nobody, false)
}

// each calls do for all workers that are alive.
func (ws *workers) each(do func(wk *worker) error) error {
	for _, wk := range ws.crew.all() {
		if ws.buried[wk.key] {
			continue
		}
		if err := do(wk); err != nil {
			return err
		}
	}
	return nil
}

// disownStrays tells which runs the file has a worker own. What the worker was never given, as somebody changed the file by hand, comes back.
func (ws *workers) disownStrays(wk *worker) (owned map[int64]bool, err error) {
	owned = make(map[int64]bool)
	if err := ws.tx.query(ownedRuns, func(r row) (bool, error) { owned[r.int(0)] = true; return true, nil }, wk.key); err != nil {
		return nil, err
	}
	if ws.gave {
		return owned, nil
	}
	strays := ws.crew.strays(wk, owned)
	for _, key := range strays {
		delete(owned, key)
		if err := ws.tx.exec(disown, key, wk.key, int64(nobody)); err != nil {
			return nil, err
		}
	}
	if len(strays) > 0 {
		err = ws.bury(nobody, false)
	}
	return owned, err
}

// lost tells which runs are no longer the worker's though it did not give them up: an operator of this process, or another process
// behind its back, ended them.
func (ws *workers) lost(wk *worker) (lost []string, err error) {
	lost, has := ws.crew.lostSince(wk)
	if has > 0 {
		owned, err := ws.disownStrays(wk)
		if err != nil {
			return nil, err
		}
		gone, ids := ws.crew.missing(wk, owned, ws.givenUp)
		lost = append(lost, ids...)
		ws.tx.onCommit(func() { ws.crew.disown(wk, gone) })
	}
	ws.tx.onCommit(func() { ws.crew.toldLost(wk, len(lost)) }) // with those that this group takes from it
	return lost, nil
}

// account is what a worker owns now.
func (ws *workers) account(wk *worker) (*world.Account, error) {
	a := &world.Account{}
	if err := ws.tx.query(accountRuns, func(r row) (bool, error) {
		a.Runs = append(a.Runs, world.OwnedRun{Run: r.text(0), Claim: r.int(1), Last: r.int(2)})
		return true, nil
	}, wk.key); err != nil {
		return nil, err
	}
	err := ws.tx.query(heldTasks, func(r row) (bool, error) {
		a.Tasks = append(a.Tasks, world.TaskKey{Run: r.text(0), Step: r.text(1), Attempt: int(r.int(2))})
		return true, nil
	}, wk.key)
	return a, err
}

// holdsTask notes, once the group is committed, that a worker was given a task: should it die, others take from then on.
func (ws *workers) holdsTask(id string) {
	ws.tx.onCommit(func() { ws.crew.holdsTask(id) })
}

// buryExpired ends the leases that have run out, but for that of one who is heard of.
func (ws *workers) buryExpired(but string) error {
	for _, key := range ws.crew.expired(ws.tx.leases(), but) {
		if err := ws.bury(key, true); err != nil {
			return err
		}
	}
	return nil
}

// renew prolongs the lease of a worker, and tells its end. The file shows it to others: about is enough.
func (ws *workers) renew(wk *worker) (until time.Time, err error) {
	until = ws.tx.now().Add(wk.Lease)
	lease := ws.tx.leases().Add(wk.Lease)
	_, shown := ws.crew.lease(wk)
	shows := shown.Sub(ws.tx.leases()) < wk.Lease/2
	if shows {
		err = ws.show(wk, until)
	}
	ws.tx.onCommit(func() { ws.crew.renew(wk, lease, shows) })
	return until, err
}

// nextEnd is when to look again, as the crew knows it.
func (ws *workers) nextEnd(but *worker, next time.Time) time.Time { return ws.crew.nextEnd(but, next) }
