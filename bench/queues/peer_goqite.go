package main

// This file is goqite (maragu.dev/goqite) on the SQLite that Stepwell uses, WAL and synchronous=FULL, with one connection, as its own bench has.
// Each consumer receives one at a time, and rests for 2 ms where there is none.

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"maragu.dev/goqite"
	_ "modernc.org/sqlite"
)

type goqiteQueue struct {
	db      *sql.DB
	q       *goqite.Queue
	clients int
}

func openGoqite(ctx context.Context, st store, clients int) (queue, error) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(st.dir, "goqite.db")+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=busy_timeout(5000)&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	schema, err := goqiteSchema(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := db.ExecContext(ctx, schema); err != nil {
		return nil, err
	}
	return &goqiteQueue{db, goqite.New(goqite.NewOpts{DB: db, Name: "jobs", Timeout: 30 * time.Second}), clients}, nil
}

// goqiteSchema is in its module, as a file.
func goqiteSchema(ctx context.Context) (string, error) {
	dir, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "maragu.dev/goqite").Output()
	if err != nil {
		return "", fmt.Errorf("looking for goqite's module: %w", err)
	}
	b, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "schema_sqlite.sql"))
	return string(b), err
}

func message(payload int64) goqite.Message {
	return goqite.Message{Body: strconv.AppendInt(nil, payload, 10)}
}

func (g *goqiteQueue) send(ctx context.Context, payload int64) error {
	return g.q.Send(ctx, message(payload))
}

func (g *goqiteQueue) fill(ctx context.Context, payloads []int64) error {
	for part := range slices.Chunk(payloads, 1_000) {
		tx, err := g.db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		for _, p := range part {
			if err := g.q.SendTx(ctx, tx, message(p)); err != nil {
				_ = tx.Rollback()
				return err
			}
		}
		if err := tx.Commit(); err != nil {
			return err
		}
	}
	return nil
}

func (g *goqiteQueue) work(ctx context.Context, done func(int64)) (stop func() error, err error) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	for range g.clients {
		all.Go(func() {
			for ctx.Err() == nil && g.one(ctx, done) == nil {
			}
		})
	}
	return func() error { cancel(); all.Wait(); return nil }, nil
}

func (g *goqiteQueue) one(ctx context.Context, done func(int64)) error {
	m, err := g.q.ReceiveAndWait(ctx, 2*time.Millisecond)
	if err != nil || m == nil {
		return err
	}
	payload, err := strconv.ParseInt(string(m.Body), 10, 64)
	if err != nil {
		return err
	}
	done(payload)
	return g.q.Delete(context.WithoutCancel(ctx), m.ID)
}

func (g *goqiteQueue) close(context.Context) error { return g.db.Close() }
