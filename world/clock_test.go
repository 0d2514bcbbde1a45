package world

import (
	"testing"
	"time"
)

func TestClockNeverGoesBack(t *testing.T) {
	var c Clock
	now := time.Now()
	first, _ := c.Now(now)
	if got, _ := c.Now(now.Add(-time.Hour)); got.Before(first) {
		t.Errorf("after a step back the clock says %s, before %s", got, first)
	}
	if got, _ := c.Now(now.Add(time.Second)); !got.Equal(first.Add(time.Second)) {
		t.Errorf("a second later it says %s, want %s", got, first.Add(time.Second))
	}
}

// TestClockGoesOnWhereTheSystemsIsSetBack: an hour back, and a minute later: a minute has passed.
func TestClockGoesOnWhereTheSystemsIsSetBack(t *testing.T) {
	system := time.Now()
	c := Clock{last: system.Add(time.Hour).UTC().Truncate(time.Microsecond), read: system} // it was read an hour ahead, just now
	before := c.last
	want := before.Add(time.Minute)
	if got, _ := c.Now(system.Add(time.Minute)); !got.Equal(want) {
		t.Errorf("a minute after the step it says %s, want %s", got, want)
	}
	caught := time.Now().Add(3 * time.Hour).Round(0) // another system, far ahead: its own word counts
	want = caught.UTC().Truncate(time.Microsecond)
	if got, _ := c.Now(caught); !got.Equal(want) {
		t.Errorf("when the system has caught up it says %s, want %s", got, want)
	}
}
