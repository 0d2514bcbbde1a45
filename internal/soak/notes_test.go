//go:build unix

package soak

// This file holds what worker processes write down beside the engine: bodies, and the leases under which they run. A line is one write, so
// that it is whole or not there, whatever happens to its process.

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// note is one line. All processes are on one machine: their clocks are one.
type note struct {
	What    noteKind `json:"what"`
	At      int64    `json:"at"` // ns
	PID     int      `json:"pid"`
	Worker  string   `json:"worker"`          // the ID under which the process had joined
	Until   int64    `json:"until,omitempty"` // lease: when it ends, as its holder may believe
	Run     string   `json:"run,omitempty"`
	Step    string   `json:"step,omitempty"`
	Name    string   `json:"name,omitempty"`
	Attempt int      `json:"attempt,omitempty"`
	Err     string   `json:"err,omitempty"`

	// Of money that moved.
	Key      string `json:"key,omitempty"`
	Transfer int    `json:"transfer,omitempty"`
	Account  int    `json:"account,omitempty"`
	Amount   int64  `json:"amount,omitempty"`
}

type noteKind string

const (
	noteLease noteKind = "lease" // it was renewed
	noteStart noteKind = "start" // of a body
	noteEnd   noteKind = "end"   // of a body
	noteMove  noteKind = "move"  // of money, by a far ledger
	noteCame  noteKind = "came"  // a message, to its handler
	noteDone  noteKind = "done"  // with a message: its handler returns
)

// notes is where one process writes.
type notes struct {
	file   *os.File
	pid    int
	worker atomic.Pointer[string]
}

func openNotes(dir string) (*notes, error) {
	f, err := os.CreateTemp(dir, "notes-*.jsonl")
	if err != nil {
		return nil, err
	}
	n := &notes{file: f, pid: os.Getpid()}
	n.worker.Store(new(string))
	return n, nil
}

func (n *notes) write(l note) error {
	l.At, l.PID, l.Worker = time.Now().UnixNano(), n.pid, *n.worker.Load()
	b, err := json.Marshal(&l)
	if err == nil {
		_, err = n.file.Write(append(b, '\n'))
	}
	return err
}

// body runs the body of a step between two lines. A body whose context is over by now does nothing: what the engine began under a lease that is
// gone is not work.
func (n *notes) body(ctx context.Context, do func() error) error {
	i := stepwell.Info(ctx)
	l := note{What: noteStart, Run: i.Run, Step: i.Step, Name: i.Name, Attempt: i.Attempt}
	if err := n.write(l); err != nil {
		return err
	}
	err := do()
	l.What = noteEnd
	if err != nil {
		l.Err = err.Error()
	}
	return errors.Join(err, n.write(l))
}

// noted is a world that writes down the leases that it gives.
type noted struct {
	*database // with all its optional abilities
	notes     *notes
}

// Join implements world.Queue.
func (w *noted) Join(ctx context.Context, wk world.Worker) (world.Heartbeat, error) {
	sent := time.Now()
	b, err := w.database.Join(ctx, wk)
	if err == nil {
		w.notes.worker.Store(&wk.ID)
		err = w.lease(sent, &b)
	}
	return b, err
}

// Heartbeat implements world.Queue.
func (w *noted) Heartbeat(ctx context.Context, q world.HeartbeatQuery) (world.Heartbeat, error) {
	sent := time.Now()
	b, err := w.database.Heartbeat(ctx, q)
	if err == nil {
		err = w.lease(sent, &b)
	}
	return b, err
}

func (w *noted) lease(sent time.Time, b *world.Heartbeat) error {
	return w.notes.write(note{What: noteLease, Until: sent.Add(b.Until.Sub(b.Now)).UnixNano()})
}

// readNotes reads what all processes wrote, in order of time.
func readNotes(dir string) ([]note, error) {
	files, err := filepath.Glob(filepath.Join(dir, "notes-*.jsonl"))
	if err != nil {
		return nil, err
	}
	var all []note
	for _, path := range files {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			var l note
			if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
				return nil, errors.Join(err, f.Close())
			}
			all = append(all, l)
		}
		if err := errors.Join(lines.Err(), f.Close()); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(all, func(a, b note) int { return int(a.At - b.At) })
	return all, nil
}
