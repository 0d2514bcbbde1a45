package floor

// This file appends to a SQLite file, through the driver itself as Stepwell does: database/sql would cost about as much as the row.

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"path/filepath"

	driversqlite "modernc.org/sqlite"

	"github.com/stepwell/stepwell/bench/engine"
)

type sqlite struct {
	conn                  driver.Conn
	begin, insert, commit driver.Stmt
	args                  []driver.NamedValue
}

func openSQLite(ctx context.Context, s engine.Store, first, indexed bool) (appender, error) {
	if !first {
		return nil, errors.New("a SQLite file has one writer")
	}
	path := filepath.Join(s.Dir, "floor.db")
	connector, err := driversqlite.NewConnector("file:" + path + "?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=cache_size(-32000)")
	if err != nil {
		return nil, err
	}
	conn, err := connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	a := &sqlite{conn: conn}
	schema := []string{"CREATE TABLE log (run INTEGER NOT NULL, seq INTEGER NOT NULL, n INTEGER NOT NULL, format INTEGER NOT NULL, head TEXT NOT NULL, body BLOB NOT NULL)"}
	if indexed {
		schema = append(schema, "CREATE UNIQUE INDEX log_run ON log (run, seq)")
	}
	for _, sql := range schema {
		stmt, err := conn.Prepare(sql)
		if err == nil {
			err = a.run(ctx, stmt)
			err = errors.Join(err, stmt.Close())
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", sql, err), conn.Close())
		}
	}
	for _, p := range []struct {
		to  *driver.Stmt
		sql string
	}{{&a.begin, "BEGIN IMMEDIATE"}, {&a.insert, "INSERT INTO log (run, seq, n, format, head, body) VALUES (?, ?, ?, ?, ?, ?)"}, {&a.commit, "COMMIT"}} {
		if *p.to, err = conn.Prepare(p.sql); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	return a, nil
}

func (a *sqlite) run(ctx context.Context, s driver.Stmt, args ...any) error {
	a.args = a.args[:0]
	for i, v := range args {
		a.args = append(a.args, driver.NamedValue{Ordinal: i + 1, Value: v})
	}
	_, err := s.(driver.StmtExecContext).ExecContext(ctx, a.args)
	return err
}

func (a *sqlite) append(ctx context.Context, rows []row) error {
	if err := a.run(ctx, a.begin); err != nil {
		return err
	}
	for _, r := range rows {
		if err := a.run(ctx, a.insert, r.run, r.seq, int64(3), int64(1), string(r.head), r.body); err != nil {
			return err
		}
	}
	return a.run(ctx, a.commit)
}

func (a *sqlite) close() error {
	return errors.Join(a.begin.Close(), a.insert.Close(), a.commit.Close(), a.conn.Close())
}
