package server

// This file listens and serves: where a server may listen, how many connections it has, how it ends, and the sweeper of ended runs.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/stepwell/stepwell"
)

// Serving configures [Server.Serve]. The zero value is usable.
type Serving struct {
	HeaderTimeout time.Duration // how long a request's header may take to arrive; default 10 s
	IdleTimeout   time.Duration // how long an idle connection is kept; default 2 min
	MaxHeader     int           // bytes of a request's header; default 64 KiB
	// MaxConnections is how many connections are open at once. A further one waits, unless an idle
	// one can be closed. Default 2,000.
	MaxConnections int
	// MaxPerAddress is how many connections one address may have. Default half of MaxConnections,
	// which is enough for a proxy.
	MaxPerAddress int
	Shutdown      time.Duration // how long requests may take to end at shutdown; default 10 s
	// SweepInterval is the time between deletions of runs whose retention is over. Default 5 min;
	// below 0: this server deletes none.
	SweepInterval time.Duration
	Certificate   *Certificate // for TLS; default: plain HTTP
}

func (v *Serving) defaults() error {
	var errs []error
	set := func(d *time.Duration, name string, def time.Duration) {
		if *d < 0 {
			errs = append(errs, fmt.Errorf("%w: Serving.%s is %s: must not be negative", stepwell.ErrInvalid, name, *d))
		}
		if *d == 0 {
			*d = def
		}
	}
	set(&v.HeaderTimeout, "HeaderTimeout", 10*time.Second)
	set(&v.IdleTimeout, "IdleTimeout", 2*time.Minute)
	set(&v.Shutdown, "Shutdown", 10*time.Second)
	if v.SweepInterval == 0 {
		v.SweepInterval = 5 * time.Minute
	}
	if v.MaxHeader < 0 || v.MaxConnections < 0 || v.MaxPerAddress < 0 {
		errs = append(errs, fmt.Errorf("%w: Serving: MaxHeader is %d, MaxConnections %d, MaxPerAddress %d: must not be negative", stepwell.ErrInvalid, v.MaxHeader, v.MaxConnections,
			v.MaxPerAddress))
	}
	if v.MaxHeader == 0 {
		v.MaxHeader = 64 << 10
	}
	if v.MaxConnections == 0 {
		v.MaxConnections = 2000
	}
	if v.MaxPerAddress == 0 {
		v.MaxPerAddress = max(1, v.MaxConnections/2)
	}
	return errors.Join(errs...)
}

// Listen listens on host:port, TCP. Without keys it refuses a public address, where anyone could do
// everything, unless the server is [Options].Insecure. If an encryption key has the ID of a
// different key in the database, the error is [stepwell.ErrWrongKey].
func (s *Server) Listen(ctx context.Context, address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, invalid("listen on %q: want host:port, such as 127.0.0.1:7373 or :7373", address)
	}
	if !loopback(host) && len(s.opts.Keys) == 0 && !s.opts.Insecure {
		return nil, invalid("listen on %q: this address is public, and there are no API keys; give keys, or listen on 127.0.0.1", address)
	}
	if err := s.checkKeys(ctx); err != nil {
		return nil, err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("listen on %q: %w: another program listens there, perhaps another server; stop it, or listen elsewhere", address, err)
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %q: %w", address, err)
	}
	return l, nil
}

// checkKeys refuses encryption keys that are others than those of the database: what is started with them could not be read, and nothing that is there can.
func (s *Server) checkKeys(ctx context.Context) error {
	if d := s.world.Abilities().Decrypter; d != nil {
		return d.CheckKeys(ctx)
	}
	return nil
}

// loopback reports whether only this machine reaches a host.
func loopback(host string) bool {
	if ip := net.ParseIP(host); ip != nil {
		return ip.IsLoopback()
	}
	return strings.EqualFold(host, "localhost")
}

// Serve serves until ctx ends. Then it takes no more requests, ends requests that wait, and returns
// when the others have ended or [Serving].Shutdown is over. It closes the listener. If an
// encryption key has the ID of a different key in the database, it returns [stepwell.ErrWrongKey]
// at once.
func (s *Server) Serve(ctx context.Context, l net.Listener, v Serving) error {
	if err := errors.Join(v.defaults(), s.checkKeys(ctx)); err != nil {
		return errors.Join(fmt.Errorf("serve: %w", err), l.Close())
	}
	srv := &http.Server{
		Handler: s, ConnContext: withGuest, ReadHeaderTimeout: v.HeaderTimeout, IdleTimeout: v.IdleTimeout, MaxHeaderBytes: v.MaxHeader,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug), // clients' broken connections
	}
	work, cancel := context.WithCancel(ctx)
	var loops sync.WaitGroup
	defer loops.Wait()
	defer cancel()
	if v.SweepInterval > 0 {
		loops.Go(func() { s.sweep(work, v.SweepInterval) })
	}
	loops.Go(func() { s.Push(work) })
	loops.Go(func() { s.Spread(work) })
	ended := make(chan error, 1)
	conns := newHouse(l, v.MaxConnections, v.MaxPerAddress)
	loops.Go(func() {
		if v.Certificate == nil {
			ended <- srv.Serve(conns)
			return
		}
		srv.TLSConfig = v.Certificate.config()
		ended <- srv.ServeTLS(conns, "", "")
	})
	select {
	case err := <-ended:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	s.Drain()
	last, stop := context.WithTimeout(context.WithoutCancel(ctx), v.Shutdown)
	defer stop()
	if err := srv.Shutdown(last); err != nil {
		s.log.Warn("requests were cut off", "err", err)
		return srv.Close()
	}
	return nil
}

// sweep deletes ended runs whose retention is over. Others may do the same at the same time.
func (s *Server) sweep(ctx context.Context, every time.Duration) {
	const batch = 1000
	ticks := time.NewTicker(every)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		for {
			n, err := s.world.Sweep(ctx, batch)
			s.tellSwept(n)
			if err != nil && ctx.Err() == nil {
				s.log.Warn("sweep failed", "err", err)
			}
			if err != nil || n < batch {
				break
			}
		}
	}
}
