package timeline

import (
	"strings"

	"github.com/stepwell/stepwell/world"
)

// Key is the idempotency key that people know a run by: of one that took the place of another, that of the first in
// the line, if there was one.
func Key(own, first string) string {
	if strings.HasPrefix(own, world.RetryKey("")) {
		return first
	}
	return own
}
