package server

// This file tells remote workers and clients at once what happens: the world's notices over server-sent events. What comes faster than a client reads is
// told together, and in the end as "look at everything": nobody is waited for.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

func noticeRoutes() []route {
	return []route{
		{method: "GET", path: wire.Prefix + "/notices", scope: Viewer, handle: atDoors((*doors).notices), op: operation{
			id: "worldNotices", summary: "Hear what happens to all runs, over server-sent events",
			responses: []response{{200, "", eventStream, "Notices, until the client goes or the server drains."}},
		}},
	}
}

// mostNews is how many runs of a kind are told by name at once.
const mostNews = 200

// news is what a client has not been told yet.
type news struct {
	mu    sync.Mutex
	kinds map[world.NoticeKind]map[string]bool // by kind, the runs; "" alone: all
	ready chan struct{}                        // capacity 1
}

// add notes a notice. It never blocks.
func (n *news) add(x world.Notice) {
	n.mu.Lock()
	runs := n.kinds[x.Kind]
	switch {
	case runs[""]:
	case x.Run == "" || len(runs) == mostNews:
		n.kinds[x.Kind] = map[string]bool{"": true}
	case runs == nil:
		n.kinds[x.Kind] = map[string]bool{x.Run: true}
	default:
		runs[x.Run] = true
	}
	n.mu.Unlock()
	select {
	case n.ready <- struct{}{}:
	default:
	}
}

// drain empties it.
func (n *news) drain() (all []wire.Notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for kind, runs := range n.kinds {
		for run := range runs {
			all = append(all, wire.Notice{Kind: kind, Run: run})
		}
	}
	clear(n.kinds)
	return all
}

func (d *doors) notices(w http.ResponseWriter, r *request) error {
	done, err := d.places.wait(d.places.keyed(r)...)
	if err != nil {
		return err
	}
	defer done()
	mine := &news{kinds: map[world.NoticeKind]map[string]bool{}, ready: make(chan struct{}, 1)}
	tell := mine.add
	if r.limited() != nil { // not which runs there are: whoever listens looks at its own
		tell = func(n world.Notice) { mine.add(world.Notice{Kind: n.Kind}) }
	}
	defer d.below.Notify(tell)()
	err = d.tellNews(r.Context(), &eventWriter{w: w, rc: http.NewResponseController(w), timeout: d.opts.WriteTimeout}, mine)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		d.log.Debug("listener cut off: it does not read", "from", r.RemoteAddr)
	}
	if err != nil {
		return errBegun
	}
	return nil
}

// tellNews tells until the client goes or the server drains.
func (d *doors) tellNews(ctx context.Context, to *eventWriter, mine *news) error {
	if err := to.send(wire.EventOpen, wire.Open{HeartbeatMs: d.opts.Heartbeat.Milliseconds(), PollMs: d.pollMs()}); err != nil {
		return err
	}
	keepalives := time.NewTicker(d.opts.Heartbeat)
	defer keepalives.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-d.drain:
			return nil
		case <-keepalives.C:
			if err := to.comment(); err != nil {
				return err
			}
		case <-mine.ready:
			all := mine.drain()
			if len(all) == 0 {
				continue
			}
			if err := to.send(wire.EventNotices, all); err != nil {
				return err
			}
		}
	}
}

// pollMs is how often a worker should look for work, by what the world says of its notices.
func (d *doors) pollMs() int64 {
	if d.able.Poller != nil {
		return d.able.Poller.Poll().Milliseconds()
	}
	return 0
}

// eventWriter writes server-sent events to a client, and waits so long for it to read each.
type eventWriter struct {
	w       http.ResponseWriter
	rc      *http.ResponseController
	timeout time.Duration
	begun   bool
	b       bytes.Buffer
}

func (e *eventWriter) send(event string, v any) error {
	e.b.Reset()
	fmt.Fprintf(&e.b, "event: %s\ndata: ", event)
	if err := wire.Encode(&e.b, v); err != nil { // one line, and its end
		return err
	}
	e.b.WriteByte('\n')
	return e.write(e.b.Bytes())
}

func (e *eventWriter) comment() error { return e.write([]byte(": \n\n")) }

func (e *eventWriter) write(b []byte) error {
	if !e.begun {
		h := e.w.Header()
		h.Set("Content-Type", eventStream)
		h.Set("X-Accel-Buffering", "no") // proxies would keep it until it is large
		e.begun = true
		e.w.WriteHeader(http.StatusOK)
	}
	_ = e.rc.SetWriteDeadline(time.Now().Add(e.timeout)) // not every ResponseWriter has deadlines
	if _, err := e.w.Write(b); err != nil {
		return err
	}
	return e.rc.Flush()
}
