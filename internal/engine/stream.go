package engine

// Streams that the body of a step writes to. What it writes is collected for a moment and sent as a batch, one batch of a stream at a time, while the body
// goes on; the small rest that is there when the body returns is committed with the end of the attempt.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/stepwell/stepwell/world"
)

// Bounds of what a body may have written that is not durable yet.
const (
	streamDelay  = 10 * time.Millisecond // from a chunk to its batch, at most
	streamBatch  = 256 << 10             // bytes that are sent at once, but for one large chunk
	streamBuffer = 2 << 20               // bytes of one stream that wait or are being sent; a writer waits then
	streamRest   = 64 << 10              // bytes of one stream that go with the end of the attempt
	streamRests  = 4                     // streams of a body that may do so
	chunkWeight  = 100                   // what a chunk costs beside its bytes
)

// errNoStep is what a stream outside of a step says.
var errNoStep = fmt.Errorf("%w: only the body of a step can write to a stream, with the context that it was given; workflow code has a function of its own", world.ErrInvalid)

// errReturned is what a goroutine hears that a body has left behind.
var errReturned = fmt.Errorf("%w: the step has returned: in the step, wait for everything that writes", world.ErrInvalid)

// streams are those that a body writes to.
type streams struct {
	mu   sync.Mutex
	list []*Stream // guarded by mu
	over bool      // the body has returned; guarded by mu
}

// Stream is one stream that an attempt of a step writes to. It is safe for concurrent use.
type Stream struct {
	seat *seat
	ctx  context.Context // of the attempt
	name string

	mu      sync.Mutex
	chunks  []json.RawMessage // that wait; guarded by mu, as all that follows
	weight  int               // of those that wait
	sent    int64             // how many numbers of this attempt are sent, or are being sent
	end     world.ChunkKind   // a mark that waits for the end of the step
	failure *world.Error      // of that mark
	closed  bool              // by this attempt
	reset   bool              // the first batch makes void what earlier attempts wrote from number from on
	from    int64
	begun   bool          // something was written
	flying  int           // weight of what is being sent
	sending bool          // a batch is being sent
	timer   *time.Timer   // of the next batch; nil: none is due
	change  chan struct{} // closed when a batch has come back; nil: nobody waits
	over    bool          // the body has returned
	err     error         // why nothing more can be written
}

// OpenStream returns a stream of the run that the body with a context belongs to. Opened twice it is the same.
func OpenStream(ctx context.Context, name string) (*Stream, error) {
	p, ok := ctx.Value(infoKey{}).(*seat)
	if !ok {
		return nil, errNoStep
	}
	if err := world.CheckName("stream name", name); err != nil {
		return nil, err
	}
	p.mu.Lock()
	if p.streams == nil && !p.returned {
		p.streams = &streams{}
	}
	all := p.streams
	p.mu.Unlock()
	if all == nil {
		return nil, errReturned
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.over {
		return nil, errReturned
	}
	for _, s := range all.list {
		if s.name == name {
			return s, nil
		}
	}
	s := &Stream{seat: p, ctx: ctx, name: name, reset: p.info.Attempt > 1}
	all.list = append(all.list, s)
	return s, nil
}

// Limit is how many bytes a chunk may have.
func (s *Stream) Limit() int { return min(s.seat.e.cfg.MaxPayload, world.MaxChunk) }

// Write adds a chunk. It waits while too much is not durable yet. An error means that it was not added, and is final.
func (s *Stream) Write(chunk json.RawMessage) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := len(chunk) + chunkWeight
	for {
		if err := s.refusedLocked(); err != nil {
			return err
		}
		if s.weight+s.flying == 0 || s.weight+s.flying+w <= streamBuffer {
			break
		}
		s.sendLocked()
		if err := s.waitLocked(); err != nil {
			return err
		}
	}
	s.begun = true
	s.chunks = append(s.chunks, chunk)
	if s.weight += w; s.weight >= streamBatch {
		s.sendLocked()
	} else {
		s.soonLocked()
	}
	return nil
}

// Close adds the mark that nothing follows, or, with a failure, that nothing follows as something went wrong. It is written with the end of the step, and
// never before: an attempt that fails has closed nothing, or its readers would take its end for the stream's.
func (s *Stream) Close(failure error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.refusedLocked(); err != nil {
		return err
	}
	s.begun, s.closed, s.end = true, true, world.ChunkClose
	if failure != nil {
		s.end, s.failure = world.ChunkError, s.seat.e.cfg.Record(failure)
	}
	return nil
}

