package history

// This file holds a log as it travels: one JSON object a line, a head, the events, and an end that tells a whole log from one that was cut.

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/stepwell/stepwell/world"
)

// The formats in which this release writes histories; it reads both.
const (
	Format     = 1
	WithValues = 2 // values that are kept apart follow the events
)

// longestLine bounds what a reader keeps of one line: an event of the largest commit, with room for its escapes.
const longestLine = 8 * world.MaxCommit

// History is the log of one run, outside of any database.
type History struct {
	Run        string
	ExportedAt time.Time
	Events     []world.Event // from run_created on; perhaps not to the run's end, and without segments that were trimmed
	Values     Values        // that came with it; nil: it was written without
}

// line is one line of a file. Exactly one of Format, Type, Value and End is set.
type line struct {
	Format     int       `json:"history,omitempty"`
	Run        string    `json:"run,omitempty"`
	ExportedAt time.Time `json:"exportedAt,omitzero"`
	End        int64     `json:"end,omitempty"` // number of the last event

	Seq     int64           `json:"seq,omitempty"` // an event: these three first, for people
	Type    world.EventType `json:"type,omitempty"`
	Time    time.Time       `json:"time,omitzero"`
	EventID string          `json:"eventId,omitempty"` // for people and other programs: it is not read
	world.Event
	Payload json.RawMessage `json:"payload,omitempty"`
	// Bytes are a payload that JSON would not give back as it is: with white space of its own, say.
	Bytes []byte `json:"payloadBytes,omitempty"`

	Value string `json:"value,omitempty"` // a piece of a value: its ID, which piece, from 1, and the piece as it is kept
	Piece int    `json:"piece,omitempty"`
	Data  []byte `json:"data,omitempty"`
}

// Writer writes one history.
type Writer struct {
	enc  *json.Encoder
	run  string
	last int64
}

// NewWriter begins a history of a format. Several may follow each other in one file.
func NewWriter(to io.Writer, format int, run string, at time.Time) (*Writer, error) {
	w := &Writer{enc: json.NewEncoder(to), run: run}
	w.enc.SetEscapeHTML(false)
	return w, w.enc.Encode(&line{Format: format, Run: run, ExportedAt: at})
}

// Add writes the next event.
func (w *Writer) Add(e *world.Event) error {
	l := line{EventID: world.EventID(w.run, e.Seq, e.Time), Event: *e, Seq: e.Seq, Type: e.Type, Time: e.Time, Payload: e.Payload}
	l.Commit = 0
	if !exact(e.Payload) {
		l.Payload, l.Bytes = nil, e.Payload
	}
	w.last = e.Seq
	if err := w.enc.Encode(&l); err != nil {
		return fmt.Errorf("event %d: %w", e.Seq, err)
	}
	return nil
}

// AddPiece writes a piece of a value, behind the events. Pieces count from 0, and follow each other.
func (w *Writer) AddPiece(value string, number int, data []byte) error {
	return w.enc.Encode(&line{Value: value, Piece: number + 1, Data: data})
}

// End writes the end.
func (w *Writer) End() error { return w.enc.Encode(&line{End: w.last}) }

// exact reports whether JSON gives the bytes back as they are.
func exact(b []byte) bool {
	var c bytes.Buffer
	return b == nil || json.Compact(&c, b) == nil && bytes.Equal(c.Bytes(), b)
}

// Read yields the histories of a file. After an error it yields nothing more. Each was folded: it is a log that could be.
func Read(from io.Reader) iter.Seq2[*History, error] {
	return func(yield func(*History, error) bool) {
		r := reader{lines: bufio.NewScanner(from)}
		r.lines.Buffer(nil, longestLine)
		defer func() { r.values.close() }()
		for {
			h, err := r.next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(nil, fmt.Errorf("history, line %d: %w", r.n, err))
				return
			}
			if !yield(h, nil) {
				return
			}
		}
	}
}

type reader struct {
	lines  *bufio.Scanner
	n      int     // of the line that was read last
	values *values // of the history that was read last; nil: it has none
}

func (r *reader) line() (l line, err error) {
	for r.lines.Scan() {
		r.n++
		text := bytes.TrimSpace(r.lines.Bytes())
		if len(text) == 0 {
			continue
		}
		if err := json.Unmarshal(text, &l); err != nil {
			return l, fmt.Errorf("%w: no event of a history: %w", world.ErrInvalid, err)
		}
		return l, nil
	}
	r.n++
	if err := r.lines.Err(); err != nil {
		return l, err
	}
	return l, io.EOF
}

func (r *reader) next() (*History, error) {
	l, err := r.line()
	switch {
	case err != nil:
		return nil, err
	case l.Format == 0:
		return nil, fmt.Errorf("%w: a history begins with {\"history\":%d,\"run\":…}, as stepwell export writes it", world.ErrInvalid, Format)
	case l.Format > WithValues:
		return nil, fmt.Errorf("%w: format %d, but this release knows %d", world.ErrFormat, l.Format, WithValues)
	}
	r.values.close()
	h := &History{Run: l.Run, ExportedAt: l.ExportedAt}
	if r.values = nil; l.Format == WithValues {
		r.values = &values{run: h.Run}
		h.Values = r.values
	}
	if err := world.CheckRunID(h.Run); err != nil {
		return nil, err
	}
	for {
		l, err := r.line()
		switch {
		case errors.Is(err, io.EOF):
			return nil, fmt.Errorf("%w: run %s: the history is cut off after event %d", world.ErrInvalid, h.Run, h.Last())
		case err != nil:
			return nil, err
		case l.End > 0 && l.End == h.Last():
			_, err := h.State()
			return h, err
		case l.Value != "" && r.values != nil:
			if err := r.values.add(&l); err != nil {
				return nil, fmt.Errorf("run %s: %w", h.Run, err)
			}
			continue
		case l.Type == "" || r.values.some():
			return nil, fmt.Errorf("%w: run %s: neither event %d nor the end", world.ErrInvalid, h.Run, h.Last()+1)
		}
		if l.Seq <= h.Last() {
			return nil, &world.CorruptError{Run: h.Run, Seq: l.Seq, Err: fmt.Errorf("it comes after event %d", h.Last())}
		}
		h.Events = append(h.Events, l.event())
	}
}

func (l *line) event() world.Event {
	e := l.Event
	e.Seq, e.Type, e.Time, e.Payload = l.Seq, l.Type, l.Time, l.Payload
	if l.Bytes != nil {
		e.Payload = l.Bytes
	}
	return e
}

// State folds the history.
func (h *History) State() (*world.State, error) { return h.stateAt(h.Last()) }

// stateAt folds the events up to a number.
func (h *History) stateAt(seq int64) (*world.State, error) {
	if len(h.Events) == 0 {
		return nil, world.CheckFirst(h.Run, nil)
	}
	s := &world.State{ID: h.Run, EnterAt: h.Trimmed()}
	for i := range h.Events {
		e := &h.Events[i]
		if e.Seq > seq {
			break
		}
		changed, err := s.Apply(e, time.Time{})
		if err == nil && !changed {
			err = errors.New("it says nothing new")
		}
		if err != nil {
			return nil, &world.CorruptError{Run: h.Run, Seq: e.Seq, Err: err}
		}
	}
	return s, nil
}
