package engine

// Values that the body of a step keeps apart, as streams. They are the run's from their first piece on; what the
// attempt's result does not name is dropped when it ends.

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/stepwell/stepwell/world"
)

// dropPatience is how long a body that has ended tries to drop what nobody names. What is left goes with the run.
const dropPatience = 5 * time.Second

// Values are those of the run that the body with a context belongs to.
func Values(ctx context.Context) (v world.Values, run string, err error) {
	p, ok := ctx.Value(infoKey{}).(*seat)
	if !ok {
		return nil, "", fmt.Errorf("%w: only the body of a step can read and write values, with the context that it was given; workflow code passes them on", world.ErrInvalid)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.returned {
		return nil, "", errReturned
	}
	return p.e.cfg.World.Values(), p.info.Run, nil
}

// Makes notes a value that a body is about to keep apart.
func Makes(ctx context.Context, value string) error {
	if world.TxFrom(ctx) != nil {
		return fmt.Errorf("%w: in a transactional step: create the value in an earlier step, and pass it on", world.ErrInvalid)
	}
	p, _ := ctx.Value(infoKey{}).(*seat)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.returned {
		return errReturned
	}
	p.made = append(p.made, value)
	return nil
}

// unnamed are the values that an attempt's result does not name.
func unnamed(made []string, r *result) (left []string) {
	for _, id := range made {
		if r.err != nil || !bytes.Contains(r.payload, []byte(id)) {
			left = append(left, id)
		}
	}
	return left
}

func dropValues(e *Engine, run string, values []string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.workCtx), dropPatience)
	defer cancel()
	for _, id := range values {
		_ = e.cfg.World.Values().DropValue(ctx, run, id)
	}
}
