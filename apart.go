package stepwell

// Values that are too large for a log: they are kept apart, and read where they are needed.

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/stepwell/stepwell/internal/apart"
	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/world"
)

// defaultValue is how large a value may be that is kept apart, unless the configuration says otherwise.
const defaultValue = 64 << 20

// whole is a payload of the run, or the value that it refers to. One that cannot be read blocks the run.
func (c Context) whole(payload []byte) []byte {
	if !world.IsApart(payload) {
		return payload
	}
	b, err := wholeOf(context.Background(), c.env.keeper, c.RunID(), payload)
	if err != nil {
		panic(engine.Block(engine.BlockOf(err).Code, err))
	}
	return b
}

// wholeOf is a payload of a run, or the value that it refers to. The limit of a configuration is of what is written.
func wholeOf(ctx context.Context, from world.ApartKeeper, run string, payload []byte) ([]byte, error) {
	if !world.IsApart(payload) {
		return payload, nil
	}
	return apart.Read(ctx, from, run, payload, world.MaxApart)
}

// OpenValue opens a value that is kept apart, of a run whose log refers to it, and tells its size. The last error of
// the
// reader says whether it is what was written: it is not to be trusted before. It asks the world on until ctx ends.
//
// Errors: [ErrNotFound] where the run is not there, or its log does not refer to the value, [ErrInvalid] for what is
// no
// ID of one, [ErrNoKey], and those of the world.
func OpenValue(ctx context.Context, app *App, run, id string) (r io.Reader, size int64, err error) {
	if app == nil {
		return nil, 0, kit.Missing("open a value: the App")
	}
	if err := world.CheckApart(id); err != nil {
		return nil, 0, err
	}
	q := world.EventQuery{Types: apart.Types}
	for {
		page, err := app.world.Events(ctx, run, q)
		if err != nil {
			return nil, 0, err
		}
		for i := range page.Events {
			e := &page.Events[i]
			if !slices.Contains(e.Apart, id) {
				continue
			}
			if e.Encrypted != "" {
				return nil, 0, &world.KeyError{Run: run, Key: e.Encrypted}
			}
			if of, ok := apart.Find(e.Payload, id); ok {
				return apart.Open(ctx, app.able.ApartKeeper, run, e.Seq, of), of.Size, nil
			}
		}
		if q.Cursor = page.Cursor; !page.More {
			return nil, 0, fmt.Errorf("run %s: value %s: %w", run, id, ErrNotFound)
		}
	}
}
