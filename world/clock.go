package world

import "time"

// leastStep is from when a difference between the system's clock and the monotonic one is a step: less is how they run beside each other.
const leastStep = 100 * time.Millisecond

// Clock is a world's clock where it has no other than its process's: the system's, but for two things. It never goes back. And where the system's clock was
// set back it goes on from where it was, at the pace of the monotonic clock, until the system's has caught up: so no sleep and no lease gets longer. The zero
// Clock is ready to use; it is not safe for concurrent use.
type Clock struct {
	last time.Time // what it said last
	read time.Time // when, with a monotonic reading
}

// Now is the time, in microseconds, UTC. system is what the system's clock says, with its monotonic reading: time.Now(). Where the system's clock was set
// forward since the call before, or the machine slept, stepped is by how much. What is to last for a time whatever the clock says, as a lease, is to be
// prolonged by that.
func (c *Clock) Now(system time.Time) (now time.Time, stepped time.Duration) {
	t := system.UTC().Truncate(time.Microsecond) // without the monotonic reading
	if !c.read.IsZero() {
		steady := c.last.Add(system.Sub(c.read)).Truncate(time.Microsecond)
		if t.Before(c.last) {
			t = steady
		}
		if stepped = t.Sub(steady); stepped < leastStep {
			stepped = 0
		}
	}
	if t.After(c.last) {
		c.last, c.read = t, system
	}
	return c.last, stepped
}
