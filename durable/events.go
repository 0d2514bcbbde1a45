package durable

// This file sends what a run says while it goes on, and what it comes to, as server-sent events.

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
	"github.com/stepwell/stepwell/internal/codec"
	"github.com/stepwell/stepwell/world"
)

const eventStream = "text/event-stream"

// heartbeat is the time between comments, where nothing happens: proxies cut what is silent.
const heartbeat = 15 * time.Second

// mark is the ID of an event: the run, and what comes next of its stream.
type mark struct {
	run  string
	next int64 // the index of the next chunk
	end  bool  // nothing comes next
}

func (m mark) String() string {
	if m.end {
		return m.run + "/end"
	}
	return m.run + "/" + strconv.FormatInt(m.next, 10)
}

// lastEvent reads where a client had come to; false where it is new.
func lastEvent(r *http.Request) (m mark, back bool, err error) {
	text := r.Header.Get("Last-Event-ID")
	if text == "" {
		return m, false, nil
	}
	i := strings.LastIndexByte(text, '/')
	if i > 0 && text[i+1:] == "end" {
		return mark{run: text[:i], end: true}, true, nil
	}
	if i > 0 {
		if n, err := strconv.ParseInt(text[i+1:], 10, 64); err == nil && n >= 0 {
			return mark{run: text[:i], next: n}, true, nil
		}
	}
	return m, false, fmt.Errorf("%w: the header Last-Event-ID is %.170q: want the ID of an event", stepwell.ErrInvalid, text)
}

// piece is the next that a client is sent.
type piece struct {
	chunk stepwell.StreamChunk[json.RawMessage]
	out   json.RawMessage
	err   error
	end   bool
}

// events sends the rest of a run's stream from a mark on, and then what the run came to.
func (h *handler[In, Out]) events(a *answer, run *stepwell.Run[Out], at mark) error {
	if at.end {
		a.sent = true
		a.w.WriteHeader(http.StatusNoContent) // an EventSource stops
		return nil
	}
	head := a.w.Header()
	head.Set("Content-Type", eventStream)
	head.Set("X-Accel-Buffering", "no") // proxies would keep it until it is large
	a.sent = true
	a.w.WriteHeader(http.StatusOK)
	if err := a.write(": \n\n"); err != nil { // the head is out at once
		return err
	}
	if at.run == "" {
		at.run = run.ID()
		if err := a.event(at, "run", map[string]string{"run": run.ID()}); err != nil {
			return err
		}
	}
	ctx, stop := context.WithCancel(a.r.Context())
	pieces := make(chan piece)
	var reading sync.WaitGroup
	reading.Go(func() { h.read(ctx, run, at.next, pieces) })
	defer reading.Wait()
	defer stop()
	quiet := time.NewTicker(heartbeat)
	defer quiet.Stop()
	for {
		select {
		case <-a.r.Context().Done():
			return context.Cause(a.r.Context())
		case <-quiet.C:
			if err := a.write(": \n\n"); err != nil {
				return err
			}
		case p := <-pieces:
			if done, err := a.piece(&at, &p); done || err != nil {
				return err
			}
		}
	}
}

// read reads the stream, and waits for the end of the run. A stream that ends as its run failed is no news: the run's
// end says it.
func (h *handler[In, Out]) read(ctx context.Context, run *stepwell.Run[Out], from int64, to chan<- piece) {
	give := func(p piece) bool {
		select {
		case to <- p:
			return true
		case <-ctx.Done():
			return false
		}
	}
	for c, err := range h.app.ReadStream(ctx, run.ID(), h.opts.Stream, from) {
		if ended := new(stepwell.StreamError); errors.As(err, &ended) {
			break
		}
		if !give(piece{chunk: c, err: err}) || err != nil {
			return
		}
	}
	out, err := run.Result(ctx)
	p := piece{err: err, end: true}
	if err == nil {
		p.out, p.err = codec.Encode(out, world.MaxApart)
	}
	give(p)
}

// piece sends one piece; done: it was the last.
func (a *answer) piece(at *mark, p *piece) (done bool, err error) {
	over := new(stepwell.RunError)
	switch {
	case errors.As(p.err, &over):
		at.end = true
		return true, a.event(*at, "problem", a.problem(p.err))
	case p.err != nil: // it may do better: the connection is cut, and the client comes again
		a.problem(p.err)
		return true, p.err
	case p.end:
		at.end = true
		return true, a.event(*at, "result", p.out)
	case p.chunk.Reset:
		at.next = p.chunk.Index + 1
		return false, a.event(*at, "reset", map[string]int64{"from": p.chunk.From})
	}
	at.next = p.chunk.Index + 1
	return false, a.event(*at, "chunk", p.chunk.Value)
}

func (a *answer) event(at mark, kind string, data any) error {
	body, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("event %s of run %s: %w", kind, a.run, err)
	}
	return a.write(fmt.Sprintf("id: %s\nevent: %s\ndata: %s\n\n", at, kind, body))
}

// write writes, and waits no longer than patience for a client that does not read.
func (a *answer) write(text string) error {
	_ = a.rc.SetWriteDeadline(time.Now().Add(patience))
	if _, err := a.w.Write([]byte(text)); err != nil {
		return errCut
	}
	if err := a.rc.Flush(); err != nil {
		return errCut
	}
	return nil
}
