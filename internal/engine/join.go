package engine

import (
	"context"
	"errors"

	"github.com/stepwell/stepwell/world"
)

// joinFirst registers the worker when it begins. A database that is away may come back: it is tried again until ctx ends.
func (e *Engine) joinFirst(ctx context.Context) error {
	for try := 1; ; try++ {
		err := e.join(ctx)
		switch {
		case err == nil && try > 1:
			e.cfg.Logger.Warn("joined", "worker", e.workerID(), "tries", try)
			return nil
		case err == nil || hopeless(err):
			return err
		case ctx.Err() == nil && (try&(try-1) == 0 || try%32 == 0): // not every 2 s the same line
			e.cfg.Logger.Warn("join failed, trying again until the context ends", "try", try, "err", err)
		}
		if !pause(ctx, retryPause(try-1)) {
			return err
		}
	}
}

// hopeless reports whether joining again cannot help: somebody has to do something about it first.
func hopeless(err error) bool {
	return final(err) || errors.Is(err, world.ErrWorkerExists) || errors.Is(err, world.ErrFormat)
}
