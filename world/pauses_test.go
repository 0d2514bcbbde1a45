package world

import "testing"

// TestPauses: a cancel ends a pause, and so does a segment that needs but a part of what was before.
func TestPauses(t *testing.T) {
	for _, test := range []struct {
		e            Event
		paused, says bool
	}{
		{Event{Type: RunPaused}, true, true},
		{Event{Type: RunResumed}, false, true},
		{Event{Type: CancelRequested}, false, true},
		{Event{Type: RunContinued, Next: &Continuation{Base: &Base{}}}, false, true},
		{Event{Type: RunContinued, Next: &Continuation{}}, false, false},
		{Event{Type: RunContinued}, false, false},
		{Event{Type: RunStarted}, false, false},
	} {
		if paused, says := test.e.Pauses(); paused != test.paused || says != test.says {
			t.Errorf("%+v: got %t, %t, want %t, %t", test.e, paused, says, test.paused, test.says)
		}
	}
}
