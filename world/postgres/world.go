package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/stepwell/stepwell/world"
)

// World is a schema of a PostgreSQL database, as one process sees it. It is safe for concurrent use.
type World struct {
	opt      Options
	place    string   // host, port and database, for messages
	texts    []string // of all statements, for this schema
	cfg      *pgxpool.Config
	pool     *pgxpool.Pool
	limit    int          // connections that the server lets this role have; 0: enough, or a pooler in between
	pooled   bool         // a pooler stands in between: sessions are not ours
	gaveUpAt atomic.Int64 // when they were last, since started
	turned   atomic.Int64 // how often a connection turned out to be read-only: those made before are given up

	gate   sync.RWMutex // held for reading while a request is sent, so that Close can close the channels
	closed bool         // under gate
	stop   context.CancelFunc
	active sync.WaitGroup // what Open and Join started

	writing  writing // commits: see writer.go
	queue    queueing
	keys     runKeys
	sweeping sweeping

	clock clock // the database's, as far as it is known

	mu      sync.Mutex
	runs    map[string]*run    // that workers of this World own; under mu
	workers map[string]*worker // that joined here and are alive, by ID; under mu
	classes classes

	listeners world.Listeners
	counters  counters
}

type counters struct {
	commits, groups, takes, deliveries, appends, rowsRead, rowsWritten, rowsTrimmed atomic.Int64

	statements   atomic.Int64 // made for somebody who called
	housekeeping atomic.Int64 // made beside, when it is time: of the session, and for news
}

var (
	_ world.World    = (*World)(nil)
	_ world.Notifier = (*World)(nil)
	_ world.Poller   = (*World)(nil)

	_ world.Timekeeper = (*World)(nil)
)

// Open connects to a database by its URL (postgres://user@host/db, or any text that libpq takes) and brings the schema up to date, unless
// the options say otherwise. ctx bounds the opening alone. Close ends what it starts.
func Open(ctx context.Context, url string, options ...Options) (*World, error) {
	var o Options
	if len(options) > 0 {
		o = options[0]
	}
	if err := world.MayOpen(); err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	w, err := prepare(url, o)
	if err != nil {
		return nil, err
	}
	if err := w.connect(ctx); err != nil {
		return nil, w.classify(err)
	}
	if err := w.migrate(ctx); err != nil {
		w.pool.Close()
		return nil, w.classify(err)
	}
	background, stop := context.WithCancel(context.Background())
	w.stop = stop
	w.startWriters(background)
	w.startQueue(background)
	return w, nil
}

// prepare makes a World that is not connected yet.
func prepare(url string, o Options) (*World, error) {
	url, schema, err := cutSchema(url)
	if err != nil {
		return nil, err
	}
	set(&o.Schema, schema)
	if err := o.defaults(); err != nil {
		return nil, err
	}
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("%w: not a PostgreSQL URL: %w", world.ErrInvalid, err)
	}
	cfg.MaxConns = int32(o.Conns)
	if cfg.MaxConnLifetimeJitter == 0 {
		cfg.MaxConnLifetimeJitter = cfg.MaxConnLifetime / 10 // not all at once
	}
	if severalHosts(cfg.ConnConfig) && cfg.ConnConfig.ValidateConnect == nil { // unless target_session_attrs says otherwise
		cfg.ConnConfig.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	if cfg.ConnConfig.RuntimeParams["application_name"] == "" {
		cfg.ConnConfig.RuntimeParams["application_name"] = "stepwell"
	}
	w := &World{
		opt: o, cfg: cfg, texts: allTexts(o.Schema),
		place:   fmt.Sprintf("postgres %s:%d/%s", cfg.ConnConfig.Host, cfg.ConnConfig.Port, cfg.ConnConfig.Database),
		clock:   clock{system: o.Now},
		runs:    make(map[string]*run),
		workers: make(map[string]*worker),
	}
	cfg.ConnConfig.OnPgError = w.mayKeep
	return w, nil
}

// connect makes the pool and finds out whether a pooler stands in between. Behind one no statement is prepared by name.
func (w *World) connect(ctx context.Context) (err error) {
	c, err := pgx.ConnectConfig(ctx, w.cfg.ConnConfig)
	if err != nil {
		return err
	}
	var pid uint32
	var isolation string
	var now time.Time
	var conns int
	sent := time.Now()
	if err = c.QueryRow(ctx, w.sql(whoAnswers), pgx.QueryExecModeExec).Scan(&pid, &isolation, &now, &conns); err == nil {
		w.clock.measure(sent, now)
	}
	w.pooled = pid != c.PgConn().PID()
	if err == nil && w.pooled && isolation != "read committed" {
		err = fmt.Errorf("%w: %s: transactions of role %s are %s by default, and a pooler stands in between; ALTER ROLE … SET default_transaction_isolation = 'read committed'",
			world.ErrStorage, w.place, w.cfg.ConnConfig.User, isolation)
	}
	if err = errors.Join(err, c.Close(ctx)); err != nil {
		return err
	}
	if !w.pooled { // else connections are the pooler's
		w.fit(conns)
	}
	if w.pooled && w.cfg.ConnConfig.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement {
		w.cfg.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	if !w.pooled {
		w.cfg.ConnConfig.AfterConnect = w.prepareSession
	}
	w.cfg.AfterConnect = func(_ context.Context, c *pgx.Conn) error { readTimes(c); return nil }
	w.pool, err = pgxpool.NewWithConfig(ctx, w.cfg)
	return err
}

// Close waits for commits under way and closes all connections. Closing twice is legal.
func (w *World) Close() error {
	w.gate.Lock()
	if w.closed {
		w.gate.Unlock()
		return nil
	}
	w.closed = true
	w.gate.Unlock()
	w.stopWriters() // those under way are written
	w.stop()
	w.active.Wait()
	w.pool.Close()
	return nil
}

func (w *World) isClosed() bool {
	w.gate.RLock()
	defer w.gate.RUnlock()
	return w.closed
}

// now is the database's time, about.
func (w *World) now() time.Time { return w.clock.now() }

// Time is the database's time, about; see [world.Timekeeper].
func (w *World) Time() time.Time { return w.now() }
