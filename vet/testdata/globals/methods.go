package globals

import (
	"context"

	"github.com/stepwell/stepwell"
)

type shelf struct{ left int }

func (s *shelf) take(_ context.Context, n int) error {
	s.left -= n
	return nil
}

func (s *shelf) rest() int { return s.left }

var shelves = &shelf{}

// methodsOfSteps hands methods of a variable that steps change to steps: these read it.
func methodsOfSteps(ctx stepwell.Context, n int) error {
	if err := stepwell.Exec(ctx, "take", shelves.take, n, stepwell.Undo("give", shelves.take, -n)); err != nil { // near: globals
		return err
	}
	stepwell.AddUndo(ctx, "give-all", shelves.take, -n) // near: globals
	return nil
}

func methodsOfCode(ctx stepwell.Context, n int) (int, error) {
	return shelves.rest(), stepwell.Exec(ctx, "take", shelves.take, n) // want `workflow code reads shelves, which is changed elsewhere`
}
