package server

// This file shows the streams of a run, and follows one: over server-sent events, as lines of JSON, or as what was written and nothing else.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

func streamRoutes() []route {
	const at = "/v1/workflows/{workflow}/runs/{run}/streams"
	return []route{
		{method: "GET", path: at, scope: Viewer, handle: (*Server).streams, op: operation{
			id: "listStreams", summary: "List the streams of a run",
			responses: []response{{200, "StreamList", "", "The streams, by name."}},
		}},
		{method: "GET", path: at + "/{stream}", scope: Viewer, handle: (*Server).stream, op: operation{
			id: "readStream", summary: "Read a stream, and follow it until it is closed or its run is over",
			query: []param{{name: "from", schema: "ChunkIndex", about: "The index of the first chunk."}},
			responses: []response{
				{200, "", textPlain, "The chunks: strings as plain text, one after the other, other chunks as JSON, one per line. The connection is cut if what was read is incomplete or became void."},
				{200, "", ndJSON, "With Accept: application/x-ndjson, a chunk a line, with its index."},
				{200, "", eventStream, "With Accept: text/event-stream: id is the chunk's index, event is chunk or reset, data the chunk. A last one says end, or error."},
				{204, "", "", "There is nothing to follow: everything after Last-Event-ID was read."},
			},
		}},
	}
}

const (
	textPlain = "text/plain; charset=utf-8"
	ndJSON    = "application/x-ndjson"
)

// streamList is what a run has of streams.
type streamList struct {
	Streams []stepwell.StreamInfo `json:"streams"`
}

func (s *Server) streams(w http.ResponseWriter, r *request) error {
	id, err := s.findID(r)
	if err != nil {
		return err
	}
	list, err := s.app.Streams(r.Context(), id)
	if err != nil {
		return err
	}
	if list == nil {
		list = []stepwell.StreamInfo{}
	}
	return answer(w, http.StatusOK, streamList{list})
}

// chunkReader is one client that reads one stream.
type chunkReader struct {
	s     *Server
	w     http.ResponseWriter
	rc    *http.ResponseController
	media string
	begun bool
	shown map[string]int64 // raw: by step, the last chunk that was sent
	line  bool             // raw: something stands on the line
}

// chunk is what a reader gets next.
type chunk struct {
	stepwell.StreamChunk[json.RawMessage]
	err error
}

func (s *Server) stream(w http.ResponseWriter, r *request) error {
	c := &chunkReader{s: s, w: w, rc: http.NewResponseController(w), media: textPlain, shown: map[string]int64{}}
	switch accept := r.Header.Get("Accept"); {
	case strings.Contains(accept, eventStream):
		c.media = eventStream
	case strings.Contains(accept, ndJSON):
		c.media = ndJSON
	}
	from, err := r.chunkIndex("from")
	if err != nil {
		return err
	}
	last := r.Header.Get("Last-Event-ID")
	if c.media == eventStream && last != "" {
		if from, err = strconv.ParseInt(last, 10, 64); err != nil || from < 0 {
			return invalid("the header Last-Event-ID is %.40q: want the index of a chunk", last)
		}
		from++
	}
	name := r.PathValue("stream")
	if err := world.CheckName("stream name", name); err != nil {
		return err
	}
	id, err := s.findID(r)
	if err != nil {
		return err
	}
	done, err := s.places.wait(s.places.keyed(r)...)
	if err != nil {
		return err
	}
	defer done()
	err = c.follow(r.Context(), id, name, from, last != "")
	if err != nil && c.begun {
		return errBegun
	}
	return err
}

// chunkIndex reads a query parameter that is the index of a chunk; 0 where it is not there.
func (r *request) chunkIndex(name string) (int64, error) {
	text := r.query.Get(name)
	if !r.query.Has(name) {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, invalid("query parameter %s is %.40q: want the index of a chunk, from 0", name, text)
	}
	return n, nil
}

