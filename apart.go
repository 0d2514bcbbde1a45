package stepwell

// Values that are too large for a log: they are kept apart, and read where they are needed.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/stepwell/stepwell/internal/apart"
	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/world"
)

// whole is a payload of the run, or the value that it refers to, where an ID says so. One that cannot be read blocks
// the run.
func (c Context) whole(payload []byte, id string) []byte {
	b, err := wholeOf(context.Background(), c.env.values, c.RunID(), payload, id)
	if err != nil {
		panic(engine.Block(engine.BlockOf(err).Code, err))
	}
	if len(b) > apart.Most { // in a run's first turn it is not kept apart yet
		if l := localOf(c); l != nil {
			l.read += len(b)
		}
	}
	return b
}

// wholeOf is a payload of a run, or the value that it refers to, where an ID says so. The limit of a configuration is
// of what is written.
func wholeOf(ctx context.Context, from world.Values, run string, payload []byte, id string) ([]byte, error) {
	return apart.Read(ctx, from, run, payload, id, world.MaxApart)
}

// withInput gives check an input that may be kept apart, whole: run holds it then. [ErrInvalid]: it is not there, or
// not as the reference says.
func withInput(ctx context.Context, a *App, run string, input []byte, id string, check func(whole []byte) error) error {
	if world.WholeApart(id) == "" {
		return check(input)
	}
	of, ok := world.ReadApart(input, id)
	switch {
	case !ok:
		return fmt.Errorf("input: %w: it does not refer to value %s", ErrInvalid, id)
	case of.Size > int64(a.cfg.MaxValue):
		return fmt.Errorf("input: %w: value %s has %d bytes, the limit is %d bytes", ErrTooLarge, of.ID, of.Size, a.cfg.MaxValue)
	}
	select { // one such value at a time is in memory
	case a.sets.whole <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("input: value %s: %w", id, context.Cause(ctx))
	}
	defer func() { <-a.sets.whole }()
	whole, err := wholeOf(ctx, a.world.Values(), run, input, id)
	switch {
	case errors.Is(err, world.ErrCorrupt) || errors.Is(err, world.ErrFormat):
		return fmt.Errorf("input: %w: %s", ErrInvalid, err)
	case err != nil:
		return fmt.Errorf("input: %w", err)
	}
	return check(whole)
}

// OpenValue opens a value that is stored apart from its run's log, and returns its size in bytes.
// The run's log must refer to the value. Trust the data only after io.EOF: the reader checks the
// value at its end. The reader uses ctx until you stop reading.
//
// Errors: [ErrNotFound] if the run does not exist or its log does not refer to the value;
// [ErrInvalid] for a malformed ID; [ErrNoKey]; and those of the store.
func (a *App) OpenValue(ctx context.Context, run, id string) (r io.Reader, size int64, err error) {
	if err := world.CheckApart(id); err != nil {
		return nil, 0, err
	}
	q := world.EventQuery{Types: world.ApartTypes()}
	for {
		page, err := a.world.Events(ctx, run, q)
		if err != nil {
			return nil, 0, err
		}
		for i := range page.Events {
			if r, size, found, err := openOf(ctx, a.world.Values(), run, &page.Events[i], id); found || err != nil {
				return r, size, err
			}
		}
		if q.Cursor = page.Cursor; !page.More {
			return nil, 0, fmt.Errorf("run %s: value %s: %w", run, id, ErrNotFound)
		}
	}
}

// openOf opens a value of an event, which refers to it, or names it. found is false where it does neither.
func openOf(ctx context.Context, from world.Values, run string, e *world.Event, id string) (r io.Reader, size int64, found bool, err error) {
	whole, names := world.SplitApart(e.Apart)
	named := slices.Contains(names, id)
	switch {
	case whole != id && !named:
		return nil, 0, false, nil
	case e.Encrypted != "":
		return nil, 0, true, &world.KeyError{Run: run, Key: e.Encrypted}
	case !named:
		of, ok := world.ReadApart(e.Payload, id)
		if !ok {
			err = &world.CorruptError{Run: run, Seq: e.Seq, Err: fmt.Errorf("value %s: the event does not refer to it", id)}
			return nil, 0, true, err
		}
		return apart.Open(ctx, from, run, e.Seq, of), of.Size, true, nil
	}
	payload, err := wholeOf(ctx, from, run, e.Payload, e.Apart)
	if err != nil {
		return nil, 0, true, err
	}
	for _, of := range world.Named(payload) {
		if of.ID == id {
			r, err := apart.OpenHeld(ctx, from, run, of)
			return r, of.Size, true, err
		}
	}
	return nil, 0, false, nil
}