// Flush returns when all that was written is durable, but for the mark of Close.
func (s *Stream) Flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.err == nil && (s.sending || len(s.chunks) > 0) {
		if s.over {
			return errReturned
		}
		s.sendLocked()
		if err := s.waitLocked(); err != nil {
			return err
		}
	}
	return s.err
}

// refusedLocked says why nothing can be written.
func (s *Stream) refusedLocked() error {
	switch {
	case s.err != nil:
		return s.err
	case s.over:
		return errReturned
	case s.closed:
		return fmt.Errorf("stream %q: %w", s.name, world.ErrStreamClosed)
	}
	return nil
}

// waitLocked waits until a batch has come back, or the attempt's context ends.
func (s *Stream) waitLocked() error {
	if s.change == nil {
		s.change = make(chan struct{})
	}
	change := s.change
	s.mu.Unlock()
	defer s.mu.Lock()
	select {
	case <-change:
		return nil
	case <-s.ctx.Done():
		return fmt.Errorf("stream %q: %w", s.name, context.Cause(s.ctx))
	}
}

// soonLocked has what waits sent a moment later.
func (s *Stream) soonLocked() {
	if s.timer == nil && !s.sending {
		s.timer = time.AfterFunc(streamDelay, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.timer = nil; !s.over {
				s.sendLocked()
			}
		})
	}
}

// sendLocked has what waits sent now, unless a batch is under way: then it follows.
func (s *Stream) sendLocked() {
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	if s.sending || len(s.chunks) == 0 || s.err != nil {
		return
	}
	s.sending = true
	a := s.batchLocked()
	s.seat.e.bodies.Go(func() { s.send(a) })
}

// batchLocked takes what is sent at once from what waits.
func (s *Stream) batchLocked() *world.Append {
	n, weight := 0, 0
	for n < len(s.chunks) && (n == 0 || weight+len(s.chunks[n])+chunkWeight <= streamBatch) {
		weight += len(s.chunks[n]) + chunkWeight
		n++
	}
	a := s.seat.append()
	a.StreamWrite = s.writeLocked(n)
	s.weight -= weight
	s.flying = weight
	return a
}

// writeLocked takes the first of what waits.
func (s *Stream) writeLocked(n int) world.StreamWrite {
	w := world.StreamWrite{
		Stream: s.name, Step: s.seat.info.Step, Attempt: s.seat.info.Attempt, Pos: s.sent, Chunks: s.chunks[:n:n], Reset: s.reset, From: s.from,
	}
	s.reset = false
	if s.chunks = s.chunks[n:]; len(s.chunks) == 0 {
		s.chunks = nil
	}
	s.sent += w.Len()
	return w
}

// append says who writes.
func (p *seat) append() *world.Append {
	a := &world.Append{Run: p.info.Run, Worker: p.e.workerID()}
	if p.home != nil {
		a.Worker, a.Claim = p.home.title().worker, p.home.title().claim
	}
	if p.task != nil {
		a.Worker, a.Claim = p.task.Worker, 0
		a.Task = &world.TaskKey{Run: p.info.Run, Step: p.info.Step, Attempt: p.info.Attempt}
	}
	return a
}

// send writes a batch, and has what came meanwhile sent after it.
func (s *Stream) send(a *world.Append) {
	err := s.seat.e.appendStream(a)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sending, s.flying = false, 0
	if err != nil {
		s.err, s.chunks, s.weight, s.end = err, nil, 0, ""
	}
	if s.change != nil {
		close(s.change)
		s.change = nil
	}
	switch {
	case s.over || s.err != nil || len(s.chunks) == 0:
	case s.weight >= streamBatch:
		s.sendLocked()
	default:
		s.soonLocked()
	}
}

// appendStream appends until the outcome is known. An error is final: the writer is not who it was, the stream is closed, or the worker ends.
func (e *Engine) appendStream(a *world.Append) error {
	for try := 0; ; try++ {
		_, err := e.cfg.World.Append(e.workCtx, a)
		switch {
		case err == nil:
			return nil
		case final(err) || errors.Is(err, world.ErrStreamClosed) || e.workCtx.Err() != nil:
			return err
		case errors.Is(err, world.ErrUnknownOutcome):
			a.Again = true
		}
		if !pause(e.workCtx, retryPause(try)) {
			return err
		}
	}
}

