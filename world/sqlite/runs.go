package sqlite

import (
	"fmt"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/layout"
)

// maxCached is how many runs the writer remembers; more than are being worked on at once.
const maxCached = 50_000

// run is what the writer knows of a run. It is right as long as no other connection writes and no transaction is given up.
type run struct {
	id        string
	key       int64
	boxed     any // the key, as statements take it: made once
	created   time.Time
	retention time.Duration
	workflow  string
	encrypted string // ID of the key that its payloads are encrypted with
	origin    string // while its birth is written: the run that it may have values of
	last      int64  // number of the last event; -1: not read yet

	live     bool // it is not over; what follows is of its queue row
	class    int64
	running  bool
	priority int64
	owner    int64
	claim    int64
	paused   bool
	blocked  bool
	wake     time.Time
	placed   *placed // what it has of the places that it needs; nil: it needs none

	damage  string   // what of its row is not what was written
	counted standing // what the totals have it as

	box   box  // its inbox
	stale bool // all is to be read anew, but what no file has of its box
	// What may hang on it: false only where it was created here and has had none.
	tasks, hooks, awaited, awaits bool
}

// runs are those that are known.
//
//   - What is known of a run is so in the file, as this transaction sees it. That holds as long as no other connection
//     writes and no transaction is given up.
//   - Within a transaction all see the same *run. So runs are forgotten between two of them alone, or where nothing of
//     the run is written any more.
//   - No run gets a key that is, or was, another's: what hung on a run whose row is lost is no other's.
type runs struct {
	tx      *txn
	byID    map[string]*run
	lastKey int64 // the last one of a run; 0: not read yet
}

func (rs *runs) init(tx *txn) { rs.tx = tx }

// forgetAll forgets all.
func (rs *runs) forgetAll() { rs.byID, rs.lastKey = make(map[string]*run), 0 }

// reread forgets a run but for what its owner said, which no file knows.
func (rs *runs) reread(id string) {
	if r := rs.byID[id]; r == nil || !r.box.said() {
		delete(rs.byID, id)
	} else {
		rs.byID[id] = &run{id: id, box: r.box, stale: true}
	}
}

// rereadAll has all read anew.
func (rs *runs) rereadAll() {
	for id := range rs.byID {
		rs.reread(id)
	}
}

// spoil has all read anew, keys too.
func (rs *runs) spoil() {
	rs.rereadAll()
	rs.lastKey = 0
}

// shrink forgets runs where there are too many. It is called between transactions.
func (rs *runs) shrink() {
	if len(rs.byID) > maxCached {
		rs.byID = make(map[string]*run)
	}
}

// forget forgets a run that is deleted.
func (rs *runs) forget(id string) { delete(rs.byID, id) }

var (
	runByID   = load("run_by_id")
	runByIdem = load("run_by_idem")
	mergedRun = load("merged_run")
	lastKeys  = load("last_keys")
)

// get returns what is known of a run, nil where there is none.
func (rs *runs) get(id string) (*run, error) {
	var was box
	if known := rs.byID[id]; known != nil {
		if !known.stale {
			return known, nil
		}
		was = known.box
	}
	r := &run{id: id, last: -1, box: was.unknown(), tasks: true, hooks: true, awaited: true, awaits: true}
	found, err := rs.tx.one(runByID, func(row row) error {
		r.key, r.created, r.workflow, r.retention = row.int(0), row.time(1), row.text(2), time.Duration(row.int(3))
		r.encrypted = row.text(16)
		r.damage = birthDamage(row, r)
		if r.live = !row.null(4); r.live {
			r.class, r.running, r.priority, r.owner = row.int(4), row.bool(5), row.int(6), row.int(7)
			r.claim, r.paused, r.wake, r.blocked = row.int(8), row.bool(9), row.time(12), row.bool(13)
			r.box.load(!row.null(10), row.bool(11), row.bool(15))
			r.placed = scanPlaced(row, 23)
			r.isCounted()
		} else {
			r.claim = row.int(14)
		}
		return nil
	}, id)
	if err != nil || !found {
		return nil, err
	}
	rs.byID[id] = r
	return r, nil
}

// birthDamage says what is wrong with what a row of run_by_id has of a birth.
func birthDamage(row row, r *run) string {
	kept := world.Run{ID: r.id, Workflow: r.workflow, Priority: int(row.int(17)), CreatedAt: r.created, Retention: r.retention, Queue: &world.QueueRow{}}
	if !row.null(18) {
		kept.Parent = &world.Parent{Run: row.text(18), Step: row.text(19), Detached: row.bool(20)}
	}
	layout.CheckRun(&kept, r.encrypted, row.text(21), "", row.sum(22), layout.Sum{})
	return kept.Damage
}

// lastUsable is below all keys that damage makes and nobody gave.
const lastUsable = 1 << 62

// nextKey is the key of a run that is created: beyond all that any table has. The row of a run may be lost, and what hung on it is no other's.
func (rs *runs) nextKey() (int64, error) {
	last := &rs.lastKey
	if *last == 0 {
		if _, err := rs.tx.one(lastKeys, func(row row) error { *last = row.int(0); return nil }); err != nil {
			return 0, err
		}
	}
	*last++
	return *last, nil
}

// free refuses a run ID that is taken.
func (rs *runs) free(id string) (err error) {
	r := rs.byID[id]
	exists := r != nil && !r.stale
	if !exists {
		exists, err = rs.tx.one(readRun, func(row) error { return nil }, id)
	}
	if exists {
		return fmt.Errorf("run %s: %w", id, world.ErrRunExists)
	}
	return err
}

// byKey finds the run that has an idempotency key, or was given the input of the start with it; "" where there is none.
func (rs *runs) byKey(workflow, key string) (id string, err error) {
	_, err = rs.tx.one(mergedRun, func(r row) error { id = r.text(0); return nil }, workflow, key)
	return id, err
}

// retryOf finds the run that took the place of another, "" where there is none.
func (rs *runs) retryOf(r *run) (id string, err error) {
	_, err = rs.tx.one(runByIdem, func(r row) error { id = r.text(0); return nil }, r.workflow, world.RetryKey(r.id))
	return id, err
}
