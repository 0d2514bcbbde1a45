// Package unfixed has Stepwell without a name.
package unfixed

import (
	"time"

	. "github.com/stepwell/stepwell"
)

func dots(ctx Context, n int) error {
	go func() { n++ }() // want `a go statement in workflow code`
	time.Sleep(1)       // want `time.Sleep in workflow code`
	return nil
}
