package clocktest

import (
	"testing"
	"testing/synctest"
	"time"
)

// The wall clock steps, and the monotonic one does not.
func TestClockSteps(t *testing.T) {
	clockSteps(t)
	synctest.Test(t, clockSteps)
}

func clockSteps(t *testing.T) {
	for _, step := range []time.Duration{time.Hour, -time.Hour, 0} {
		var c Clock
		before := c.Now()
		c.Step(step)
		<-time.After(time.Millisecond)
		after := c.Now()
		if d := after.Round(0).Sub(before.Round(0)); d < step || d > step+time.Minute {
			t.Errorf("a step of %s moved the wall clock by %s", step, d)
		}
		if d := after.Sub(before); d < time.Millisecond || d > time.Minute {
			t.Errorf("a step of %s moved the monotonic clock by %s", step, d)
		}
	}
}
