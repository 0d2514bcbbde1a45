package world

import (
	"testing"
	"time"
)

func TestClockNeverGoesBack(t *testing.T) {
	var c Clock
	now := time.Now()
	first := c.Now(now)
	if got := c.Now(now.Add(-time.Hour)); got.Before(first) {
		t.Errorf("after a step back the clock says %s, before %s", got, first)
	}
	if got, want := c.Now(now.Add(time.Second)), first.Add(time.Second); !got.Equal(want) {
		t.Errorf("a second later it says %s, want %s", got, want)
	}
}

// TestClockGoesOnWhereTheSystemsIsSetBack: an hour back, and a minute later: a minute has passed.
func TestClockGoesOnWhereTheSystemsIsSetBack(t *testing.T) {
	system := time.Now()
	c := Clock{last: system.Add(time.Hour).UTC().Truncate(time.Microsecond), read: system} // it was read an hour ahead, just now
	before := c.last
	if got, want := c.Now(system.Add(time.Minute)), before.Add(time.Minute); !got.Equal(want) {
		t.Errorf("a minute after the step it says %s, want %s", got, want)
	}
	caught := time.Now().Add(3 * time.Hour).Round(0) // another system, far ahead: its own word counts
	if got, want := c.Now(caught), caught.UTC().Truncate(time.Microsecond); !got.Equal(want) {
		t.Errorf("when the system has caught up it says %s, want %s", got, want)
	}
}
