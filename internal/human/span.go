// Package human writes times, durations and payloads as people read them: relative beside absolute, rounded, folded. The command line and
// the answer to why a run does not move share it, so that they use the same words.
package human

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// Span is a duration in at most two units, rounded: "38 ms", "1.2 s", "5 m", "2 d 4 h". Negative ones are as long as positive ones.
func Span(d time.Duration) string {
	if d < 0 {
		d = -max(d, -math.MaxInt64)
	}
	switch {
	case d == 0:
		return "0 s"
	case d < time.Millisecond:
		return "under 1 ms"
	case d < 999500*time.Microsecond:
		return fmt.Sprintf("%d ms", (d+time.Millisecond/2)/time.Millisecond)
	case d < 9950*time.Millisecond:
		return fmt.Sprintf("%.2g s", d.Seconds())
	case d < 59500*time.Millisecond:
		return fmt.Sprintf("%d s", (d+time.Second/2)/time.Second)
	}
	switch d = d.Round(time.Second); {
	case d < time.Hour:
		return two(d, time.Minute, "m", time.Second, "s")
	}
	switch d = d.Round(time.Minute); {
	case d < 24*time.Hour:
		return two(d, time.Hour, "h", time.Minute, "m")
	}
	switch d = d.Round(time.Hour); {
	case d < 365*24*time.Hour:
		return two(d, 24*time.Hour, "d", time.Hour, "h")
	default:
		return two(d, 365*24*time.Hour, "y", 24*time.Hour, "d")
	}
}

// two writes a duration in a unit and a smaller one, which is left out where it is nothing.
func two(d, big time.Duration, bigName string, small time.Duration, smallName string) string {
	s := fmt.Sprintf("%d %s", d/big, bigName)
	if rest := d % big / small; rest > 0 {
		s += fmt.Sprintf(" %d %s", rest, smallName)
	}
	return s
}

// Age is a duration in one unit, for tables: "38 ms", "4 s", "2 d".
func Age(d time.Duration) string {
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{365 * 24 * time.Hour, "y"}, {24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}} {
		if d >= u.unit {
			return fmt.Sprintf("%d %s", d/u.unit, u.name)
		}
	}
	return Span(max(d, 0))
}

// SpanText writes a duration as [ParseSpan] reads it, exactly: "90s", "36h", "7d".
func SpanText(d time.Duration) string {
	const day = 24 * time.Hour
	for _, unit := range []struct {
		d    time.Duration
		name string
	}{{day, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}} {
		if d%unit.d == 0 && d != 0 {
			return strconv.FormatInt(int64(d/unit.d), 10) + unit.name
		}
	}
	return d.String()
}
