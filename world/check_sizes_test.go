package world_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
)

// Limits that no configuration can have are refused, and those of an event that begins no segment.
func TestCheckCommitOfLimits(t *testing.T) {
	t.Parallel()
	next := &world.Continuation{}
	for _, test := range []struct {
		event world.Event
		want  error
	}{
		{world.Event{Type: world.RunStarted, MaxPayload: 1, MaxValue: 1}, nil},
		{world.Event{Type: world.RunStarted, MaxPayload: world.MaxCommit / 4, MaxValue: world.MaxApart}, nil},
		{world.Event{Type: world.RunContinued, Next: next, MaxValue: 1}, nil},
		{world.Event{Type: world.RunStarted, MaxPayload: world.MaxCommit/4 + 1}, world.ErrInvalid},
		{world.Event{Type: world.RunStarted, MaxValue: world.MaxApart + 1}, world.ErrInvalid},
		{world.Event{Type: world.RunStarted, MaxPayload: -1}, world.ErrInvalid},
		{world.Event{Type: world.RunContinued, Next: next, MaxValue: -1}, world.ErrInvalid},
		{world.Event{Type: world.RunPaused, MaxPayload: 1}, world.ErrInvalid},
		{world.Event{Type: world.StepStarted, ID: "step_1", MaxValue: 1}, world.ErrInvalid},
	} {
		test.event.Time = time.Unix(1, 0).UTC()
		c := &world.Commit{Run: "run", Worker: "wrkr_1", Claim: 1, First: 2, Events: []world.Event{test.event}}
		if err := world.CheckCommit(c); !errors.Is(err, test.want) {
			t.Errorf("%s with %d and %d bytes: %v, want %v", test.event.Type, test.event.MaxPayload, test.event.MaxValue, err, test.want)
		}
	}
}
