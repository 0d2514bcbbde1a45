package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/stepwell/stepwell/world"
)

// database is the schema as this process reaches it: connections, statements, and the time there. It knows nothing of
// runs. All parts of a World stand on it.
//
//   - What is said once, as it is opened, is read by everybody and written by nobody afterwards.
//   - Nothing is sent to who writes, once it is closed.
//   - When a connection turns out to be read-only, none that was made before is used again.
type database struct {
	opt      Options
	place    string   // host, port and database, for messages
	texts    []string // of all statements, for this schema
	cfg      *pgxpool.Config
	pool     *pgxpool.Pool
	limit    int           // connections that the server lets this role have; 0: enough, or a pooler in between
	pooled   bool          // a pooler stands in between: sessions are not ours
	patience time.Duration // lockPatience, but in tests
	turning  func()        // gives up the connections that are not the pool's

	gaveUpAt  atomic.Int64 // when connections were last given up, since started
	demotions atomic.Int64 // how often a connection turned out to be read-only: those made before are given up

	gate   sync.RWMutex // held for reading while a request is sent, so that Close can close the channels
	closed bool         // guarded by gate

	clock    clock // the database's, as far as it is known
	classes  classes
	counters counters
}

type counters struct {
	commits, groups, claims, deliveries, appends, rowsRead, rowsWritten, rowsTrimmed atomic.Int64

	statements   atomic.Int64 // made for somebody who called
	housekeeping atomic.Int64 // made beside, when it is time: of the session, and for news
}

// connect makes the pool and finds out whether a pooler stands in between. Behind one no statement is prepared by name.
func (db *database) connect(ctx context.Context) (err error) {
	c, err := pgx.ConnectConfig(ctx, db.cfg.ConnConfig)
	if err != nil {
		return err
	}
	var pid uint32
	var isolation, encoding, hidden string
	var now time.Time
	var conns int
	sent := time.Now()
	if err = c.QueryRow(ctx, db.sql(whoAnswers), pgx.QueryExecModeExec, db.opt.Schema).Scan(&pid, &isolation, &now, &conns, &encoding, &hidden); err == nil {
		db.clock.measure(sent, now)
	}
	db.pooled = pid != c.PgConn().PID()
	if err == nil && db.pooled && isolation != "read committed" {
		err = fmt.Errorf("%w: %s: transactions of role %s are %s by default, and a pooler stands in between; ALTER ROLE … SET default_transaction_isolation = 'read committed'",
			world.ErrStorage, db.place, db.cfg.ConnConfig.User, isolation)
	}
	switch {
	case err != nil:
	case encoding != "UTF8":
		err = fmt.Errorf("%w: %s: the encoding of the database is %s: create one with ENCODING 'UTF8'", world.ErrStorage, db.place, encoding)
	case hidden != "":
		err = fmt.Errorf("%w: %s: row security hides rows of %s from role %s: ALTER TABLE … DISABLE ROW LEVEL SECURITY for each of these tables, or ALTER ROLE … BYPASSRLS",
			world.ErrStorage, db.place, hidden, db.cfg.ConnConfig.User)
	}
	if err = errors.Join(err, c.Close(ctx)); err != nil {
		return err
	}
	if !db.pooled { // else connections are the pooler's
		db.fit(conns)
	}
	if db.pooled && db.cfg.ConnConfig.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement {
		db.cfg.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	if !db.pooled {
		db.cfg.ConnConfig.AfterConnect = db.prepareSession
	}
	db.cfg.AfterConnect = func(_ context.Context, c *pgx.Conn) error { readTimes(c); return nil }
	db.pool, err = pgxpool.NewWithConfig(ctx, db.cfg)
	return err
}

func (db *database) isClosed() bool {
	db.gate.RLock()
	defer db.gate.RUnlock()
	return db.closed
}

// now is the database's time, about.
func (db *database) now() time.Time { return db.clock.now() }

// Time is the database's time, about; see [world.Timekeeper].
func (db *database) Time() time.Time { return db.now() }
