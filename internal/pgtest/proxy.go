package pgtest

// This file is the proxy that does to connections what networks do, at moments that a test chooses.

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"sync"
	"testing"
)

// Proxy stands between clients and a server, forwards PostgreSQL's protocol, and cuts and holds connections on command or by a rule. It
// is safe for concurrent use.
type Proxy struct {
	listener net.Listener
	target   string // host and port of the server
	ended    sync.WaitGroup

	mu     sync.Mutex
	links  []*Link // open ones, oldest first
	rule   func(*Batch) Action
	refuse bool
	deaf   bool // to cancel requests
	closed bool
	counts Counts
}

// Action is what a rule does with a batch.
type Action string

// What can become of a batch. After a cut both sides see their connection reset.
const (
	Forward   Action = ""           // the batch, and its answer
	CutBefore Action = "cut before" // the batch is not sent: what it would have committed is not
	CutAfter  Action = "cut after"  // it is sent, the server answers that it committed, and that answer is swallowed; an answer that tells of no commit is forwarded
	CutBlind  Action = "cut blind"  // it is sent, and the connection cut without waiting: it may have committed or not
	Hold      Action = "hold"       // it is not sent before [Link.Release]: a client that stalls
	HoldEnd   Action = "hold end"   // all of it but its Sync is sent: its transaction is open in the server, with all its locks, until [Link.Release]
)

// Counts tells what a proxy did.
type Counts struct {
	Links   int // connections that got through to the server
	Refused int // connections that did not: the server was down, or see [Proxy.Refuse]
	Cut     int // connections cut on command
	Before  int // by CutBefore
	After   int // by CutAfter: commits whose answer was lost
	Blind   int // by CutBlind
	Held    int // by Hold and HoldEnd
}

// NewProxy starts a proxy in front of the server of a URL, whatever the database; it ends with the test.
func NewProxy(t testing.TB, server string) *Proxy {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil || u.Host == "" {
		t.Fatalf("proxy in front of %q: want a URL with a host: %v", server, err)
	}
	p := &Proxy{target: u.Host}
	if u.Port() == "" {
		p.target = net.JoinHostPort(u.Hostname(), "5432")
	}
	port, err := freePort()
	if err == nil {
		p.listener, err = listen(port)
	}
	if err != nil {
		t.Fatal(err)
	}
	p.ended.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

// URL returns the URL of the same database through the proxy. TLS is off: the proxy must read what passes.
func (p *Proxy) URL(database string) string {
	u, err := url.Parse(at(database, p.listener.Addr().String()))
	if err != nil {
		return database
	}
	q := u.Query()
	q.Set("sslmode", "disable")
	u.RawQuery = q.Encode()
	return u.String()
}

// Rule sets the rule that each batch is shown to before it is sent; nil forwards everything. It is called from the goroutine of the
// batch's connection, for several connections at once.
func (p *Proxy) Rule(rule func(*Batch) Action) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rule = rule
}

// Refuse makes the proxy reset new connections at once, until it is told otherwise.
func (p *Proxy) Refuse(refuse bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = refuse
}

// LoseCancels makes the proxy swallow cancel requests, which drivers send for a connection that broke, until it is told otherwise. They may get lost on any network:
// what was under way in the server goes on.
func (p *Proxy) LoseCancels(lose bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deaf = lose
}

func (p *Proxy) losesCancels() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.deaf
}

// CutAll cuts all connections and returns how many there were.
func (p *Proxy) CutAll() int {
	links := p.Links()
	for _, l := range links {
		l.Cut()
	}
	return len(links)
}

// Links lists the connections that are open, oldest first.
func (p *Proxy) Links() []*Link {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.links)
}

// Counts tells what the proxy has done so far.
func (p *Proxy) Counts() Counts {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts
}

func (p *Proxy) count(which func(*Counts) *int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*which(&p.counts)++
}

func (p *Proxy) ask(b *Batch) Action {
	p.mu.Lock()
	rule := p.rule
	p.mu.Unlock()
	if rule == nil {
		return Forward
	}
	return rule(b)
}

func (p *Proxy) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		l := &Link{proxy: p, client: conn.(*net.TCPConn), over: make(chan struct{}), statements: map[string]string{}}
		if !p.add(l) {
			l.close()
			continue
		}
		p.ended.Go(l.serve)
	}
}

// add keeps a link, unless the proxy refuses it.
func (p *Proxy) add(l *Link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refuse || p.closed {
		p.counts.Refused++
		return false
	}
	p.links = append(p.links, l)
	return true
}

func (p *Proxy) drop(l *Link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.links = slices.DeleteFunc(p.links, func(o *Link) bool { return o == l })
}

func (p *Proxy) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	_ = p.listener.Close()
	for _, l := range p.Links() {
		l.close()
	}
	p.ended.Wait()
}

// String describes the proxy in failures.
func (p *Proxy) String() string {
	return fmt.Sprintf("proxy %s → %s: %+v", p.listener.Addr(), p.target, p.Counts())
}
