package world

import "time"

// leastStep is from when a difference between the system's clock and the monotonic one is a step: less is how they run beside each other.
const leastStep = 100 * time.Millisecond

// Clock is a store's clock, based on the system's. It never goes back. If the system's clock is set
// back, it continues at the pace of the monotonic clock until the system's has caught up, so no
// sleep and no lease gets longer. The zero Clock is ready to use. It is not safe for concurrent
// use.
type Clock struct {
	last time.Time // what it said last
	read time.Time // when, with a monotonic reading
}

// Now returns the time, in microseconds, UTC. system is time.Now(), with its monotonic reading. If
// the system's clock was set forward since the last call, or the machine slept, stepped is by how
// much: prolong by it what must last a fixed time, such as leases.
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
