package world

import "time"

// Clock is a world's clock: the system's, but for two things. It never goes back. And where the system's clock was set back it goes on from
// where it was, at the pace of the monotonic clock, until the system's has caught up: so no sleep and no lease gets longer. The zero Clock is ready to use;
// it is not safe for concurrent use.
type Clock struct {
	last time.Time // what it said last
	read time.Time // when, with a monotonic reading
}

// Now is the time, in microseconds, UTC. system is what the system's clock says, with its monotonic reading: time.Now().
func (c *Clock) Now(system time.Time) time.Time {
	t := system.UTC().Truncate(time.Microsecond) // without the monotonic reading
	if !c.read.IsZero() && t.Before(c.last) {
		t = c.last.Add(system.Sub(c.read)).Truncate(time.Microsecond)
	}
	if t.After(c.last) {
		c.last, c.read = t, system
	}
	return c.last
}
