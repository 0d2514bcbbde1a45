package server

// Following a log: nothing missed, nothing twice, whoever reconnects, is slow, or is there when the server ends.

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/world"
)

// message is a message of an event stream.
type message struct{ id, event, data string }

// stream is an event stream that is read.
type stream struct {
	*rig
	resp       *http.Response
	lines      *bufio.Scanner
	stop       context.CancelFunc
	heartbeats int // comments so far
}

func (r *rig) follow(path string, headers ...string) *stream {
	r.Helper()
	ctx, stop := context.WithTimeout(r.Context(), 30*time.Second)
	req, err := http.NewRequestWithContext(ctx, "GET", r.base+path, nil)
	if err != nil {
		r.Fatal(err)
	}
	req.Header.Set("Accept", eventStream)
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.Fatal(err)
	}
	s := &stream{rig: r, resp: resp, lines: bufio.NewScanner(resp.Body), stop: stop}
	s.lines.Buffer(nil, 8<<20)
	r.Cleanup(s.close)
	return s
}

func (s *stream) close() {
	s.stop()
	_ = s.resp.Body.Close() // what is left is not read
}

// next reads a message; false at the end.
func (s *stream) next() (m message, ok bool) {
	for s.lines.Scan() {
		name, value, _ := strings.Cut(s.lines.Text(), ": ")
		switch {
		case name == "id":
			m.id = value
		case name == "event":
			m.event = value
		case name == "data":
			m.data = value
		case s.lines.Text() == "" && m.event != "":
			return m, true
		case name == "":
			s.heartbeats++
		}
	}
	return m, false
}

// TestFollow: a follower sees each event once, in order, live, then the end. One that reconnects goes on where it was.
func TestFollow(t *testing.T) {
	for _, kind := range sample.OneKey(t, kinds) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, kind, Options{Heartbeat: 5 * time.Millisecond})
			r.want(201, "POST", orders, `{"id": "f1", "input": {"customer": "eve", "cents": 3}}`)
			r.waiting("f1", "event")
			s := r.follow(orders + "/f1/events")
			seq := 0
			for seq < 5 {
				m, ok := s.next()
				if seq++; !ok || m.id != world.Cursor(int64(seq)) {
					t.Fatalf("message %d: got %v %v", seq, m, ok)
				}
			}
			s.close() // the connection is lost
			r.until("the follower's place to be free", func() bool { return len(r.server.places.waiting) == 0 })
			s = r.follow(orders+"/f1/events", "Last-Event-ID", world.Cursor(5))
			r.want(202, "POST", orders+"/f1/signals/paid%2Fin%20full", `{"cents": 3}`)
			var asked sync.WaitGroup
			asked.Go(func() {
				r.waiting("f1", "sleep")
				r.send("DELETE", orders+"/f1", "")
			})
			last := message{}
			for {
				m, ok := s.next()
				if !ok {
					break
				}
				if m.event != "end" {
					var e world.Event
					if err := json.Unmarshal([]byte(m.data), &e); err != nil || string(e.Type) != m.event || m.id != world.Cursor(e.Seq) {
						t.Fatalf("message %v: %v", m, err)
					}
					if seq++; int(e.Seq) != seq {
						t.Fatalf("got event %d, want %d", e.Seq, seq)
					}
				}
				last = m
			}
			asked.Wait()
			if want := `{"run":"f1","status":"cancelled"}`; last.event != "end" || last.data != want {
				t.Errorf("last message: got %v, want end, %s", last, want)
			}
			if a := r.want(200, "GET", orders+"/f1/events?limit=1000", ""); a.get("cursor") != world.Cursor(int64(seq)) {
				t.Errorf("the log ends at %v, the stream at %d", a.get("cursor"), seq)
			}
			s = r.follow(orders+"/f1/events", "Last-Event-ID", world.Cursor(int64(seq)))
			if s.resp.StatusCode != http.StatusNoContent {
				t.Errorf("all is read: got %d, want 204, so that an EventSource stops", s.resp.StatusCode)
			}
			s = r.follow(orders + "/f1/events?type=run_created")
			if m, ok := s.next(); !ok || m.event != "run_created" {
				t.Errorf("by type: got %v, want run_created", m)
			}
			if m, ok := s.next(); !ok || m.event != "end" {
				t.Errorf("by type: got %v, want the end", m)
			}
		})
	}
}

// TestFollowQuiet: comments come while nothing happens, and a server that ends lets its followers go.
func TestFollowQuiet(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", Options{Heartbeat: time.Millisecond, MaxWaiting: 1})
	r.want(201, "POST", orders, `{"id": "q1", "delay": "1h", "input": {}}`)
	s := r.follow(orders + "/q1/events")
	if m, _ := s.next(); m.event != "run_created" {
		t.Errorf("got %v, want run_created", m)
	}
	r.refused(429, "BUSY", "GET", orders+"/q1?wait=1s", "")
	for s.heartbeats < 3 && s.lines.Scan() {
		if s.lines.Text() == ": " {
			s.heartbeats++
		}
	}
	if s.heartbeats < 3 {
		t.Error("got no comments, want one each 1 ms")
	}
	r.server.Drain()
	if m, ok := s.next(); ok {
		t.Errorf("the server drains: got %v, want the stream to end", m)
	}
}

// TestLarge: who does not read is cut off, and holds nothing; no answer gathers a log of large payloads.
func TestLarge(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", Options{WriteTimeout: 30 * time.Millisecond})
	r.want(201, "POST", orders, `{"id": "s1", "input": {"customer": "flo", "cents": 3}}`)
	r.waiting("s1", "event")
	big := `"` + strings.Repeat("x", 1<<20-2) + `"`
	for range 8 { // more than both sockets hold
		if err := r.server.app.Signal(t.Context(), "s1", "big", json.RawMessage(big)); err != nil {
			t.Fatal(err)
		}
	}
	c, err := net.Dial("tcp", strings.TrimPrefix(r.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if err := c.(*net.TCPConn).SetReadBuffer(4096); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(c, "GET %s/s1/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n", orders); err != nil {
		t.Fatal(err)
	}
	r.until("the follower to be cut off", func() bool {
		return strings.Contains(r.log.String(), "follower was disconnected") && len(r.server.places.waiting) == 0
	})
	if err := r.server.app.ForceCancel(t.Context(), "s1", "it is large"); err != nil {
		t.Fatal(err)
	}
	s, err := New(r.server.app, Options{}) // which has time
	if err != nil {
		t.Fatal(err)
	}
	s.pageBytes, s.journalBytes = 1<<20, 2<<20
	a := of(s, "GET", orders+"/s1/events?limit=1000")
	if n := len(a.body); n < 1<<20 || n > 7<<20 || !bytes.HasSuffix(a.body, []byte(`"more":true}`+"\n")) {
		t.Errorf("events: got %d bytes, want a page that ends behind 1 MiB, and more", n)
	}
	a = of(s, "GET", orders+"/s1/steps")
	if len(a.body) > 10_000 || a.get("payloadsOmitted") != true || a.get("steps.0.name") != "reserve" {
		t.Errorf("journal: got %d bytes, omitted is %v, want steps alone", len(a.body), a.get("payloadsOmitted"))
	}
}

// of asks a server without a connection.
func of(s *Server, method, path string) *reply {
	answer := httptest.NewRecorder()
	s.ServeHTTP(answer, httptest.NewRequest(method, "http://127.0.0.1"+path, nil))
	return &reply{answer.Code, answer.Header(), answer.Body.Bytes()}
}
