package server

// This file hears what step workers say while a step runs: that they are alive, how far it is, and what goes into its
// streams.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/stepwell/stepwell/world"
)

// stepHeartbeat is the body of a heartbeat.
type stepHeartbeat struct {
	Worker string `json:"worker"`
	Tasks  []struct {
		Receipt  string          `json:"receipt"`
		Progress json.RawMessage `json:"progress"`
		Position int64           `json:"position"`
	} `json:"tasks"`
}

// heardSteps is the answer.
type heardSteps struct {
	LeaseMs int64       `json:"leaseMs"`
	Ended   []endedStep `json:"ended"`
}

// endedStep is one that is to end, and why.
type endedStep struct {
	Receipt string `json:"receipt"`
	Why     string `json:"why"`
}

// Why a step is to end.
const (
	whyEnded   = "ended"   // nobody waits for it: its run was cancelled, or is over; or it is somebody else's now
	whyTimeout = "timeout" // of the attempt
)

func (s *stepDoor) heartbeat(w http.ResponseWriter, r *request) error {
	var b stepHeartbeat
	if err := r.decode(&b); err != nil {
		return err
	}
	if err := s.guard.mayActFor(r, b.Worker); err != nil {
		return err
	}
	texts := make([]string, len(b.Tasks))
	for i := range b.Tasks {
		texts[i] = b.Tasks[i].Receipt
	}
	all, err := readReceipts(b.Worker, texts)
	if err != nil {
		return err
	}
	q := world.HeartbeatQuery{Worker: b.Worker}
	for i, rc := range all {
		if said := b.Tasks[i].Progress; len(said) > world.MaxProgress {
			return fmt.Errorf("%w: progress of %d bytes: want %d at most", world.ErrTooLarge, len(said), world.MaxProgress)
		}
		q.Tasks = append(q.Tasks, rc.key())
	}
	heard, err := lasting(r.Context(), func(ctx context.Context) (world.Heartbeat, error) { return s.world.Heartbeat(ctx, q) })
	if err != nil {
		return err
	}
	out := heardSteps{LeaseMs: heard.Until.Sub(heard.Now).Milliseconds(), Ended: []endedStep{}}
	for i, rc := range all {
		switch {
		case slices.Contains(heard.Ended, rc.key()):
			s.forget(b.Worker, rc.key())
			out.Ended = append(out.Ended, endedStep{texts[i], whyEnded})
			continue
		case rc.late(heard.Now):
			out.Ended = append(out.Ended, endedStep{texts[i], whyTimeout})
		}
		if b.Tasks[i].Progress == nil {
			continue
		}
		if err := s.progress(r.Context(), rc, b.Tasks[i].Position, b.Tasks[i].Progress); err != nil {
			return err
		}
	}
	return answer(w, http.StatusOK, out)
}

// progress keeps what an attempt says of how far it is.
func (s *stepDoor) progress(ctx context.Context, rc *stepReceipt, pos int64, said json.RawMessage) error {
	_, err := s.append(ctx, rc, world.StreamWrite{Stream: world.ProgressStream(rc.Step), Pos: pos, Chunks: []json.RawMessage{said}})
	if errors.Is(err, world.ErrLeaseLost) {
		return nil // the next heartbeat says so
	}
	return err
}

// append adds to a stream, once: the position tells what comes again. An attempt makes void what those before it wrote.
func (s *stepDoor) append(ctx context.Context, rc *stepReceipt, sw world.StreamWrite) (world.Appended, error) {
	k := rc.key()
	sw.Step, sw.Attempt, sw.Reset = rc.Step, rc.Attempt, rc.Attempt > 1 && sw.Pos == 0
	a := &world.Append{Run: rc.Run, Worker: rc.Worker, Task: &k, Again: true, StreamWrite: sw}
	return lasting(ctx, func(ctx context.Context) (world.Appended, error) { return s.world.Append(ctx, a) })
}

// stepWrite is the body of what is added to a stream.
type stepWrite struct {
	Receipt  string            `json:"receipt"`
	Stream   string            `json:"stream"`
	Position int64             `json:"position"`
	Chunks   []json.RawMessage `json:"chunks"`
	Close    bool              `json:"close"`
	Error    *stepError        `json:"error"`
}

// stepWritten is the answer.
type stepWritten struct {
	First int64 `json:"first"`
}

func (s *stepDoor) write(w http.ResponseWriter, r *request) error {
	var b stepWrite
	if err := r.decode(&b); err != nil {
		return err
	}
	rc, err := s.receipt(r, b.Receipt)
	if err != nil {
		return err
	}
	if err := world.CheckName("stream name", b.Stream); err != nil {
		return err
	}
	if world.ProgressOf(b.Stream) != "" {
		return invalid("the stream %.100q is a step's progress, which heartbeats say", b.Stream)
	}
	if len(b.Chunks) == 0 && !b.Close && b.Error == nil || b.Position < 0 {
		return invalid("body: there is neither a chunk nor a close, or the position is below 0")
	}
	sw := world.StreamWrite{Stream: b.Stream, Pos: b.Position, Chunks: b.Chunks}
	switch {
	case b.Error != nil:
		sw.End, sw.Error = world.ChunkError, b.Error.world()
	case b.Close:
		sw.End = world.ChunkClose
	}
	done, err := s.append(r.Context(), rc, sw)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, stepWritten{done.First})
}
