package sqlite

// What was delivered under an ID: see world.Delivery.Key.

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/stepwell/stepwell/world"
)

var (
	insertDelivered  = load("insert_delivered")
	deleteEndedHooks = load("delete_ended_hooks")
	findDelivered    = load("find_delivered")
	forgetRun        = load("forget_run")
	listLate         = load("list_late")
	markedRuns       = load("marked_runs")
	forget           = load("forget")
	unmark           = load("unmark")
)

// delivered are the deliveries that are known when they come again.
//
//   - A delivery with an ID changes something once, whoever sends it again, for as long as it is kept and at least
//     keepFor; its copy is told what the first one was.
type delivered struct {
	tx      *txn
	workers *workers
	keepFor time.Duration
}

// noKey is the key of mail that is not known when it comes again.
var noKey = []byte{}

// keyOf is the key of a delivery.
func keyOf(d *world.Delivery) []byte {
	if d.ID == "" {
		return noKey
	}
	key := d.Key()
	return key[:]
}

// note makes a delivery known. It is a duplicate where it was known before.
func (dl *delivered) note(r *run, d *world.Delivery, key []byte) (done world.Delivered, err error) {
	done = world.Delivered{Run: r.id, Owner: dl.workers.id(r.owner)}
	if d.ID == "" {
		return done, nil
	}
	var sender, marked any
	if keeper := d.Keeper(); keeper != nil {
		sender = *keeper
	}
	if world.Marked([16]byte(key)) {
		marked = int64(1)
	}
	n, err := dl.tx.changed(insertDelivered, r.key, key, dl.tx.now().UnixMicro(), blob(d.Fingerprint()), sender, marked)
	if err != nil || n > 0 {
		return done, err
	}
	return dl.again(r, d, key)
}

// again looks for the first copy of a delivery. It is a duplicate where there is one.
func (dl *delivered) again(r *run, d *world.Delivery, key []byte) (done world.Delivered, err error) {
	done = world.Delivered{Run: r.id, Owner: dl.workers.id(r.owner)}
	if d.ID == "" {
		return done, nil
	}
	var print []byte
	done.Duplicate, err = dl.tx.one(findDelivered, func(row row) error { print, done.Late = row.bytes(0), row.bool(1); return nil }, r.key, key)
	if err == nil && done.Duplicate && world.Differ(print, d.Fingerprint()) {
		err = fmt.Errorf("run %s: delivery %q: %w", r.id, d.ID, world.ErrDeliveryUsed)
	}
	return done, err
}

// late reads what came to a run too late.
func late(c *conn, run *world.Run) error {
	return c.query(listLate, func(r row) (bool, error) {
		var l world.Late
		if err := json.Unmarshal(r.bytes(0), &l); err != nil {
			run.Unreadable("what came too late", err)
			return true, nil
		}
		run.Late = append(run.Late, l)
		return true, nil
	}, run.ID, int64(world.LateShown))
}

// forgetBatch is of how many runs a transaction forgets deliveries.
const forgetBatch = 20

// sweepDelivered forgets deliveries that need not be known any more.
func (w *World) sweepDelivered(ctx context.Context) error {
	for {
		n, err := ask(ctx, w, func(g *group) (int, error) { return g.delivered.forget() })
		if err != nil || n < forgetBatch {
			return err
		}
	}
}

func (dl *delivered) forget() (n int, err error) {
	var runs []int64
	before := dl.tx.now().Add(-dl.keepFor).UnixMicro()
	if err := dl.tx.query(markedRuns, func(r row) (bool, error) { runs = append(runs, r.int(0)); return true, nil }, before, int64(forgetBatch)); err != nil {
		return 0, err
	}
	n = len(runs)
	slices.Sort(runs)
	for _, run := range slices.Compact(runs) {
		if err := dl.tx.exec(forget, run, before, int64(world.DeliveriesKept)); err != nil {
			return 0, err
		}
		if err := dl.tx.exec(unmark, run, before); err != nil {
			return 0, err
		}
	}
	return n, nil
}
