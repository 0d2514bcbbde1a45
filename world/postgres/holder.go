package postgres

// Who holds what a birth waits for. Another transaction that has written the same run ID or idempotency key, and is open, keeps a start waiting, and nothing that
// can be read tells the key. So who waits for the second time is looked at while it waits.

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
)

// holderAfter is when in an attempt, which waits for lockMoment, it is asked who is waited for.
const holderAfter = 50 * time.Millisecond

var whoHolds = load("who_holds")

// keyHolder is who holds the key of a birth that waits.
type keyHolder struct {
	w     *World
	what  string // run ID or key; "": it has none that somebody chose
	tried bool   // an attempt has met a lock
	who   atomic.Pointer[string]
}

func newKeyHolder(w *World, c *world.Commit) *keyHolder {
	h := &keyHolder{w: w}
	switch {
	case w.pooled || !chosenBirth(c): // a pooler's connections have other numbers
	case c.Events[0].Birth.Key != "":
		h.what = fmt.Sprintf("idempotency key %q of workflow %s", c.Events[0].Birth.Key, c.Events[0].Birth.Workflow)
	default:
		h.what = "run ID " + c.Run
	}
	return h
}

// watch looks at an attempt that waits, where one before it did. It is to be stopped.
func (h *keyHolder) watch(ctx context.Context, tx pgx.Tx) (stop func()) {
	if h.what == "" || !h.tried || h.who.Load() != nil {
		return func() {}
	}
	pid, done := int32(tx.Conn().PgConn().PID()), make(chan struct{})
	waiting, leave := context.WithCancel(ctx) // for a second connection, for no longer than there is a reason
	t := time.AfterFunc(holderAfter, func() {
		defer close(done)
		h.w.counters.housekeeping.Add(1)
		conn, err := h.w.pool.Acquire(waiting)
		if err != nil {
			return
		}
		defer conn.Release()
		var who string
		if err := conn.QueryRow(ctx, h.w.sql(whoHolds), pid).Scan(&who); err == nil && who != "" {
			h.who.Store(&who)
		}
	})
	return func() {
		leave()
		if !t.Stop() {
			<-done
		}
	}
}

// met notes what an attempt came to.
func (h *keyHolder) met(err error) {
	if sqlState(err) == codeLockTimeout {
		h.tried = true
	}
}

// tell adds who it was to an error that ended the wait.
func (h *keyHolder) tell(err error) error {
	if who := h.who.Load(); who != nil && !ours(err) {
		return fmt.Errorf("%w: another open transaction holds %s: %s", err, h.what, *who)
	}
	return err
}
