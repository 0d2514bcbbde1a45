package postgres

// Connections that are of no more use. One that says that it is read-only is closed, whatever it was used for: the server was demoted and another has its place, or
// the role's sessions were read-only when it was made, and it would stay so for ever. All that were made before are given up with it; those that follow look for a
// server that takes writes, where the URL names several. One that says that the server ends it is closed too. And none lasts longer than the pool's lifetime
// (pool_max_conn_lifetime in the URL, an hour by default).

import (
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// resetPause is the time between two givings-up of all idle connections, at least: until a server takes writes, each that is tried says so.
const resetPause = 100 * time.Millisecond

// mayKeep reports whether a connection of ours may be used again after an error; see [pgconn.PgErrorHandler].
func (db *database) mayKeep(c *pgconn.PgConn, err *pgconn.PgError) bool {
	if err.Code == codeReadOnly {
		db.giveUp()
	}
	return keepStep(c, err)
}

// keepStep is mayKeep for connections on which the statements are the application's: only it knows whether the transaction was read-only by its own wish.
func keepStep(_ *pgconn.PgConn, err *pgconn.PgError) bool {
	switch err.Code {
	case codeReadOnly, codeShutdown, codeCrash, codeStarting, codeIdle, codeIdleSession:
		return false
	}
	return err.Severity != "FATAL" && err.SeverityUnlocalized != "FATAL"
}

// giveUp closes idle connections, and has those that are not the pool's made anew.
func (db *database) giveUp() {
	now := int64(time.Since(started))
	if last := db.gaveUpAt.Load(); last != 0 && now-last < int64(resetPause) || !db.gaveUpAt.CompareAndSwap(last, now) {
		return
	}
	db.demotions.Add(1)
	if db.pool != nil {
		db.pool.Reset()
	}
	db.turning()
}

// started is where the times of giveUp are counted from.
var started = time.Now()

// age tells whether a connection that is not the pool's has lasted long enough. The zero value is one that was made never.
type age struct {
	made      time.Time
	demotions int64
}

// newAge is the age of a connection that is about to be made.
func (db *database) newAge() age { return age{time.Now(), db.demotions.Load()} }

// old reports whether a connection is to be made anew.
func (db *database) old(a age) bool {
	return a.demotions != db.demotions.Load() || db.cfg.MaxConnLifetime > 0 && time.Since(a.made) > db.cfg.MaxConnLifetime
}

// severalHosts reports whether a URL names more than one place.
func severalHosts(c *pgx.ConnConfig) bool {
	for _, f := range c.Fallbacks { // also the same place without TLS
		if f.Host != c.Host || f.Port != c.Port {
			return true
		}
	}
	return false
}
