package sqlite

import "github.com/stepwell/stepwell/world"

var (
	addTotal     = load("add_total")
	forgetTotals = load("forget_totals")
	recountRuns  = load("recount")
)

// standing is what a run that is not over is counted as.
type standing struct{ live, running, paused, blocked bool }

func (r *run) standing() standing {
	return standing{live: r.live, running: r.running, paused: r.paused, blocked: r.blocked}
}

// isCounted says that a run is counted as it stands.
func (r *run) isCounted() { r.counted = r.standing() }

// total is a count of runs, by status; a run that is not over may also be blocked or paused.
type total struct{ workflow, status string }

// totals are counts of runs.
//
//   - run.counted is what the file and the sums have a run as. The sums are of this transaction, and written at its end.
type totals struct {
	tx   *txn
	sums map[total]int64
}

func (tl *totals) init(tx *txn) { tl.tx, tl.sums = tx, make(map[total]int64) }

func (tl *totals) begin() { clear(tl.sums) }

// recount notes what a run stands as now.
func (tl *totals) recount(r *run, now standing) {
	was := r.counted
	if was == now {
		return
	}
	r.counted = now
	for _, d := range [...]struct {
		status   string
		was, now bool
	}{
		{string(world.Pending), was.live && !was.running, now.live && !now.running},
		{string(world.Running), was.live && was.running, now.live && now.running},
		{world.CountedPaused, was.live && was.paused, now.live && now.paused},
		{world.CountedBlocked, was.live && was.blocked, now.live && now.blocked},
	} {
		if d.was != d.now {
			tl.add(r.workflow, d.status, bit(d.now)-bit(d.was))
		}
	}
}

// add changes a total; the group writes the sums once.
func (tl *totals) add(workflow, status string, n int64) {
	tl.sums[total{workflow, status}] += n
}

func (tl *totals) write() error {
	for t, n := range tl.sums {
		if n == 0 {
			continue
		}
		if err := tl.tx.exec(addTotal, t.workflow, t.status, n); err != nil {
			return err
		}
	}
	return nil
}

// flush writes what the group has counted so far: it is in runs and the queue already.
func (tl *totals) flush() error {
	err := tl.write()
	clear(tl.sums)
	return err
}

// anew counts runs anew.
func (tl *totals) anew() error {
	if err := tl.tx.exec(forgetTotals); err != nil {
		return err
	}
	return tl.tx.exec(recountRuns)
}
