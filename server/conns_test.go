package server

// Connections and places that some hold do not shut out the others.

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
)

// TestIdleConnections: connections on which nothing is asked give way, whoever has them open, and however many.
func TestIdleConnections(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{}, Serving{MaxConnections: 20, MaxPerAddress: 20, HeaderTimeout: time.Hour, IdleTimeout: time.Hour})
	for i := range 100 {
		switch i % 3 {
		case 0: // keep-alive
			if !s.answered(s.ask("/healthz"), 20*time.Second) {
				t.Fatalf("connection %d is not answered", i)
			}
		case 1: // silent
			c, err := net.Dial("tcp", s.addr)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Close() })
		default: // a body that does not come, from who shows no key
			c := s.ask("/healthz")
			if _, err := c.Write([]byte("POST /v1/hooks/x HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{")); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !s.answered(s.ask("/healthz"), 20*time.Second) {
		t.Error("health is not answered beside idle connections")
	}
}

// TestSpareConnections: where all connections are worked on, health has one of its own, and others are told.
func TestSpareConnections(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{}, Serving{MaxConnections: 2, MaxPerAddress: 100})
	if _, err := s.server.app.Start(t.Context(), "order", []byte("1"), stepwell.RunID("w1")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s.ask("/v1/runs/w1?wait=60s")
	}
	waitFor(t, "two to wait", func() bool { return len(s.server.places.waiting) == 2 })
	for range 3 * spareConns {
		c := s.ask("/v1/runs/w1")
		b := make([]byte, 32)
		if err := c.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if n, err := c.Read(b); err != nil || !strings.HasPrefix(string(b[:n]), "HTTP/1.1 503 ") {
			t.Fatalf("got %q, %v, want 503", b[:n], err)
		}
		if !s.answered(s.ask("/healthz"), 20*time.Second) {
			t.Fatal("health is not answered where all connections are worked on")
		}
	}
}

// TestHouse: who gives way, and who is not let in.
func TestHouse(t *testing.T) {
	h := newHouse(nil, 4, 3)
	now := time.Now()
	come := func(addr string) (*guest, *guest, bool) {
		c, other := net.Pipe()
		t.Cleanup(func() { _, _ = c.Close(), other.Close() })
		now = now.Add(time.Second)
		g := &guest{Conn: c, house: h, addr: addr, since: now}
		leave, ok := h.enter(g)
		return g, leave, ok
	}
	a1, _, _ := come("a")
	a2, _, _ := come("a")
	b1, _, _ := come("b")
	c1, leave, ok := come("c")
	if leave != nil || !ok || c1.spare {
		t.Fatal("four have room")
	}
	done := a1.work()
	d1, leave, ok := come("d")
	if leave != a2 || !ok || d1.spare {
		t.Errorf("got %+v, want the idle one of the address with the most to leave", leave)
	}
	done()
	a1.since = now
	if _, leave, _ = come("b"); leave != b1 {
		t.Errorf("got %+v, want the one that is idle longest to leave", leave)
	}
	h = newHouse(nil, 100, 3)
	for range 3 {
		g, _, _ := come("e")
		defer g.work()()
	}
	if _, leave, ok = come("e"); leave != nil || ok {
		t.Errorf("an address with all that it may have: got %v, %t", leave, ok)
	}
	if _, _, ok = come("f"); !ok {
		t.Error("another address is shut out")
	}
	h = newHouse(nil, 1, 9)
	busy, _, _ := come("g")
	defer busy.work()()
	if g, leave, ok := come("h"); !g.spare || leave != nil || !ok {
		t.Errorf("got %t %v %t, want a spare one", g.spare, leave, ok)
	}
}

// TestWaitingParts: those who wait at one webhook, and all who show no key, leave places for others.
func TestWaitingParts(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", Options{Keys: testKeys(t), MaxWaiting: 20})
	ctx, cancel := context.WithCancel(t.Context())
	var calling sync.WaitGroup
	defer calling.Wait()
	defer cancel()
	operator := []string{"Authorization", bearer(operatorSecret)}
	waits := func(at, key string) {
		calling.Go(func() { _, _ = r.hit(ctx, "POST", at, strings.NewReader("1"), "Idempotency-Key", key) })
	}
	open := func(name string) string {
		r.want(201, "POST", "/v1/workflows/desk/runs", fmt.Sprintf(`{"input": {"Token": %q, "Wait": %d, "Silent": 9, "Requests": 9}}`, name, time.Hour), operator...)
		r.until("the webhook", func() bool { return r.send("GET", "/v1/hooks?token=wh_"+name, "", operator...).get("0.run") != nil })
		return webhooks + "wh_" + name
	}
	var at []string
	for i := range 4 {
		at = append(at, open(fmt.Sprint("part-", i)))
	}
	for i, webhook := range at[:3] { // a tenth each, and a quarter of an address
		for n := range 2 {
			if i == 2 && n == 1 {
				break
			}
			waits(webhook, fmt.Sprint(i, n))
			r.until("it to wait", func() bool { return len(r.server.places.waiting) == 2*i+n+1 })
		}
	}
	const settled = 4*3 + 5*2 // of each run its birth, start and hook; of each request itself, and the record that the code took it
	r.until("all to be taken", func() bool { return r.events() == settled })
	before := r.events()
	r.refused(429, "BUSY", "POST", at[0], `1`) // a third at one webhook
	r.refused(429, "BUSY", "POST", at[3], `1`) // a sixth of one address
	if got := r.events(); got != before {
		t.Errorf("%d events and mail, want %d: nothing written", got, before)
	}
	// A reader's key has half of the places, and no more.
	run := r.want(201, "POST", orders, `{"id": "p1", "delay": "1h", "input": {}}`, operator...).get("id").(string)
	for i := range 10 {
		calling.Go(func() {
			_, _ = r.hit(ctx, "GET", "/v1/runs/"+run+"?wait=60s", nil, "Authorization", bearer(viewerSecret))
		})
		r.until("it to wait", func() bool { return len(r.server.places.waiting) == 5+i+1 })
	}
	r.refused(429, "BUSY", "GET", "/v1/runs/"+run+"?wait=60s", "", "Authorization", bearer(viewerSecret))
	r.want(200, "GET", "/v1/runs/"+run+"?wait=10ms", "", operator...)
	r.want(200, "GET", "/healthz", "")
}
