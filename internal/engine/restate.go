package engine

// What definitions say is the word of the worker that said it last. Where that one is gone, and this one lives and says
// something else, this one's word is to hold.

import (
	"context"
	"time"

	"github.com/stepwell/stepwell/world"
)

// claimable is what the worker asks for when it claims runs: see [Book.leftTo]. next is how soon to look again; 0: as
// ever. Where what is known may be older than the notice that made it look, as that a worker is gone, and it would look
// rarely, that is when it is asked anew.
func claimable(ctx context.Context, e *Engine) (claims []world.Class, next time.Duration) {
	began := time.Now()
	claims, next = e.cfg.Book.leftTo(ctx, e.code.all())
	restate(ctx, e)
	if next == 0 && e.poll() > defaultPoll {
		next = e.cfg.Book.remembered(began)
	}
	return claims, next
}

// restate says again what definitions of this worker say, where a worker that is gone said something else. What fails is
// tried again with the next claim.
func restate(ctx context.Context, e *Engine) {
	orphans := e.cfg.Book.orphaned()
	if len(orphans) == 0 {
		return
	}
	var mine []world.Definition
	for _, d := range e.code.says() {
		if said, ok := orphans[d.Class]; ok && !said.Same(d.Said) {
			d.By = e.workerID()
			mine = append(mine, d)
		}
	}
	if len(mine) > 0 && e.cfg.Book.of.Define(ctx, mine) == nil {
		e.cfg.Book.Forget()
	}
}
