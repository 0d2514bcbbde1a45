package codec

import (
	"fmt"

	"github.com/stepwell/stepwell/world"
)

// KeyOf makes a key from JSON by a function of what it is in Go.
func KeyOf[In any](of func(in In) string) func(input []byte) (string, error) {
	return func(input []byte) (key string, err error) {
		defer func() {
			if v := recover(); v != nil {
				err = fmt.Errorf("%w: the function of the key panicked: %v", world.ErrInvalid, v)
			}
		}()
		var in In
		if err := Decode(input, &in); err != nil {
			return "", err
		}
		return of(in), nil
	}
}
