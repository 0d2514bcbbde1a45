package server

// This file shares out connections: who holds one and asks nothing gives way to who comes, no address has more than its part, and health always has a place.

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"time"
)

// spareConns are connections beyond the most. They are for health alone, and only where all others are worked on.
const spareConns = 16

// sendBuffer is how much of an answer the system may keep for a client that reads slowly.
const sendBuffer = 256 << 10

// house is a listener that has at most so many connections. Where it is full, the connection gives way that has been idle longest, of the address that has
// the most; one is idle as long as nothing on it is worked on: before the head of a request is there, between two requests, and while who has shown no key
// sends a body.
type house struct {
	net.Listener
	most   int // beside spareConns
	mostOf int // of one address

	mu     sync.Mutex
	conns  map[*guest]bool // guarded by mu
	from   map[string]int  // how many an address has; guarded by mu
	closed bool            // guarded by mu
	room   chan struct{}   // capacity 1: somebody has gone, or is idle, or Close was called
}

// guest is a connection.
type guest struct {
	net.Conn
	house *house
	addr  string
	spare bool // it is for health
	gone  sync.Once

	busy  int       // requests that are worked on; guarded by house.mu
	since time.Time // when it came, or was worked on last; guarded by house.mu
}

func newHouse(l net.Listener, most, mostOf int) *house {
	return &house{Listener: l, most: most, mostOf: mostOf, conns: map[*guest]bool{}, from: map[string]int{}, room: make(chan struct{}, 1)}
}

// Accept waits for a connection, and makes room for it. One of an address that has its part already, all worked on, is closed at once.
func (h *house) Accept() (net.Conn, error) {
	for {
		if err := h.wait(); err != nil {
			return nil, err
		}
		c, err := h.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if t, ok := c.(*net.TCPConn); ok {
			_ = t.SetWriteBuffer(sendBuffer) // or the system would keep megabytes for who does not read
		}
		g := &guest{Conn: c, house: h, addr: hostOf(c.RemoteAddr().String()), since: time.Now()}
		leave, ok := h.enter(g)
		if leave != nil {
			_ = leave.Close() // it was idle
		}
		if ok {
			return g, nil
		}
		_ = c.Close() // its address has enough
	}
}

// wait waits until there is room, or somebody who can give way.
func (h *house) wait() error {
	for {
		h.mu.Lock()
		closed, full := h.closed, len(h.conns) >= h.most+spareConns && h.idle("") == nil
		h.mu.Unlock()
		switch {
		case closed:
			return net.ErrClosed
		case !full:
			return nil
		}
		<-h.room
	}
}

// enter takes a connection in; leave is who has to go for it.
func (h *house) enter(g *guest) (leave *guest, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.from[g.addr] >= h.mostOf:
		if leave = h.idle(g.addr); leave == nil {
			return nil, false
		}
	case len(h.conns) >= h.most:
		leave = h.idle("")
	}
	if leave != nil {
		h.remove(leave)
	}
	g.spare = len(h.conns) >= h.most
	h.conns[g] = true
	h.from[g.addr]++
	return leave, true
}

// idle finds who gives way: of an address, or of that which has the most of those that have an idle one. It is called under mu.
func (h *house) idle(addr string) (found *guest) {
	for g := range h.conns {
		switch {
		case g.busy > 0 || addr != "" && g.addr != addr:
		case found == nil, h.from[g.addr] > h.from[found.addr]:
			found = g
		case h.from[g.addr] == h.from[found.addr] && g.since.Before(found.since):
			found = g
		}
	}
	return found
}

// remove is called under mu.
func (h *house) remove(g *guest) {
	if !h.conns[g] {
		return
	}
	delete(h.conns, g)
	if h.from[g.addr]--; h.from[g.addr] == 0 {
		delete(h.from, g.addr)
	}
	h.tell()
}

func (h *house) tell() {
	select {
	case h.room <- struct{}{}:
	default:
	}
}

// Close ends Accept.
func (h *house) Close() error {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.tell()
	return h.Listener.Close()
}

// Close closes the connection.
func (g *guest) Close() error {
	g.gone.Do(func() {
		g.house.mu.Lock()
		defer g.house.mu.Unlock()
		g.house.remove(g)
	})
	return g.Conn.Close()
}

// work says that a request on the connection is worked on, until done is called; on none it does nothing.
func (g *guest) work() (done func()) {
	if g == nil {
		return func() {}
	}
	g.house.mu.Lock()
	defer g.house.mu.Unlock()
	g.busy++
	return func() {
		g.house.mu.Lock()
		defer g.house.mu.Unlock()
		g.busy--
		g.since = time.Now()
		g.house.tell()
	}
}

// guestKey is the key of a request's connection in its context.
type guestKey struct{}

// withGuest puts a connection into the context of its requests.
func withGuest(ctx context.Context, c net.Conn) context.Context {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	if g, ok := c.(*guest); ok {
		return context.WithValue(ctx, guestKey{}, g)
	}
	return ctx
}

// guestOf is the connection of a request; nil where the server does not listen itself.
func guestOf(r *http.Request) *guest {
	g, _ := r.Context().Value(guestKey{}).(*guest)
	return g
}

// hostOf is the address without its port.
func hostOf(addr string) string {
	if host, _, err := net.SplitHostPort(addr); err == nil {
		return host
	}
	return addr
}
