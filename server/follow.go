package server

// This file follows a run's log over server-sent events. A follower that does not read is cut off; it comes again with the ID of what it read
// last, and misses nothing.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

const eventStream = "text/event-stream"

// What is in memory for a follower: so many events, and so many bytes more.
const (
	followPage  = 20
	followBytes = 64 << 10
)

// errBegun is a failure behind the beginning of an answer: the connection is cut.
var errBegun = errors.New("the answer has begun")

// follower is one client that follows one run.
type follower struct {
	s     *Server
	w     http.ResponseWriter
	rc    *http.ResponseController
	r     *request
	run   string
	query world.EventQuery
	begun bool
}

func (s *Server) follow(w http.ResponseWriter, r *request, run string, q world.EventQuery) error {
	done, err := s.places.wait(s.places.keyed(r)...)
	if err != nil {
		return err
	}
	defer done()
	q.Limit = followPage
	f := &follower{s: s, w: w, rc: http.NewResponseController(w), r: r, run: run, query: q}
	err = f.follow()
	if err != nil && f.begun {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			s.log.Debug("a follower was disconnected because it does not read", "run_id", run)
		}
		return errBegun
	}
	return err
}

// follow writes events until the run is over, the client goes, or the server drains.
func (f *follower) follow() error {
	keepalives := time.NewTicker(f.s.opts.Heartbeat)
	defer keepalives.Stop()
	return f.s.watch(f.r.Context(), f.run, f.more, keepalives.C, f.keepalive)
}

// seen is what a run's log had behind a cursor, and what the run was before that was read: what ended it is in the log then.
type seen struct {
	info stepwell.RunInfo
	page world.EventPage
}

func (f *follower) read() (v seen, err error) {
	if v.info, err = f.s.app.Get(f.r.Context(), f.run); err == nil {
		v.page, err = f.s.world.Events(f.r.Context(), f.run, f.query)
	}
	return v, err
}

// more writes what there is; done where that was the end.
func (f *follower) more(fresh time.Duration) (done bool, err error) {
	for {
		what := fmt.Sprintf("events %q %q %q", f.query.Cursor, f.query.CorrelationID, f.query.Types)
		v, err := share(f.s.watchers, f.run, what, fresh, f.read)
		if err != nil {
			return false, err
		}
		info, page := v.info, v.page
		if len(page.Events) == 0 && !page.More && info.Status.Terminal() && !f.begun && f.query.Cursor != "" {
			f.w.WriteHeader(http.StatusNoContent) // an EventSource that reconnects stops
			return true, nil
		}
		err = crowded(f.w, 3*eventsBytes(page.Events), func() error { return f.write(page.Events) })
		if err != nil {
			return false, err
		}
		if page.Cursor != "" {
			f.query.Cursor = page.Cursor
		}
		if page.More {
			continue
		}
		if !info.Status.Terminal() {
			return false, nil
		}
		end, err := json.Marshal(map[string]any{"run": info.ID, "status": info.Status})
		if err != nil {
			return false, err
		}
		return true, f.send(fmt.Appendf(nil, "event: end\ndata: %s\n\n", end))
	}
}

// write sends events, each with the cursor behind it as its ID.
func (f *follower) write(events []world.Event) error {
	var b bytes.Buffer
	for _, e := range world.NameEvents(f.run, shown(f.r, events)) {
		fmt.Fprintf(&b, "id: %s\nevent: %s\ndata: ", world.Cursor(e.Seq), e.Type)
		enc := json.NewEncoder(&b) // JSON on one line, which ends with it
		enc.SetEscapeHTML(false)
		if err := enc.Encode(&e); err != nil {
			return fmt.Errorf("event %d of run %s: %w", e.Seq, f.run, err)
		}
		b.WriteByte('\n')
		if b.Len() > followBytes {
			if err := f.send(b.Bytes()); err != nil {
				return err
			}
			b.Reset()
		}
	}
	return f.send(b.Bytes())
}

// keepalive tells proxies, and the client, that the connection lives.
func (f *follower) keepalive() error { return f.send([]byte(": \n\n")) }

// send writes, and waits no longer than WriteTimeout for a client that does not read.
func (f *follower) send(b []byte) error {
	if !f.begun {
		h := f.w.Header()
		h.Set("Content-Type", eventStream)
		h.Set("X-Accel-Buffering", "no") // proxies would keep it until it is large
		f.begun = true
		f.w.WriteHeader(http.StatusOK)
	}
	_ = f.rc.SetWriteDeadline(time.Now().Add(f.s.opts.WriteTimeout))
	if len(b) > 0 {
		if _, err := f.w.Write(b); err != nil {
			return err
		}
	}
	return f.rc.Flush()
}
