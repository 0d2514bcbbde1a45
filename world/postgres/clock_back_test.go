package postgres

import (
	"testing"
	"time"
)

// TestAClockThatWasSetBackIsLookedAt: while the database's clock is back a worker looks for work as
// often as one that hears nothing. It may be set right at any moment, and nobody tells of that.
func TestAClockThatWasSetBackIsLookedAt(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		off  []time.Duration // of the database's clock, minute by minute
		want []bool
	}{
		"right":            {[]time.Duration{0, 0, 0}, []bool{false, false, false}},
		"set back":         {[]time.Duration{0, -10 * time.Minute, -10 * time.Minute, 0, 0}, []bool{false, true, true, false, false}},
		"back, and more":   {[]time.Duration{0, -time.Hour, -2 * time.Hour, -time.Hour, 0}, []bool{false, true, true, true, false}},
		"set forward":      {[]time.Duration{0, time.Hour, time.Hour}, []bool{false, false, false}},
		"ahead, and right": {[]time.Duration{3 * time.Minute, 0, 0, 0, 0}, []bool{false, true, true, true, false}},
	} {
		var now time.Time
		k := clock{system: func() time.Time { return now }}
		for i, off := range c.off {
			now = begin.Add(time.Duration(i) * time.Minute)
			k.measure(time.Now(), now.Add(off))
			if got := k.mayComeBack(); got != c.want[i] {
				t.Errorf("%s: minute %d: may come back: %v, want %v", name, i, got, c.want[i])
			}
		}
	}
}