// follow writes chunks until the stream or its run ends, the client goes, or the server drains. back: the client has been here before.
func (c *chunkReader) follow(ctx context.Context, run, name string, from int64, back bool) error {
	if back && c.media == eventStream {
		page, err := c.s.world.Chunks(ctx, run, name, world.ChunkQuery{From: from, Limit: 1})
		if err != nil {
			return err
		}
		if len(page.Chunks) == 0 && page.Over || len(page.Chunks) == 1 && page.Chunks[0].Kind == world.ChunkClose {
			c.w.WriteHeader(http.StatusNoContent) // an EventSource that reconnects stops
			return nil
		}
	}
	if err := c.send(nil); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	chunks := make(chan chunk)
	var reading sync.WaitGroup
	reading.Go(func() {
		defer close(chunks)
		for v, err := range c.s.app.ReadStream(ctx, run, name, from) {
			select {
			case chunks <- chunk{v, err}:
			case <-ctx.Done():
				return
			}
		}
	})
	defer reading.Wait()
	defer stop()
	keepalives := time.NewTicker(c.s.opts.Heartbeat)
	defer keepalives.Stop()
	for {
		select {
		case <-c.s.drain:
			return c.cut()
		case <-keepalives.C:
			if err := c.keepalive(); err != nil {
				return err
			}
		case v, ok := <-chunks:
			switch {
			case !ok && ctx.Err() != nil:
				return ctx.Err()
			case !ok:
				return c.end()
			case v.err != nil:
				return c.failed(v.err)
			}
			if err := c.write(&v.StreamChunk); err != nil {
				return err
			}
		}
	}
}

// cut ends an answer that is not complete, as the server ends: a client that can, comes again.
func (c *chunkReader) cut() error {
	if c.media == eventStream {
		return nil
	}
	return errBegun
}

func (c *chunkReader) write(v *stepwell.StreamChunk[json.RawMessage]) error {
	return crowded(c.w, 3*len(v.Value), func() error { return c.put(v) })
}

func (c *chunkReader) put(v *stepwell.StreamChunk[json.RawMessage]) error {
	text, err := json.Marshal(v)
	switch {
	case err != nil:
		return fmt.Errorf("chunk %d: %w", v.Index, err)
	case c.media == ndJSON:
		return c.send(append(text, '\n'))
	case c.media == eventStream:
		event := "chunk"
		if v.Reset {
			event = "reset"
		}
		return c.send(fmt.Appendf(nil, "id: %d\nevent: %s\ndata: %s\n\n", v.Index, event, text))
	case v.Reset:
		if last, shown := c.shown[v.Step]; shown && last >= v.From {
			return c.cut() // what was sent cannot be taken back
		}
		return nil
	}
	if v.Trimmed && len(c.shown) > 0 {
		return c.cut() // it does not follow what was sent
	}
	c.shown[v.Step] = v.Index
	var said string
	if v.Value[0] == '"' && json.Unmarshal(v.Value, &said) == nil {
		c.line = !strings.HasSuffix(said, "\n") && (c.line || said != "")
		return c.send([]byte(said))
	}
	if c.line {
		text = []byte("\n")
	} else {
		text = nil
	}
	c.line = false
	return c.send(append(append(text, v.Value...), '\n'))
}

// end is the end of a stream that is complete.
func (c *chunkReader) end() error {
	if c.media != eventStream {
		return nil
	}
	return c.send([]byte("event: end\ndata: {}\n\n"))
}

// failed is the end of one that is not.
func (c *chunkReader) failed(err error) error {
	var broken *stepwell.StreamError
	if c.media != eventStream || !errors.As(err, &broken) {
		return err // the connection is cut: the client must not take what it has for all
	}
	text, err := json.Marshal(map[string]any{"message": broken.Message, "code": broken.Code})
	if err != nil {
		return err
	}
	return c.send(fmt.Appendf(nil, "id: %d\nevent: error\ndata: %s\n\n", broken.Index, text))
}

// keepalive tells proxies, and the client, that the connection lives. In what was written there is no room for it.
func (c *chunkReader) keepalive() error {
	switch c.media {
	case eventStream:
		return c.send([]byte(": \n\n"))
	case ndJSON:
		return c.send([]byte("\n"))
	}
	return c.send(nil)
}

// send writes, and waits no longer than WriteTimeout for a client that does not read.
func (c *chunkReader) send(b []byte) error {
	if !c.begun {
		h := c.w.Header()
		h.Set("Content-Type", c.media)
		h.Set("X-Accel-Buffering", "no") // proxies would keep it until it is large
		c.begun = true
		c.w.WriteHeader(http.StatusOK)
	}
	_ = c.rc.SetWriteDeadline(time.Now().Add(c.s.opts.WriteTimeout))
	if len(b) > 0 {
		if _, err := c.w.Write(b); err != nil {
			return err
		}
	}
	return c.rc.Flush()
}
