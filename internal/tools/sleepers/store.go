package main

// This file opens the database, watches what is taken from it, and weighs it.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/postgres"
	"github.com/stepwell/stepwell/world/sqlite"
)

// store is the world that is measured.
type store struct {
	raw     world.World
	watched world.World // the same, with all its abilities, noting what it gives
	log     *claims
	size    func(ctx context.Context) (total int64, tables []Table, err error)
}

// Table is what a table and its indexes take.
type Table struct {
	Name   string  `json:"name"`
	PerRun float64 `json:"perRun"` // bytes
}

// openStore opens a file, which a path or sqlite:PATH names, or a server's database. There must be no run in it.
func openStore(ctx context.Context, db string) (s *store, err error) {
	s = &store{log: new(claims)}
	if scheme, _, _ := strings.Cut(db, ":"); scheme == "postgres" || scheme == "postgresql" {
		w, err := postgres.Open(ctx, db)
		if err != nil {
			return nil, err
		}
		s.raw, s.watched, s.size = w, &watchedServer{w, s.log}, func(ctx context.Context) (int64, []Table, error) { return weigh(ctx, db) }
	} else {
		path := strings.TrimPrefix(db, "sqlite:")
		w, err := sqlite.Open(path)
		if err != nil {
			return nil, err
		}
		s.raw, s.watched, s.size = w, &watchedFile{w, s.log}, func(context.Context) (int64, []Table, error) { return fileSize(path) + fileSize(path+"-wal"), nil, nil }
	}
	st, err := s.raw.Stats(ctx)
	if err == nil && len(st.Workflows)+len(st.Workers) > 0 {
		err = errors.New("there are runs or workers in this database; give an empty one")
	}
	if err != nil {
		return nil, errors.Join(err, s.raw.Close())
	}
	return s, nil
}

// watchedFile and watchedServer are worlds that note what they give.
type (
	watchedFile struct {
		*sqlite.World
		log *claims
	}
	watchedServer struct {
		*postgres.World
		log *claims
	}
)

// Claim is the world's, noted.
func (w *watchedFile) Claim(ctx context.Context, q world.ClaimQuery) (world.Claimed, error) {
	return w.log.note(ctx, w.World, q)
}

// Claim is the world's, noted.
func (w *watchedServer) Claim(ctx context.Context, q world.ClaimQuery) (world.Claimed, error) {
	return w.log.note(ctx, w.World, q)
}

// claims are the runs that were given to the worker, in order. It is safe for concurrent use.
type claims struct {
	mu      sync.Mutex
	calls   int64
	claimed []claiming
}

// claiming is one of them.
type claiming struct {
	run  string
	at   time.Time
	took time.Duration // the call that gave it
}

func (l *claims) note(ctx context.Context, w world.Queue, q world.ClaimQuery) (world.Claimed, error) {
	began := time.Now()
	t, err := w.Claim(ctx, q)
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls++
	for _, r := range t.Runs {
		l.claimed = append(l.claimed, claiming{r.Run, now, now.Sub(began)})
	}
	return t, err
}

// since returns what was given after the first n runs, and how many looks for work there were.
func (l *claims) since(n int) (claimed []claiming, looks int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.claimed[n:], l.calls
}

func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// weigh asks the server what the tables of the schema and their indexes take.
func weigh(ctx context.Context, db string) (total int64, tables []Table, err error) {
	u, err := url.Parse(db)
	if err != nil {
		return 0, nil, errors.New("not a PostgreSQL URL") // the error of url.Parse repeats it, password and all
	}
	q := u.Query()
	schema := cmp.Or(q.Get("stepwell_schema"), "stepwell")
	q.Del("stepwell_schema")
	u.RawQuery = q.Encode()
	conn, err := pgx.Connect(ctx, u.String())
	if err != nil {
		return 0, nil, err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	rows, err := conn.Query(ctx, `SELECT c.relname, pg_total_relation_size(c.oid) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $1 AND c.relkind = 'r' ORDER BY 2 DESC, 1`, schema)
	if err != nil {
		return 0, nil, err
	}
	var t Table
	var size int64
	_, err = pgx.ForEachRow(rows, []any{&t.Name, &size}, func() error {
		t.PerRun, total = float64(size), total+size
		tables = append(tables, t)
		return nil
	})
	if err != nil {
		err = fmt.Errorf("sizes of the tables of schema %s: %w", schema, err)
	}
	return total, tables, err
}
