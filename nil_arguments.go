package stepwell

// Nil where something must be: a mistake of the program, which is told by name, and never with a nil pointer inside this package.

import (
	"fmt"

	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/world"
)

// halt blocks the run whose code made a mistake that it cannot be told as an error.
func halt(err error) { panic(engine.Block(world.CodeInternal, err)) }

// check refuses a future that is nil, or was not made by this package.
func (f *Future[T]) check() error {
	if f == nil || f.get == nil {
		return kit.Missing("the future")
	}
	return nil
}

// checkFutures refuses those of several futures.
func checkFutures[T any](what string, fs []*Future[T]) error {
	for i, f := range fs {
		if f.check() != nil {
			return kit.Missing(fmt.Sprintf("%s: future %d of %d", what, i+1, len(fs)))
		}
	}
	return nil
}
