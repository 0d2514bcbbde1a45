package wdk

// What ends behind the end of its run: the DevKit takes the end of a step that ran when its run ended, and our log is
// closed then. So it lies beside the log, as a value of the run that is kept apart: the first is late 1, the next late
// 2. Who writes a number first has it, on any server; with the run they go.

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/oklog/ulid/v2"

	"github.com/stepwell/stepwell/world"
)

// late is what is kept of an event that came behind the end of its run.
type late struct {
	Call  string      `json:"call"` // who wrote it
	Event world.Event `json:"event"`
}

// valueID is the ID of a value of a run that is found by what it is.
func valueID(run, what string) string {
	sum := sha256.Sum256([]byte(run + "\x00" + what))
	return world.PrefixApart + "_" + ulid.ULID(sum[:16]).String()
}

func lateID(run string, n int) string { return valueID(run, "late "+strconv.Itoa(n)) }

// beside is what lies beside logs.
type beside struct {
	values world.Values
}

// load reads what was written behind the end of a run, where a step of it ran then, and may end yet.
func (b beside) load(ctx context.Context, r *run) error {
	for r.running > 0 {
		data, err := b.values.Piece(ctx, r.id, lateID(r.id, len(r.late)+1), 0)
		if errors.Is(err, world.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := r.addLate(data); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) addLate(data []byte) error {
	var l late
	if err := json.Unmarshal(data, &l); err != nil {
		return fmt.Errorf("run %s: what came behind its end: %w", r.id, err)
	}
	r.late = append(r.late, l.Call)
	return r.add(&l.Event, false)
}

// lateAt is the place of the event that a call wrote behind the end of the run; -1: it wrote none.
func (r *run) lateAt(in *createIn) int {
	call := in.commitName()
	for i, of := range r.late {
		if of == call {
			return len(r.events) - len(r.late) + i
		}
	}
	return -1
}

// write writes the end of a step behind the end of its run, and returns its place.
func (b beside) write(ctx context.Context, r *run, in *createIn) (int, error) {
	events, err := r.made(in)
	if err != nil {
		return -1, err
	}
	l := late{in.commitName(), events[0]}
	data, err := json.Marshal(&l)
	if err != nil {
		return -1, fmt.Errorf("%w: %w", world.ErrInvalid, err)
	}
	if len(data) > world.ApartPiece {
		return -1, expired("run %s is %s, and %d bytes are too much for what comes behind its end", r.id, r.state.Status, len(data))
	}
	value := lateID(r.id, len(r.late)+1)
	if err := b.values.KeepPiece(ctx, &world.Piece{Run: r.id, Value: value, Data: data}); err != nil {
		return -1, err
	}
	kept, err := b.values.Piece(ctx, r.id, value, 0)
	if err == nil {
		err = r.addLate(kept)
	}
	if err != nil {
		return -1, err
	}
	if at := len(r.events) - 1; r.late[len(r.late)-1] == l.Call {
		return at, nil
	}
	return -1, fmt.Errorf("%w: another step ended just now", world.ErrLeaseLost) // and is judged anew
}
