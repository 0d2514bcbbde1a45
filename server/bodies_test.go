package server

// Bodies take a bounded part of memory, whoever sends them and however slowly, and leave room for those of others.

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// sends opens a connection and sends the head of a request and so much of its body.
func (r *rig) sends(path, secret string, length, sent int) net.Conn {
	r.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(r.base, "http://"))
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = c.Close() })
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n", path, length)
	if secret != "" {
		head += "Authorization: " + bearer(secret) + "\r\n"
	}
	go func() { _, _ = io.WriteString(c, head+"\r\n"+strings.Repeat(" ", sent)) }() // the server may read no further
	return c
}

// held is how many bytes of bodies are held, and whose.
func (r *rig) held() (used int64, by map[string]int64) {
	b := r.server.bodies
	b.mu.Lock()
	defer b.mu.Unlock()
	by = map[string]int64{}
	for who, n := range b.by {
		by[who] = n
	}
	return b.used, by
}

// TestBodiesAreBounded: whoever sends large bodies over many connections, no more is held of all than the server may
// take, and of one key or address half of that; what others send is taken meanwhile.
func TestBodiesAreBounded(t *testing.T) {
	t.Parallel()
	const most = 4 << 20
	r := newRig(t, "memory", Options{Keys: testKeys(t), MaxBodies: most})
	r.want(201, "POST", orders, `{"id": "o-1", "input": {"customer": "bob", "cents": 5}}`, as(operatorSecret)...)
	hook := "/v1/hooks/courier%2Fbob"
	r.until("the hook", func() bool { return r.send("GET", hook, "").status == 200 })
	for _, door := range []struct{ who, path, secret string }{
		{"key vic", inWorld + "runs", viewerSecret}, {"key wim", inWorld + "commit", workerSecret}, {"address 127.0.0.1", hook, ""}, {"key olga", orders, operatorSecret},
	} {
		var all []net.Conn
		for range 20 {
			all = append(all, r.sends(door.path, door.secret, 1<<20, 1<<20-1))
		}
		r.until("bodies to be held of "+door.who, func() bool {
			used, by := r.held()
			if used > most || by[door.who] > most/2 {
				t.Fatalf("%s: %d bytes are held, %d of it; want %d and %d at most", door.path, used, by[door.who], most, most/2)
			}
			return by[door.who] > most/4
		})
		r.want(200, "POST", inWorld+"runs", `{"workflow": "`+strings.Repeat("x", 100)+`", "key": "`+strings.Repeat("y", 300)+`"}`, as(adminSecret)...)
		r.want(400, "POST", inWorld+"runs", `{"x": "`+strings.Repeat("y", 1<<20)+`"}`, as(adminSecret)...)
		for _, c := range all {
			_ = c.Close()
		}
		r.until("all to be given back", func() bool { used, by := r.held(); return used == 0 && len(by) == 0 })
	}
}

// TestStrangersSendNoBodies: a request whose token nobody has, or whose key, is answered before its body is read.
func TestStrangersSendNoBodies(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", Options{Keys: testKeys(t)})
	for path, want := range map[string]string{
		"/v1/hooks/zzz": "404 Not Found", "/v1/hooks/zzz/heartbeat": "404 Not Found", webhooks + "wh_zzz": "404 Not Found", inWorld + "commit": "401 Unauthorized", orders: "401 Unauthorized",
	} {
		c := r.sends(path, "", 1<<20, 0)
		if err := c.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 64)
		n, err := c.Read(b)
		if line, _, _ := strings.Cut(string(b[:n]), "\r\n"); line != "HTTP/1.1 "+want {
			t.Errorf("%s: got %q, %v, before a byte of the body was sent; want %s", path, line, err, want)
		}
	}
	if used, _ := r.held(); used != 0 {
		t.Errorf("%d bytes are held of strangers", used)
	}
}

// TestOpenFormsAreSmall: a form of who has not logged in has 16 KiB, and what visitors send is counted.
func TestOpenFormsAreSmall(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", Options{Keys: testKeys(t)})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.base+"/ui/login", strings.NewReader("key="+strings.Repeat("x", 17<<10)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if _ = answer.Body.Close(); answer.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("a login of 17 KiB: got %d, want 413", answer.StatusCode)
	}
	if used, _ := r.held(); used != 0 {
		t.Errorf("%d bytes are held of it", used)
	}
}

// TestArrives: a body has the room that it has been read into, and no more than its own length.
func TestArrives(t *testing.T) {
	r := newRoom(1 << 20)
	body := func(who string, length int64, bytes int) *arrives {
		return r.arrives(t.Context(), who, io.NopCloser(strings.NewReader(strings.Repeat("x", bytes))), length, 8<<20)
	}
	for _, c := range []struct {
		length int64
		bytes  int
		holds  int64
	}{
		{100, 100, 0}, {16 << 10, 16 << 10, 0}, {20 << 10, 20 << 10, 20 << 10}, {-1, 20 << 10, 32 << 10}, {3 << 20, 40 << 10, 64 << 10}, {900 << 10, 900 << 10, 900 << 10},
	} {
		a := body("a", c.length, c.bytes)
		got, err := io.ReadAll(a)
		if len(got) != c.bytes || err != nil || r.used != c.holds {
			t.Errorf("of a length of %d, %d bytes: read %d, %v, with %d held; want %d", c.length, c.bytes, len(got), err, r.used, c.holds)
		}
		if a.leave(); r.used != 0 || len(r.by) != 0 {
			t.Errorf("%d bytes are held of what is over", r.used)
		}
	}
}
