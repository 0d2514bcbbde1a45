package main

// This file serves over HTTP. In front of a server that has keys, who asks has one of these, and it alone says what
// may be done.

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stepwell/stepwell/world/remote/wire"
)

// Bounds of HTTP.
const (
	mostMessage = 4 << 20          // bytes of a message of a client
	mostHeader  = 64 << 10         // bytes of a request's header
	headerTime  = 10 * time.Second // for it to arrive
	idleTime    = 2 * time.Minute  // of a connection
	sessionTime = 30 * time.Minute // of a session in which nothing is asked
	greetTime   = 10 * time.Second // for the server to answer who it is
	stopTime    = 5 * time.Second  // for requests to end
)

const path = "/mcp"

func serveHTTP(ctx context.Context, s *mcp.Server, set *settings, log *slog.Logger) error {
	keys, err := gateOf(ctx, set.serverURL())
	if err != nil {
		return err
	}
	at, err := addressOf(set.http, keys != nil)
	if err != nil {
		return err
	}
	var h http.Handler = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{
		JSONResponse: true, SessionTimeout: sessionTime, MaxRequestBodyBytes: mostMessage, PropagateRequestCancellation: true,
	})
	if keys != nil {
		h = auth.RequireBearerToken(keys.verify, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(h)
	}
	mux := http.NewServeMux()
	mux.Handle(path, http.NewCrossOriginProtection().Handler(h))
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", at)
	if err != nil {
		return err
	}
	web := &http.Server{
		Handler: mux, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: mostHeader, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	log.Info("listening", "url", "http://"+l.Addr().String()+path, "keys", keys != nil, "writes", set.writes, "payloads", set.payloads)
	served := make(chan error, 1)
	go func() { served <- web.Serve(l) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	if web.Shutdown(last) != nil { // what follows a session does not end by itself
		_ = web.Close()
	}
	<-served
	return nil
}

// addressOf is where it listens: on this machine alone where no host is named, and elsewhere only where there are keys.
func addressOf(text string, keys bool) (string, error) {
	host, port, err := net.SplitHostPort(text)
	switch {
	case err != nil:
		return "", fmt.Errorf("--http %q: want host:port, or :7375 for this machine alone", text)
	case host == "":
		host = "127.0.0.1"
	}
	ip, err := netip.ParseAddr(host)
	if local := host == "localhost" || err == nil && ip.IsLoopback(); !local && !keys {
		return "", fmt.Errorf("--http %s is not this machine alone, and there are no keys: put a server with keys in front of the database, and name it with --server", text)
	}
	return net.JoinHostPort(host, port), nil
}

// gate asks a server about keys.
type gate struct {
	greeting string // where it says who it is
	client   *http.Client
}

// errNoKey: the server lets nobody in with this key.
var errNoKey = fmt.Errorf("%w: the server does not know this API key", auth.ErrInvalidToken)

// gateOf is that of a server with keys; nil: there is no server, or it needs none.
func gateOf(ctx context.Context, server string) (*gate, error) {
	if server == "" {
		return nil, nil
	}
	base, err := url.Parse(server)
	if err != nil {
		return nil, errors.New("--server is no URL")
	}
	if base.User != nil {
		return nil, errors.New("--server has a key: over HTTP each client has its own, so leave it out")
	}
	g := &gate{base.JoinPath(wire.Prefix).String(), &http.Client{Timeout: greetTime}}
	err = g.greet(ctx, "")
	switch {
	case err == nil:
		return nil, nil
	case errors.Is(err, errNoKey):
		return g, nil
	}
	return nil, err
}

// greet asks the server who it is.
func (g *gate) greet(ctx context.Context, key string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, g.greeting, nil)
	if err != nil {
		return err
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := g.client.Do(req)
	if err != nil {
		return fmt.Errorf("the server is not to be reached: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, mostHeader)) // so that the connection can be used again
	switch resp.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusUnauthorized, http.StatusForbidden:
		return errNoKey
	}
	return fmt.Errorf("the server does not say who it is: status %d", resp.StatusCode)
}

// verify says whose request it is: sessions are bound to their key.
func (g *gate) verify(ctx context.Context, key string, _ *http.Request) (*auth.TokenInfo, error) {
	if err := g.greet(ctx, key); err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(key))
	return &auth.TokenInfo{UserID: hex.EncodeToString(sum[:]), Extra: map[string]any{keyVariable: key}}, nil
}
