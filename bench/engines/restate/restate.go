// Package restate is Restate under the bench: its server, from its npm package, and its Go SDK. A step is a run block of a handler.
package restate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/restatedev/sdk-go/ingress"
	sdk "github.com/restatedev/sdk-go/server"

	"github.com/stepwell/stepwell/bench/engine"
)

// Maker opens Restate.
var Maker = engine.Maker{
	Name:    "restate",
	Version: "server " + serverVersion + ", SDK " + engine.ModuleVersion("github.com/restatedev/sdk-go"),
	Stores:  []engine.Kind{engine.Own},
	Settings: map[string]string{
		"server":   "one node with all roles, 24 partitions, log on disk with fsync (defaults); telemetry off",
		"protocol": "HTTP/2 to the handlers, both ways at once (default); plain HTTP to the server, connections kept",
		"sleepers": "their handler suspends after 0.1 s without news (default 1 min, and at most 1,000 handlers run at once)",
		"list":     "SQL at its admin port",
		"log":      "errors only at the server, discarded in the SDK",
	},
	Prepare: func(ctx context.Context) error { _, err := install(ctx); return err },
	Open:    open,
}

// peer is one open Restate.
type peer struct {
	server   *exec.Cmd
	gone     chan error
	handlers *http.Server // where the server calls the handlers
	http     *http.Client
	client   *ingress.Client
	ingress  string // URLs
	admin    string

	number atomic.Int64
	last   atomic.Pointer[string] // the newest run that ran steps
	gaps   sync.Map               // number of a run → []time.Time
	began  sync.Map               // number of a run → chan time.Time
	waits  sync.Map               // number of a run → chan string, for what it waits for
}

func open(ctx context.Context, s engine.Store) (engine.Engine, error) {
	if s.Kind != engine.Own {
		return nil, fmt.Errorf("the server of Restate keeps its data itself, not in %s", s.Kind)
	}
	program, err := install(ctx)
	if err != nil {
		return nil, err
	}
	p := &peer{gone: make(chan error, 1)}
	// By default two connections a host are kept: every other call would make one.
	p.http = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1024, MaxIdleConns: 4096}}
	at, err := p.handle()
	if err == nil {
		err = p.serve(ctx, program, s.Dir)
	}
	if err == nil {
		err = p.ask(ctx, p.admin+"/deployments", map[string]string{"uri": "http://" + at}, nil)
	}
	if err == nil {
		p.client = ingress.NewClient(p.ingress, ingress.WithHttpClient(p.http))
		err = p.call(ctx, "child", input{}) // waits until the partitions have their leaders, seconds after the server says that it is well
	}
	if err != nil {
		return nil, errors.Join(err, p.Close(ctx))
	}
	return p, nil
}

// handle serves the handlers and returns the address.
func (p *peer) handle() (string, error) {
	handler, err := sdk.NewRestate().WithLogger(slog.DiscardHandler, true).Bind(p.service()).Handler()
	if err != nil {
		return "", fmt.Errorf("binding the handlers of Restate: %w", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("listening for Restate: %w", err)
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	p.handlers = &http.Server{Handler: handler, Protocols: protocols, ReadHeaderTimeout: time.Minute, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	go p.handlers.Serve(l) // ends when it is closed
	return l.Addr().String(), nil
}

// Processes implements [engine.Processes].
func (p *peer) Processes() []int { return []int{p.server.Process.Pid} }

// Close implements [engine.Engine].
func (p *peer) Close(ctx context.Context) error {
	var err error
	if p.server != nil {
		err = p.stop(ctx)
	}
	p.http.CloseIdleConnections()
	if p.handlers != nil {
		err = errors.Join(err, p.handlers.Close())
	}
	return err
}
