package postgres

import (
	"context"
	"fmt"
	"maps"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

// World is a store in a schema of a PostgreSQL database. It is safe for concurrent use.
type World struct {
	database
	reader
	keeper

	stop   context.CancelFunc
	active sync.WaitGroup // what Open and Join started

	commits line[*request]
	sender  sender
	appends appends

	messaging messaging
	topics    topics
	limits    limits
	neglect   rules.Neglect // of steps
	lonely    rules.Neglect // of classes
	lapseNews rules.LapseNews

	writing writing // commits: see writer.go
	queue   queueing
	crew    crew
	burials burials
	keys    runKeys
	unknown unknowns

	telling  telling
	sessions sessionKeeper
}

var _ world.World = (*World)(nil)

// Abilities returns what the store can do besides [world.World].
func (w *World) Abilities() world.Abilities {
	return world.Abilities{Poller: w, Timekeeper: w, Transactor: w, Doctor: w, Mender: w}
}

// Open connects to a database by its URL (postgres://user@host/db, or any text that libpq accepts)
// and brings the schema up to date, except with NoMigrate. ctx limits only the opening. Call Close
// at the end.
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
	if err := (&migrator{&w.database}).migrate(ctx); err != nil {
		w.pool.Close()
		return nil, w.classify(err)
	}
	background, stop := context.WithCancel(context.Background())
	w.stop = stop
	w.startWriters(background)
	w.sessions.start(background)
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
	maps.Copy(cfg.ConnConfig.RuntimeParams, startUp)
	w := &World{
		database: database{
			opt: o, cfg: cfg, texts: allTexts(o.Schema), patience: lockPatience, clock: clock{system: o.Now},
			place: fmt.Sprintf("postgres %s:%d/%s", cfg.ConnConfig.Host, cfg.ConnConfig.Port, cfg.ConnConfig.Database),
		},
	}
	w.reader.database = &w.database
	w.classes.init(&w.database)
	w.keys.init(&w.database)
	w.crew.init(&w.database, w.queue.session.nudge)
	w.telling.init(&w.database, &w.crew, &w.queue)
	w.burials.init(&w.database, w.telling.tell)
	w.sender.init(&w.database, &w.writing, &w.queue, &w.telling)
	w.messaging.init(&w.database, &w.telling, &w.limits)
	w.topics.messaging = &w.messaging
	w.limits.init(&w.database, &w.telling)
	w.sessions = sessionKeeper{&w.database, &w.crew, &w.queue, &w.telling, &w.burials, &w.active}
	w.keeper.init(&w.reader, &w.burials, &w.topics)
	w.turning = func() {
		w.writing.steps.reset()
		w.queue.session.nudge()
	}
	cfg.ConnConfig.OnPgError = w.mayKeep
	return w, nil
}

// Close waits for running commits and closes all connections. Closing twice is harmless.
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
