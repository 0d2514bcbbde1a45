package stepwell

import (
	"fmt"
	"reflect"
)

// given applies options, in order, and refuses one that is nil by its place and kind, before it is called.
func given[O any](opts []O, apply func(O)) error {
	for i, o := range opts {
		if v := reflect.ValueOf(o); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
			return fmt.Errorf("%w: option %d is nil: want a %s", ErrInvalid, i+1, reflect.TypeFor[O]())
		}
		apply(o)
	}
	return nil
}
