package engine

import (
	"context"
	"fmt"

	"github.com/stepwell/stepwell/world"
)

// StartKey is the idempotency key of a run that a step's body starts without one of its own: the body's step ID, so that the next attempt finds the run
// that this one started. Outside a body it is "". A second start of the same workflow in one body is refused: it must name its own.
func StartKey(ctx context.Context, workflow string) (string, error) {
	p, ok := ctx.Value(infoKey{}).(*seat)
	if !ok {
		return "", nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, again := p.started[workflow]; again {
		return "", fmt.Errorf("%w: step %q starts a second run of %s: give the second one an idempotency key of its own",
			world.ErrInvalid, p.info.Name, workflow)
	}
	if p.started == nil {
		p.started = map[string]struct{}{}
	}
	p.started[workflow] = struct{}{}
	return p.info.IdempotencyKey, nil
}
