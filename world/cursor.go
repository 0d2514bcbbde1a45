package world

import (
	"fmt"
	"strconv"
)

// Cursor returns the cursor after the event with a number.
func Cursor(seq int64) string { return "e" + strconv.FormatInt(seq, 10) }

// ParseCursor returns the number of the last event that was read; "" is the start. Text that is not
// from [Cursor] is [ErrInvalid].
func ParseCursor(c string) (int64, error) {
	if c == "" {
		return 0, nil
	}
	if c[0] == 'e' {
		if n, err := strconv.ParseInt(c[1:], 10, 64); err == nil && n >= 0 && Cursor(n) == c {
			return n, nil
		}
	}
	return 0, fmt.Errorf("%w: cursor %s", ErrInvalid, show(c))
}
