package sqlite

import (
	"time"

	"github.com/stepwell/stepwell/world"
)

// txn is the transaction of a group, as all its parts write it.
//
//   - Nothing but the file, and what is remembered of it, changes before it is committed: what is to change then is said
//     to onCommit, and notices wait.
//   - A change that fails has left nothing behind where writes did not grow: the others of its group go on.
//   - One statement runs at a time: a row is read before the next one is asked for.
type txn struct {
	counters *counters
	limits   *limits // of the group

	c      *conn
	begun  time.Time
	steady time.Time // and as leases go
	writes int       // statements that wrote
	bytes  int64     // of rows that were written
	tally  tally

	notices []world.Notice
	mark    int      // notices of the batch before this transaction
	hooks   []func() // to be called once it is committed
}

// tally is what a transaction comes to, for the counters.
type tally struct{ commits, claims, deliveries, appends, rowsWritten, rowsTrimmed, rowsRead int64 }

func (t *txn) init(n *counters) { t.counters = n }

// next goes on with another transaction of the batch, which has not begun yet.
func (t *txn) next() { t.mark = len(t.notices) }

func (t *txn) begin(c *conn, now, steady time.Time) {
	clear(t.hooks)
	t.c, t.begun, t.steady = c, now, steady
	t.hooks, t.writes, t.bytes, t.tally = t.hooks[:0], 0, 0, tally{}
}

// committed follows a transaction that is committed, and durable unless it is lazy.
func (t *txn) committed() {
	n := t.counters
	if t.writes > 0 {
		n.groups.Add(1)
	}
	n.commits.Add(t.tally.commits)
	n.claims.Add(t.tally.claims)
	n.deliveries.Add(t.tally.deliveries)
	n.appends.Add(t.tally.appends)
	n.rowsWritten.Add(t.tally.rowsWritten)
	n.rowsRead.Add(t.tally.rowsRead)
	n.rowsTrimmed.Add(t.tally.rowsTrimmed)
	for _, f := range t.hooks {
		f()
	}
}

// retract takes back the notices of a transaction that is given up.
func (t *txn) retract() { t.notices = t.notices[:t.mark] }

// told ends a batch: its notices were told.
func (t *txn) told() { t.notices = t.notices[:0] }

// news are the notices of the batch.
func (t *txn) news() []world.Notice { return t.notices }

// now is the time of the transaction.
func (t *txn) now() time.Time { return t.begun }

// leases is its time as leases go.
func (t *txn) leases() time.Time { return t.steady }

// wrote is how many statements have written.
func (t *txn) wrote() int { return t.writes }

// grown is how many bytes of rows they wrote, and grow notes some.
func (t *txn) grown() int64 { return t.bytes }
func (t *txn) grow(n int)   { t.bytes += int64(n) }

// count is where everybody adds to the tally.
func (t *txn) count() *tally { return &t.tally }

// conn is what reads in the transaction.
func (t *txn) conn() *conn { return t.c }

// onCommit calls f, on the writer's goroutine, once the transaction is committed.
func (t *txn) onCommit(f func()) { t.hooks = append(t.hooks, f) }

// notice tells who listens when the transaction is committed, be it that nobody does as yet: who begins to listen
// meanwhile looks before the commit, and would see nothing of it.
func (t *txn) notice(kind world.NoticeKind, run string) {
	t.notices = append(t.notices, world.Notice{Kind: kind, Run: run})
}

func (t *txn) exec(s *statement, args ...any) error {
	t.writes++
	_, err := t.c.exec(s, args...)
	return err
}

// changed is exec that tells how many rows were changed.
func (t *txn) changed(s *statement, args ...any) (int64, error) {
	n, err := t.c.exec(s, args...)
	if n > 0 || err != nil {
		t.writes++
	}
	return n, err
}

// insert is exec that tells the key of the row, 0 where nothing was inserted.
func (t *txn) insert(s *statement, args ...any) (int64, error) {
	key, err := t.c.insert(s, args...)
	if key != 0 || err != nil {
		t.writes++
	}
	return key, err
}

// returning is exec that tells of the row it changed.
func (t *txn) returning(s *statement, scan func(r row) error, args ...any) (found bool, err error) {
	t.writes++
	return t.c.one(s, scan, args...)
}

func (t *txn) one(s *statement, scan func(r row) error, args ...any) (found bool, err error) {
	return t.c.one(s, scan, args...)
}

func (t *txn) query(s *statement, each func(r row) (more bool, err error), args ...any) error {
	return t.c.query(s, each, args...)
}
