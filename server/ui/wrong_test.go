package ui

import (
	"testing"
	"time"
)

// TestWrongKeysWait: each wrong key makes the next one of its address wait longer, up to a bound; a right one ends that.
func TestWrongKeysWait(t *testing.T) {
	var k wrongKeys
	now := time.Unix(1e9, 0)
	var waits []time.Duration
	for range 12 {
		k.note("a", false, now)
		d := k.wait("a", now)
		waits = append(waits, d)
		now = now.Add(d)
	}
	want := []time.Duration{0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 30, 30}
	for i := range want {
		if waits[i] != want[i]*time.Second {
			t.Errorf("after %d wrong keys: wait %s, want %d s", i+1, waits[i], want[i])
		}
	}
	if d := k.wait("b", now); d != 0 {
		t.Errorf("another address waits %s", d)
	}
	k.note("a", true, now)
	if k.note("a", false, now); k.wait("a", now) != 0 {
		t.Error("a right key does not end the wait")
	}
	for i := range 2 * mostWrongs {
		k.note(time.Duration(i).String(), false, now)
	}
	if len(k.by) > mostWrongs {
		t.Errorf("%d addresses are remembered, want %d", len(k.by), mostWrongs)
	}
}
