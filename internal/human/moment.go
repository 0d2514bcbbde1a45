package human

import (
	"fmt"
	"math"
	"time"
)

// Moment is a time as a person near now names it, in now's time zone: "09:14:30" on the same day, "Fri 27 Nov 09:12" in the same
// year or within half a year, else "Fri 27 Nov 2026 09:12".
func Moment(t, now time.Time) string {
	t = t.In(now.Location())
	y, m, d := t.Date()
	ny, nm, nd := now.Date()
	switch away := t.Sub(now).Abs(); {
	case y == ny && m == nm && d == nd:
		return t.Format("15:04:05")
	case y == ny || away < 183*24*time.Hour:
		return t.Format("Mon 2 Jan 15:04")
	default:
		return t.Format("Mon 2 Jan 2006 15:04")
	}
}

// Relative is a time as seen from now: "in 4 d 19 h", "2 m 3 s ago", "now"; what is too far for a [time.Duration] in years alone.
func Relative(t, now time.Time) string {
	switch d := t.Sub(now); {
	case d == math.MaxInt64:
		return fmt.Sprintf("in %d y", t.Year()-now.Year())
	case d == math.MinInt64:
		return fmt.Sprintf("%d y ago", now.Year()-t.Year())
	case d >= time.Millisecond:
		return "in " + Span(d)
	case d <= -time.Millisecond:
		return Span(d) + " ago"
	default:
		return "now"
	}
}

// When is a time both ways: "Fri 27 Nov 09:12 (in 4 d 19 h)".
func When(t, now time.Time) string { return Moment(t, now) + " (" + Relative(t, now) + ")" }
