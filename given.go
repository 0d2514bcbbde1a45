package stepwell

// Nil where something must be: a mistake of the program, which is told by name, and never with a nil pointer inside this package.

import (
	"fmt"
	"reflect"

	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/world"
)

// given applies options, in order, and refuses one that is nil by its place and kind, before it is called.
func given[O any](opts []O, apply func(O)) error {
	for i, o := range opts {
		if isNil(o) {
			return fmt.Errorf("%w: option %d is nil: want a %s", ErrInvalid, i+1, reflect.TypeFor[O]())
		}
		apply(o)
	}
	return nil
}

// isNil reports whether v is nil, or a nil pointer as something else.
func isNil(v any) bool {
	r := reflect.ValueOf(v)
	return !r.IsValid() || r.Kind() == reflect.Pointer && r.IsNil()
}

// missing is the error for something that is nil, by its name.
func missing(what string) error { return fmt.Errorf("%w: %s is nil", ErrInvalid, what) }

// halt blocks the run whose code made a mistake that it cannot be told as an error.
func halt(err error) { panic(engine.Block(world.CodeInternal, err)) }

// check refuses a future that is nil, or was not made by this package.
func (f *Future[T]) check() error {
	if f == nil || f.get == nil {
		return missing("the future")
	}
	return nil
}

// checkFutures refuses those of several futures.
func checkFutures[T any](what string, fs []*Future[T]) error {
	for i, f := range fs {
		if f.check() != nil {
			return missing(fmt.Sprintf("%s: future %d of %d", what, i+1, len(fs)))
		}
	}
	return nil
}
