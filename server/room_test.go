package server

// Answers that nobody reads take a bounded part of memory, and leave room for those of others.

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestRoom(t *testing.T) {
	r := newRoom(100)
	ctx, cancel := context.WithCancel(t.Context())
	claim := func(who string, n int64) *portion {
		t.Helper()
		p, err := r.reserve(ctx, who, n)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	first := claim("a", 40)
	whole := claim("b", 60) // more than half, but he has none
	done := make(chan *portion)
	go func() { p, _ := r.reserve(ctx, "a", 50); done <- p }()
	whole.is(5)
	first.is(0)
	p := <-done
	if p == nil || r.used != 55 {
		t.Errorf("got %+v, %d used, want 50 of 55", p, r.used)
	}
	p.is(0)
	whole.is(0)
	if r.used != 0 || len(r.by) != 0 {
		t.Errorf("%d used, %v: want all given back", r.used, r.by)
	}
	claim("c", 100)
	cancel()
	if _, err := r.reserve(ctx, "d", 1); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want who is gone to wait no longer", err)
	}
}

// slow asks for something and does not read the answer.
func (r *rig) slow(path, secret string) net.Conn {
	r.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(r.base, "http://"))
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = c.Close() })
	if t, ok := c.(*net.TCPConn); ok {
		if err := t.SetReadBuffer(4 << 10); err != nil {
			r.Fatal(err)
		}
	}
	if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n\r\n", path, secret); err != nil {
		r.Fatal(err)
	}
	return c
}

// TestSlowReaders: sixty who read nothing of wide answers, with one key, cost a bounded number of bytes, and others are answered.
func TestSlowReaders(t *testing.T) {
	r := newRig(t, "sqlite", Options{Keys: testKeys(t), WriteTimeout: time.Minute})
	operator := []string{"Authorization", bearer(operatorSecret)}
	payload := `"` + strings.Repeat("x", 1<<20-100) + `"`
	r.want(201, "POST", "/v1/workflows/wide/runs", `{"id": "wide", "delay": "1h", "input": 1}`, operator...)
	for range 20 {
		r.want(202, "POST", "/v1/workflows/wide/runs/wide/signals/e", payload, operator...)
	}
	for i := range 20 {
		r.want(201, "POST", "/v1/workflows/wide/runs", fmt.Sprintf(`{"id": "wide-%d", "delay": "1h", "input": %s}`, i, payload), operator...)
	}
	runtime.GC()
	var before, during runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range 60 {
		r.slow([]string{"/v1/runs?payloads=true&limit=200", "/v1/workflows/wide/runs/wide-1", "/v1/workflows/wide/runs/wide/events"}[i%3], viewerSecret)
	}
	r.until("the room of one key to be taken", func() bool {
		r.server.room.mu.Lock()
		defer r.server.room.mu.Unlock()
		return r.server.room.asking["key vic"] > 0 || r.server.room.by["key vic"] > r.server.room.part/2
	})
	for range 20 {
		r.want(200, "GET", "/v1/runs?limit=10", "", operator...)
		r.want(200, "GET", "/healthz", "")
	}
	runtime.GC()
	runtime.ReadMemStats(&during)
	r.server.room.mu.Lock()
	used, most := r.server.room.by["key vic"], r.server.room.part
	r.server.room.mu.Unlock()
	grown := int64(during.HeapAlloc) - int64(before.HeapAlloc)
	t.Logf("%d bytes are counted; the heap grew by %d", used, grown)
	if used == 0 || used > most {
		t.Errorf("one key has %d bytes, want 1 to %d", used, most)
	}
	if grown > 3*most {
		t.Errorf("the heap grew by %d bytes, want %d at most", grown, 3*most)
	}
}
