//go:build unix

package soak

// This file is a worker process: this test binary, executed again.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/pgtest"
)

// workerEnv holds a worker's orders, as JSON.
const workerEnv = "STEPWELL_SOAK_WORKER"

// orders say what a worker process needs.
type orders struct {
	Name        string
	URL         string        // of the database, through the proxy
	Dir         string        // for notes
	Lease, Poll time.Duration // 0: the defaults
	Count       bool          // it works on counters, not on the ledger
	Nap         bool          // it takes naps
	Far         bool          // it works on the ledger from afar
	Post        bool          // it works on messages
	Book        bool          // it books those in the ledger's database, too
	Keys        string        // that it encrypts with; "": it does not
	Serve       string        // it is a server, and no worker: where it listens
}

// napping is what a worker does that takes naps, where the system has tests with any.
var napping func(ctx context.Context, o *orders) error

// lease is short, so that a stopped worker's runs are claimed while the fire burns.
const lease = 3 * time.Second

func TestMain(m *testing.M) {
	if text := os.Getenv(workerEnv); text != "" {
		var o orders
		err := json.Unmarshal([]byte(text), &o)
		if err == nil {
			err = o.work()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, o.Name+":", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	pgtest.Main(m, pgtest.Config{NoSync: true})
}

// work works until standard input ends: the parent closes it, or is gone.
func (o *orders) work() (err error) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go func() { // nobody can interrupt the read; it ends with the process
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
		<-time.After(time.Minute)
		fmt.Fprintln(os.Stderr, o.Name, "does not end by itself")
		os.Exit(2)
	}()
	switch {
	case o.Serve != "":
		return o.front(ctx)
	case o.Count:
		return o.count(ctx)
	case o.Nap:
		return napping(ctx, o)
	}
	n, err := openNotes(o.Dir)
	if err != nil {
		return err
	}
	if o.Far {
		return o.serveFar(ctx, n)
	}
	serve := o.serve
	if o.Post {
		serve = o.deliver
	}
	for {
		joined, err := serve(ctx, n)
		if err == nil || joined {
			return err
		}
		if ctx.Err() != nil { // it was told to end before it had begun
			return nil
		}
		fmt.Fprintln(os.Stderr, o.Name, "cannot start yet:", err) // a supervisor would start it again
		if dawdle(ctx, 100) != nil {
			return nil
		}
	}
}

// serve is the life of an application: it works until ctx ends. It may fail to begin while the database is away; once it has joined, nothing the
// fire does is a reason to end.
func (o *orders) serve(ctx context.Context, n *notes) (joined bool, err error) {
	db, err := openWorld(ctx, o.URL)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	app, err := stepwell.New(&noted{db, n}, stepwell.Config{
		Definitions: append((&ledger{notes: n}).definitions(), ticks(n)), Name: o.Name, Lease: o.Lease, Poll: o.Poll, Drain: 5 * time.Second,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return true, err
	}
	err = app.Run(ctx)
	return *n.worker.Load() != "", err
}
