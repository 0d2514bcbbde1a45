package server

// This file is the circuit of an endpoint: it opens after failures in a row, so that an endpoint that is away is not asked at the rate of the work that waits for it.

import (
	"math/rand/v2"
	"time"
)

// circuitState says what is sent.
type circuitState string

const (
	circuitClosed circuitState = "closed"    // all
	circuitOpen   circuitState = "open"      // nothing; from a time on it is asked how it is
	circuitHalf   circuitState = "half-open" // it says that it is well: one message at a time, until one has an answer
)

// longestReset is how long a circuit is open at most before the endpoint is asked again.
const longestReset = 5 * time.Minute

// circuit belongs to its endpoint, under whose lock it is.
type circuit struct {
	most  int           // failures in a row that open it
	reset time.Duration // for which it is open at first

	state    circuitState
	failures int       // in a row
	opened   int       // times in a row
	until    time.Time // open: when it is asked how it is
}

// failure notes that something failed.
func (c *circuit) failure(now time.Time) {
	c.failures++
	if c.state == circuitOpen && now.Before(c.until) {
		return // of what was under way
	}
	if c.state == circuitHalf || c.state == circuitOpen || c.failures >= c.most {
		d := min(c.reset<<min(c.opened, 16), longestReset)
		c.state, c.until = circuitOpen, now.Add(d-rand.N(d/4+1))
		c.opened++
	}
}

// well notes that the endpoint says that it is well.
func (c *circuit) well() {
	if c.state == circuitOpen {
		c.state = circuitHalf
	}
}

// success notes an answer, and reports whether that has closed the circuit. What was under way when it opened does not.
func (c *circuit) success() (closed bool) {
	if c.state == circuitOpen {
		return false
	}
	closed = c.state == circuitHalf
	c.state, c.failures, c.opened = circuitClosed, 0, 0
	return closed
}

// wait is how long an open circuit is left alone still; 0: it may be asked.
func (c *circuit) wait(now time.Time) time.Duration {
	if c.state != circuitOpen {
		return 0
	}
	return max(c.until.Sub(now), 0)
}
