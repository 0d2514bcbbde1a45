package postgres

// The clock. The time is the database's: what it said last, and how long that is ago by this process's monotonic clock. The process's wall clock has no part in it,
// so that its steps, in either direction, delay nothing, wake nothing early and end no lease; doctor tells how far it is off.

import (
	"sync"
	"time"
)

// mostBack is how far the database's clock may be behind what was said here for this World's to stand still until it has caught up. Where it is further
// behind, it was set back, or it is another server's by now: what is due goes by it, and so does this World.
const mostBack = time.Second

// clock tells the database's time between two answers of it. The zero value is ready to use; it is safe for concurrent use.
type clock struct {
	system func() time.Time // this process's, with its monotonic reading

	mu    sync.Mutex
	read  time.Time     // when the first answer came; nothing but its monotonic reading counts
	said  time.Time     // what the database said then, as later answers have it
	last  time.Time     // what was said here last
	ahead time.Duration // of the database's clock to the process's wall clock, at the last answer

	stepped time.Time     // what the database's clock said when it was last seen to have been set forward; zero: it was not
	by      time.Duration // how far

	behind time.Duration // how far it is back from where it was before it was set back
	since  time.Time     // when it was seen to have been set back last, by this process's clock
}

// now is the database's time, about: never ahead of what it says later. Stamps are taken from it; what is due is decided in the database.
func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.read.IsZero() { // nothing was asked yet
		return c.system().UTC().Truncate(time.Microsecond)
	}
	return c.tellLocked(c.said.Add(c.system().Sub(c.read)))
}

func (c *clock) tellLocked(t time.Time) time.Time {
	t = t.UTC().Truncate(time.Microsecond)
	if back := c.last.Sub(t); back <= 0 || back > mostBack {
		c.last = t
	}
	return c.last
}

// measure notes what the database said the time is, in an answer that was asked for at a time. It is the least that the answer allows for.
func (c *clock) measure(sent, now time.Time) {
	trip := time.Since(sent)
	c.mu.Lock()
	defer c.mu.Unlock()
	system := c.system()
	c.ahead = now.Sub(system.Round(0))
	if c.read.IsZero() {
		c.read, c.said = system, now
		return
	}
	said := now.Add(-system.Sub(c.read))
	d := said.Sub(c.said)
	if d > mostBack {
		c.stepped, c.by = now, d
		c.behind = max(c.behind-d, 0)
	} else if d < -mostBack {
		c.behind, c.since = c.behind-d, system
	}
	if d > 0 || d < -trip-time.Millisecond { // the trip explains the rest
		c.said = said
	}
}

// mayComeBack reports whether the database's clock was set back and has not caught up: it may be set
// right at any moment, and what is due then is due at once.
func (c *clock) mayComeBack() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.behind > mostBack && c.system().Sub(c.since) < c.behind
}

// limits tell when a lease is over that the database's clock says is over: a step of that clock ends none. It is over by all that is known here too, which is nil
// where nothing is; and one that would have ended before the last step forward ends that much later.
func (c *clock) limits() (known, stepped *time.Time, by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.read.IsZero() {
		return nil, nil, 0
	}
	now := c.said.Add(c.system().Sub(c.read) + mostBack)
	if c.stepped.IsZero() {
		return &now, nil, 0
	}
	at := c.stepped
	return &now, &at, c.by
}

// skew is how far the database's clock was ahead of this process's wall clock at the last answer.
func (c *clock) skew() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ahead
}
