package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
	"slices"
)

// A group waits for the disk unless none of its members must. Those that need not are what a worker process believes about itself: that it owns
// a run, that its lease goes on, that it has joined. A process that is killed undoes nothing that it has written to the file. A power cut
// may undo the last groups that did not wait, and ends the process that believed in them in the same instant: the file has one. The next one
// voids what is left of it, as it does anyway. Whatever is told to others or begins a body is a commit, a delivery or the claim of a task; it waits, and
// as a sync is one of the whole write-ahead log, all that was written before is durable with it: a run's claim is, before its first body starts.
//
// SQLite's names for the two are FULL and NORMAL. In WAL mode they differ in one thing, whether a commit syncs the log. With both, a checkpoint
// syncs it before it copies from it, and the file before the log begins anew; and the header of the new log is synced before its frames. So a
// crash never damages the file, and leaves all groups up to some moment that is not before the last one that waited. What follows a sync that failed is in
// sync_failed.go.

var (
	syncFull   = load("sync_full")
	syncNormal = load("sync_normal")
)

// lazy reports whether no member of a batch must be durable when it is answered.
func lazy(batch []*request) bool {
	return !slices.ContainsFunc(batch, func(r *request) bool { return !r.lazy })
}

// setLazy says what the transactions that follow do, between transactions. A connection begins with waiting. Only an error to make it wait
// again matters, and then it must not be used any more.
func (c *conn) setLazy(lazy bool) error {
	switch {
	case lazy == c.lazy:
		return nil
	case lazy:
		c.lazy = true // it may be so from here on, also where this fails
		_ = c.direct(syncNormal)
		return nil
	}
	if err := c.direct(syncFull); err != nil {
		return err
	}
	c.lazy = false
	return nil
}

// direct compiles a statement and runs it: some pragmas do what they do when they are compiled, and nothing when they are run again.
func (c *conn) direct(s *statement) error {
	c.calls.Add(1)
	run := func() error {
		_, err := c.raw.(driver.ExecerContext).ExecContext(context.Background(), s.text, nil)
		return err
	}
	var err error
	if c.fault != nil {
		err = c.fault(s, run)
	} else {
		err = run()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	return nil
}
