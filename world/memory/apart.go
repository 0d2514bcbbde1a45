// Values that are kept apart from logs.

package memory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/stepwell/stepwell/world"
)

// apart are values that are too large for a log, and the runs that hold them.
type apart struct {
	values map[string]*value
	runs   map[string]map[string]time.Time // by run and value: when it was written; zero: an event names it
}

type value struct {
	pieces  map[int][]byte
	holders int
}

var _ world.ApartKeeper = (*World)(nil)

// KeepPiece keeps a piece of a value apart; see [world.ApartKeeper].
func (w *World) KeepPiece(ctx context.Context, run, id string, number int, data []byte) error {
	if err := world.CheckPiece(run, id, number, data); err != nil {
		return err
	}
	if err := w.enter(ctx); err != nil {
		return err
	}
	defer w.mu.Unlock()
	a := &w.apart
	if a.values == nil {
		a.values, a.runs = make(map[string]*value), make(map[string]map[string]time.Time)
	}
	v := a.values[id]
	if v == nil {
		v = &value{pieces: make(map[int][]byte)}
		a.values[id] = v
	}
	if _, ok := v.pieces[number]; !ok {
		v.pieces[number] = slices.Clone(data)
	}
	if number == 0 && v.holders == 0 {
		a.hold(run, id, w.now())
	}
	return nil
}

// Piece reads a piece of a value; see [world.ApartKeeper].
func (w *World) Piece(ctx context.Context, run, id string, number int) ([]byte, error) {
	if err := w.enter(ctx); err != nil {
		return nil, err
	}
	defer w.mu.Unlock()
	if _, held := w.apart.runs[run][id]; held {
		if piece, ok := w.apart.values[id].pieces[number]; ok {
			return slices.Clone(piece), nil
		}
	}
	return nil, fmt.Errorf("run %s: piece %d of value %s: %w", run, number, id, world.ErrNotFound)
}

// hold makes a run hold a value, if it is there. at is when it was written; zero: an event names it.
func (a *apart) hold(run, id string, at time.Time) {
	v := a.values[id]
	if v == nil {
		return
	}
	before, held := a.runs[run][id]
	if !held {
		v.holders++
	} else if !at.IsZero() {
		at = before
	}
	if a.runs[run] == nil {
		a.runs[run] = make(map[string]time.Time)
	}
	a.runs[run][id] = at
}

// named makes a run hold what events of it name.
func (a *apart) named(run string, events []world.Event) {
	for i := range events {
		for _, id := range events[i].Apart {
			a.hold(run, id, time.Time{})
		}
	}
}

// lacks refuses a run that is to be created with a value that is not there.
func (a *apart) lacks(c *world.Commit, births ...*world.Commit) error {
	for _, b := range births {
		if err := a.lacks(b); err != nil {
			return err
		}
	}
	for i := range c.Events {
		for _, id := range c.Events[i].Apart {
			if c.Birth() && a.values[id] == nil {
				return world.NoValue(c.Run, id)
			}
		}
	}
	return nil
}

// drop lets a run hold nothing any more.
func (a *apart) drop(run string) {
	for id := range a.runs[run] {
		if v := a.values[id]; v.holders > 1 {
			v.holders--
		} else {
			delete(a.values, id)
		}
	}
	delete(a.runs, run)
}

// sweep deletes what was written for runs that never came to be.
func (a *apart) sweep(now time.Time, runs map[string]*run) {
	before := now.Add(-world.ApartOrphan)
	for run, held := range a.runs {
		if runs[run] != nil {
			continue
		}
		old := true
		for _, at := range held {
			old = old && !at.IsZero() && at.Before(before)
		}
		if old {
			a.drop(run)
		}
	}
}
