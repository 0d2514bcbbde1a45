// Package dbos runs the workloads on DBOS Transact for Go, with its defaults; on SQLite also with synchronous=FULL, which is not its default.
package dbos

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	_ "github.com/dbos-inc/dbos-transact-golang/dbos/driver/sqlite" // registers the driver
	_ "github.com/jackc/pgx/v5/stdlib"                              // to count what sleeps

	"github.com/stepwell/stepwell/bench/engine"
)

// Maker opens DBOS.
var Maker = engine.Maker{
	Name: "dbos", Version: engine.ModuleVersion("github.com/dbos-inc/dbos-transact-golang"),
	Stores: []engine.Kind{engine.SQLite, engine.SQLiteNormal, engine.Postgres},
	Settings: map[string]string{
		"worker":        "workflows run at once in the process that starts them, without a queue (default)",
		"sqlite-normal": "what DatabaseURL gives: WAL, synchronous=NORMAL, 8 connections (default)",
		"sqlite":        "the same pool, with synchronous=FULL on every connection, given as SQLiteSystemDB",
		"postgres":      "pool of 20 connections (default)",
		"logger":        "discarded",
	},
	Open: open,
}

type bench struct {
	ctx  dbos.Context
	db   *sql.DB // a connection of our own, to look
	mine *sql.DB // that we gave to DBOS

	serial dbos.Workflow[order, int]
	wide   dbos.Workflow[order, int]
	nap    dbos.Workflow[order, int]
	listen dbos.Workflow[order, int]
	leaf   dbos.Workflow[order, int]
	parent dbos.Workflow[order, int]

	noting  sync.Map // order.Note → func(i int, at time.Time)
	notes   atomic.Int64
	newest  atomic.Value
	napping atomic.Int64
}

const file = "dbos.db"

func open(ctx context.Context, s engine.Store) (_ engine.Engine, err error) {
	b := &bench{}
	cfg := dbos.Config{AppName: "bench", Logger: slog.New(slog.DiscardHandler)}
	path := filepath.Join(s.Dir, file)
	switch s.Kind {
	case engine.Postgres:
		cfg.DatabaseURL = s.URL
		b.db, err = sql.Open("pgx", s.URL)
	case engine.SQLiteNormal:
		cfg.DatabaseURL = "sqlite:" + path
		b.db, err = sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)")
	case engine.SQLite:
		// As DBOS opens its own, but for one word.
		b.mine, err = sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=foreign_keys(ON)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
		if err != nil {
			return nil, err
		}
		b.mine.SetMaxOpenConns(8)
		b.mine.SetMaxIdleConns(4)
		b.mine.SetConnMaxLifetime(time.Hour)
		cfg.SQLiteSystemDB = b.mine
		b.db, err = sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)")
	default:
		err = fmt.Errorf("dbos has no store of kind %s", s.Kind)
	}
	if err != nil {
		return nil, err
	}
	if b.ctx, err = dbos.NewContext(ctx, cfg); err != nil {
		return nil, err
	}
	b.define()
	if err := dbos.Launch(b.ctx); err != nil {
		return nil, errors.Join(err, b.Close(ctx))
	}
	return b, nil
}

// Close shuts DBOS down. Runs that sleep or wait are left behind: that is no error here.
func (b *bench) Close(context.Context) error {
	_ = dbos.Shutdown(b.ctx, 2*time.Second)
	err := b.db.Close()
	if b.mine != nil {
		err = errors.Join(err, b.mine.Close())
	}
	return err
}
