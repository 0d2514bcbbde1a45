package human

// This file reads durations as people and the API write them.

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

var errSpan = errors.New("write it like 90s, 5m, 2h or 7d")

// ParseSpan reads a duration: 90s, 5m, 36h, 7d, 1d12h, 250ms. It is not negative.
func ParseSpan(text string) (time.Duration, error) {
	days, rest, found := strings.Cut(text, "d")
	var d time.Duration
	if found {
		n, err := strconv.ParseUint(days, 10, 32)
		if err != nil || n > math.MaxInt64/uint64(24*time.Hour) {
			return 0, errSpan
		}
		d = time.Duration(n) * 24 * time.Hour
		if rest == "" {
			return d, nil
		}
	} else {
		rest = text
	}
	more, err := time.ParseDuration(rest)
	if err != nil || strings.ContainsAny(rest, "+-") || d+more < 0 {
		return 0, errSpan
	}
	return d + more, nil
}

// MomentForms says how people write a time.
const MomentForms = "2026-11-27T09:12:00Z, 2026-11-27 09:12, 2026-11-27, or that long ago: 90s, 5m, 2h, 7d"

var errMoment = errors.New("write it like " + MomentForms)

// ParseMoment reads a time as people write it: see [MomentForms]. What has no zone is in the one that is given.
func ParseMoment(text string, now time.Time, zone *time.Location) (time.Time, error) {
	if d, err := ParseSpan(text); err == nil {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, zone); err == nil {
			return t, nil
		}
	}
	return time.Time{}, errMoment
}
