package world

// Tests of cursors: what Cursor made comes back, anything else is refused.

import (
	"errors"
	"math"
	"testing"
)

func TestCursor(t *testing.T) {
	for _, n := range []int64{0, 1, 9, 10, 1 << 40, math.MaxInt64} {
		if got, err := ParseCursor(Cursor(n)); err != nil || got != n {
			t.Errorf("%d: got %d, %v", n, got, err)
		}
	}
	if got, err := ParseCursor(""); err != nil || got != 0 {
		t.Errorf("start: got %d, %v; want 0", got, err)
	}
	for _, c := range []string{"e", "1", "e-1", "e01", "e+1", "E1", "e1 ", " e1", "e1x", "e9223372036854775808", "e0x1", "e1_0", "\x00", "é"} {
		if got, err := ParseCursor(c); !errors.Is(err, ErrInvalid) || got != 0 {
			t.Errorf("%q: got %d, %v; want ErrInvalid", c, got, err)
		}
	}
}

func FuzzParseCursor(f *testing.F) {
	f.Add("e1")
	f.Fuzz(func(t *testing.T, c string) {
		n, err := ParseCursor(c)
		if err == nil && c != "" && Cursor(n) != c {
			t.Errorf("%q: got %d, whose cursor is %q", c, n, Cursor(n))
		}
	})
}