// finish ends the streams of a body that has returned. It returns what is to be committed with the end of the attempt; what is too much for that is durable
// when it returns. The error is that something could not be written.
func (all *streams) finish() (rest []world.StreamWrite, err error) {
	all.mu.Lock()
	all.over = true
	list := all.list
	all.mu.Unlock()
	for _, s := range list {
		w, failed := s.finish(len(rest) < streamRests)
		if rest = append(rest, w...); failed != nil && err == nil {
			err = fmt.Errorf("what was written to stream %q is not durable: %w", s.name, failed)
		}
	}
	return rest, err
}

// finish ends the stream. With small, a small rest is returned.
func (s *Stream) finish(small bool) ([]world.StreamWrite, error) {
	s.mu.Lock()
	s.over = true
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	for s.sending {
		if s.change == nil {
			s.change = make(chan struct{})
		}
		change := s.change
		s.mu.Unlock()
		<-change
		s.mu.Lock()
	}
	defer s.mu.Unlock()
	for s.err == nil && (s.reset && s.begun || len(s.chunks) > 0 && (!small || s.weight > streamRest)) {
		s.err = s.seat.e.appendStream(s.batchLocked())
	}
	switch {
	case errors.Is(s.err, world.ErrStreamClosed): // what is written behind a mark is dropped, here as in a commit
		return nil, nil
	case s.err != nil || len(s.chunks) == 0 && s.end == "":
		return nil, s.err
	}
	w := s.writeLocked(len(s.chunks))
	w.End, w.Error = s.end, s.failure
	return []world.StreamWrite{w}, nil
}

// unclosed is what an attempt wrote that failed: it has closed nothing, unless it was the last one, and closed with an error.
func unclosed(writes []world.StreamWrite, last bool) []world.StreamWrite {
	kept := writes[:0]
	for _, w := range writes {
		if !last || w.End != world.ChunkError {
			w.End, w.Error = "", nil
		}
		if w.Len() > 0 {
			kept = append(kept, w)
		}
	}
	return kept
}

// appendRest makes durable what the body of a task wrote last, before its end is sent.
func (e *Engine) appendRest(t *world.Task, rest []world.StreamWrite) {
	for _, w := range rest {
		err := e.appendStream(&world.Append{
			Run: t.Run, Worker: t.Worker, Task: &world.TaskKey{Run: t.Run, Step: t.Step, Attempt: t.Attempt}, StreamWrite: w,
		})
		if err != nil { // whoever refuses this refuses the end, or the stream is closed
			e.cfg.Logger.Info("the rest of a stream could not be written", "run_id", t.Run, "step.id", t.Step, "stream", w.Stream, "err", err)
		}
	}
}

// Earlier is what an earlier attempt of the step wrote, and stands.
type Earlier struct {
	Index int64
	Value json.RawMessage
}

// Earlier reads what earlier attempts of the step wrote, and stands.
func (s *Stream) Earlier() (all []Earlier, err error) {
	info := &s.seat.info
	if info.Attempt <= 1 {
		return nil, nil
	}
	q := world.ChunkQuery{}
	for {
		page, err := s.seat.e.cfg.World.Chunks(s.ctx, info.Run, s.name, q)
		if err != nil {
			return nil, fmt.Errorf("stream %q: %w", s.name, err)
		}
		for i := range page.Chunks {
			if c := &page.Chunks[i]; c.Step == info.Step && c.Attempt < info.Attempt && c.Kind == world.ChunkData {
				all = append(all, Earlier{c.Index, c.Value})
			}
		}
		if q.From = page.Next; !page.More {
			return all, nil
		}
	}
}

// Keep lets this attempt go on behind what earlier ones wrote before a number; the rest is made void with the first thing that it writes.
func (s *Stream) Keep(from int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.begun {
		return fmt.Errorf("%w: stream %q: this attempt has already written to it", world.ErrInvalid, s.name)
	}
	s.from = from
	return nil
}

// StreamSpec is what workflow code hands over with what it writes to a stream. It is the Spec of a replay.Op of kind stream.
type StreamSpec struct {
	Chunk json.RawMessage // nil: the mark that nothing follows
}

// Contents are the chunk's bytes; none for the mark.
func (s *StreamSpec) Contents() []byte { return s.Chunk }

// writeStream puts what the code wrote to a stream into the turn, beside its record.
func (t *turn) writeStream(stream string, spec *StreamSpec) {
	w := world.StreamWrite{Stream: stream}
	if spec.Chunk == nil {
		w.End = world.ChunkClose
	} else {
		w.Chunks = []json.RawMessage{spec.Chunk}
	}
	t.addStreams(w)
}
