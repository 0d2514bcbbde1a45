// Package temporal is Temporal under the bench: its Go SDK, and its development server on a file (see devserver, beside), which this
// package builds when it first needs it.
package temporal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"github.com/stepwell/stepwell/bench/engine"
)

// Maker opens Temporal.
var Maker = engine.Maker{
	Name:    "temporal",
	Version: "server " + serverVersion + ", SDK " + engine.ModuleVersion("go.temporal.io/sdk"),
	Stores:  []engine.Kind{engine.SQLite},
	Settings: map[string]string{
		"server":  "all services in one process, one history shard, its own limits, as `temporal server start-dev --db-filename`",
		"sqlite":  "WAL, synchronous=FULL by its -sqlite-pragma (default: rollback journal, FULL); one connection (fixed in start-dev)",
		"worker":  "pollers scale themselves (what its documentation recommends), eager activities, 1,000 in parallel, 10,000 runs cached (defaults)",
		"steps":   "activities; local activities are kept only with the workflow task that ran them",
		"history": "at most 51,200 events (its limit): a run of more than 8,000 steps has to continue as new, and is refused here",
		"log":     "errors only at the server, discarded in the SDK",
	},
	Prepare: func(ctx context.Context) error { _, err := build(ctx); return err },
	Open:    open,
}

const (
	queue     = "bench"
	mostSteps = 8000
)

// peer is one open Temporal.
type peer struct {
	server *exec.Cmd
	alive  io.Closer // the server's standard input: it ends when this is closed
	gone   chan error
	client client.Client
	worker worker.Worker

	number atomic.Int64
	last   atomic.Pointer[string] // the ID of the newest run
	gaps   sync.Map               // number of a run → []time.Time
	began  sync.Map               // number of a run → chan time.Time
}

func open(ctx context.Context, s engine.Store) (engine.Engine, error) {
	if s.Kind != engine.SQLite {
		return nil, fmt.Errorf("the development server of Temporal does not run on %s", s.Kind)
	}
	program, err := build(ctx)
	if err != nil {
		return nil, err
	}
	p := &peer{gone: make(chan error, 1)}
	if err := p.serve(ctx, program, s.Dir); err != nil {
		return nil, errors.Join(err, p.Close(ctx))
	}
	p.worker = worker.New(p.client, queue, worker.Options{
		WorkflowTaskPollerBehavior: worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{}),
		ActivityTaskPollerBehavior: worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{}),
	})
	p.register()
	if err := p.worker.Start(); err != nil {
		p.worker = nil
		return nil, errors.Join(fmt.Errorf("starting the worker of Temporal: %w", err), p.Close(ctx))
	}
	return p, nil
}

// serve starts the server and connects.
func (p *peer) serve(ctx context.Context, program, dir string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0") // its address is the server's in a moment
	if err != nil {
		return fmt.Errorf("looking for a port for Temporal: %w", err)
	}
	address := l.Addr().(*net.TCPAddr)
	if err := l.Close(); err != nil {
		return err
	}
	server := exec.Command(program, "-db", filepath.Join(dir, "temporal.db"), "-port", strconv.Itoa(address.Port),
		"-pragma", "journal_mode=wal", "-pragma", "synchronous=2")
	said, err := os.Create(filepath.Join(dir, "temporal.log"))
	if err != nil {
		return err
	}
	defer said.Close() // the server has its own handle
	server.Stderr = said
	if p.alive, err = server.StdinPipe(); err != nil {
		return err
	}
	if err := server.Start(); err != nil {
		return fmt.Errorf("starting Temporal's server: %w", err)
	}
	p.server = server
	go func() { p.gone <- server.Wait() }()
	for {
		p.client, err = client.DialContext(ctx, client.Options{HostPort: address.String(), Logger: silence{}})
		if err == nil {
			return nil
		}
		select {
		case end := <-p.gone:
			p.gone <- end
			text, _ := os.ReadFile(said.Name())
			return fmt.Errorf("the server of Temporal ended before it could be reached (%v): %.2000s", end, text)
		case <-ctx.Done():
			return fmt.Errorf("connecting to Temporal's server: %w", err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// Processes implements [engine.Processes].
func (p *peer) Processes() []int { return []int{p.server.Process.Pid} }

// Close implements [engine.Engine].
func (p *peer) Close(ctx context.Context) error {
	if p.worker != nil {
		p.worker.Stop()
	}
	if p.client != nil {
		p.client.Close()
	}
	if p.server == nil {
		return nil
	}
	err := p.alive.Close()
	select {
	case <-p.gone: // how it ended does not matter to anybody
		return err
	case <-time.After(30 * time.Second):
	case <-ctx.Done():
	}
	err = errors.Join(err, p.server.Process.Kill())
	<-p.gone
	return err
}

// silence is a log that keeps nothing.
type silence struct{}

var _ log.Logger = silence{}

func (silence) Debug(string, ...any) {}
func (silence) Info(string, ...any)  {}
func (silence) Warn(string, ...any)  {}
func (silence) Error(string, ...any) {}
