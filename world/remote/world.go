// Package remote uses a Stepwell server as the store, over HTTP. Its workers and clients need no
// access to a database.
//
//	w, err := remote.Open(ctx, "https://stepwell.internal", remote.Options{Key: key})
//	app, err := stepwell.New(w, stepwell.Config{Definitions: definitions})
//	err = app.Run(ctx)
//
// It supports everything that the server's store supports, except transactions with the
// application's data. See docs/workers.md for such workers, and docs/protocol.md for the protocol.
//
// # When the server is away
//
// A call that does not reach the server is tried again for [Options].Patience; then it returns
// [world.ErrStorage]. If the answer to a write is lost, the call is repeated if that is safe;
// otherwise it returns [world.ErrUnknownOutcome]. A worker keeps its runs if the server is back
// before the worker's lease ends.
package remote

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

// KeyVariable is the environment variable of the API key, used if neither the options nor the URL
// have one.
const KeyVariable = "STEPWELL_API_KEY"

// Options configure a connection. The zero value is usable.
type Options struct {
	// Key is the API key. A worker needs scope worker; a client needs operator, or viewer to read.
	// Default: user or password of the URL, else STEPWELL_API_KEY. Errors and logs never contain
	// it.
	Key string
	// Through names the program through which the key's owner acts, such as an assistant, for the
	// server's audit log. "": none.
	Through string
	// Patience is how long a call that does not reach the server is tried again. Default 10 s.
	Patience time.Duration
	// Timeout is how long the server may take to answer a call. Default 45 s. Where it is safe, an
	// unanswered call is repeated sooner: after 5 s, lists after 15 s.
	Timeout time.Duration
	// Transport carries the requests, for tests or your own TLS settings. Default: a transport of
	// this World with the system's proxy settings.
	Transport http.RoundTripper
}

// Errors about the API key.
var (
	// ErrUnauthenticated means that the server needs an API key and does not know the given one.
	ErrUnauthenticated = errors.New("the server does not know this API key")
	// ErrForbidden means that the key's scope does not allow the call. The message names the scope
	// that does.
	ErrForbidden = world.ErrForbidden
)

// World is the store of a server. It is safe for concurrent use.
type World struct {
	base   *url.URL // without user and key
	key    string
	opt    Options
	client *http.Client
	hello  wire.Hello
	claims atomic.Int64 // the number of the last

	silence, long time.Duration // firstSilence and longSilence, but in tests

	mu      sync.Mutex
	closed  bool
	calls   sync.WaitGroup
	closing chan struct{}
	workers map[string]*worker
	doubts  map[[16]byte]struct{} // commits that may have been written

	listeners world.Listeners
	feed      feed
}

var _ world.World = (*World)(nil)

// worker is one that joined through this World.
type worker struct {
	claiming sync.Mutex // one claim at a time: they are numbered
	mu       sync.Mutex
	lease    time.Duration // 0: it did not say; under mu
	missed   bool          // the answer to the last heartbeat was lost; under mu
	server   string        // the process of the server that answered last; under mu
	owned    owned         // under mu
}

// Open connects to the server at a URL such as https://stepwell.internal or http://127.0.0.1:7373.
// The URL may have a path. Open makes one request: it fails if there is no server, or if the server
// does not know the key. ctx limits only that. Call Close at the end.
func Open(ctx context.Context, rawURL string, options ...Options) (*World, error) {
	var o Options
	if len(options) > 0 {
		o = options[0]
	}
	if err := world.MayOpen(); err != nil {
		return nil, err
	}
	base, key, err := parse(rawURL)
	if err != nil {
		return nil, err
	}
	if o.Patience < 0 || o.Timeout < 0 {
		return nil, fmt.Errorf("%w: server %s: an option is negative", world.ErrInvalid, base)
	}
	if o.Patience == 0 {
		o.Patience = 10 * time.Second
	}
	if o.Timeout == 0 {
		o.Timeout = 45 * time.Second
	}
	if o.Key == "" {
		o.Key = key
	}
	if o.Key == "" {
		o.Key = os.Getenv(KeyVariable)
	}
	o.Key = secretOf(o.Key)
	if strings.ContainsFunc(o.Key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, fmt.Errorf("%w: server %s: the API key has characters that a header cannot carry", world.ErrInvalid, base)
	}
	if o.Transport == nil {
		o.Transport = transport()
	}
	w := &World{
		base: base, key: o.Key, opt: o, silence: firstSilence, long: longSilence, closing: make(chan struct{}), workers: make(map[string]*worker), doubts: make(map[[16]byte]struct{}),
		client: &http.Client{Transport: o.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
	if err := w.greet(ctx); err != nil {
		w.client.CloseIdleConnections()
		return nil, err
	}
	return w, nil
}

// parse takes the key out of a URL. An error shows nothing of it.
func parse(rawURL string) (base *url.URL, key string, err error) {
	u, err := url.Parse(rawURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, "", fmt.Errorf("%w: the URL of a server is like https://host or http://host:port", world.ErrInvalid)
	}
	if u.User != nil {
		key = u.User.Username()
		if secret, ok := u.User.Password(); ok {
			key = secret
		}
		u.User = nil
	}
	return u, key, nil
}

// secretOf is the secret of a key that is written as a server's settings have it, scope:name:secret, the first of several: a client beside a server
// may have the same environment.
func secretOf(key string) string {
	first, _, _ := strings.Cut(key, ",")
	if parts := strings.SplitN(first, ":", 3); len(parts) == 3 {
		return parts[2]
	}
	return key
}

// transport has connections for a worker with many runs. They end before the server ends them, which would look like a lost answer.
func transport() *http.Transport {
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, DisableCompression: true, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 10 * time.Second,
		HTTP2:        &http.HTTP2Config{SendPingTimeout: 5 * time.Second, PingTimeout: firstSilence}, // or all would stay on one connection that hangs
		MaxIdleConns: 256, MaxIdleConnsPerHost: 256, IdleConnTimeout: 60 * time.Second,
	}
}

// greet asks the server who it is, and again within Patience where its answer is lost, or is something else's.
func (w *World) greet(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, w.opt.Timeout)
	defer cancel()
	began, pause := time.Now(), firstPause
	err := w.once(ctx, http.MethodGet, "", nil, w.silence, &w.hello)
	for errors.Is(err, errLost) && time.Since(began) <= w.opt.Patience && w.pause(ctx, pause+rand.N(pause)) {
		err = w.once(ctx, http.MethodGet, "", nil, w.silence, &w.hello)
		pause = min(2*pause, longestPause)
	}
	switch {
	case errors.Is(err, errAway), errors.Is(err, errLost):
		return fmt.Errorf("%w: %w", world.ErrStorage, err)
	case err != nil:
		return err
	}
	if w.hello.Protocol != wire.Protocol {
		return fmt.Errorf("%w: server %s speaks version %d of the protocol, and this program version %d", world.ErrFormat, w.base, w.hello.Protocol, wire.Protocol)
	}
	return nil
}

// Scope returns what the server allowed this key when the World was opened: viewer, operator,
// worker or admin.
func (w *World) Scope() string { return w.hello.Scope }

// Close waits for running calls and ends notices. It does not end the server. Closing twice is
// harmless.
func (w *World) Close() error {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		close(w.closing)
	}
	w.mu.Unlock()
	w.feed.end()
	w.calls.Wait()
	w.client.CloseIdleConnections()
	return nil
}

// enter begins a call; leave ends it.
func (w *World) enter(ctx context.Context) (leave func(), err error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, world.ErrClosed
	}
	w.calls.Add(1)
	return w.calls.Done, nil
}
