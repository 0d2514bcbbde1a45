package rules

import (
	"slices"
	"testing"
	"time"
)

func TestNeglect(t *testing.T) {
	var n Neglect
	start := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	look := func(at time.Duration, steps, due []string, next time.Duration) {
		t.Helper()
		got, again := n.Look(steps, start.Add(at), 10*time.Second)
		if !slices.Equal(got, due) || again != next {
			t.Errorf("after %s: got %q and %s, want %q and %s", at, got, again, due, next)
		}
	}
	look(0, nil, nil, 0)
	look(0, []string{"a"}, nil, 10*time.Second)
	look(4*time.Second, []string{"a", "b"}, nil, 6*time.Second)
	look(10*time.Second, []string{"a", "b"}, []string{"a"}, 4*time.Second)
	look(11*time.Second, []string{"a"}, []string{"a"}, 0) // b has a worker again
	look(20*time.Second, []string{"a", "b"}, []string{"a"}, 10*time.Second)
	look(15*time.Second, []string{"a", "b"}, []string{"a"}, 10*time.Second) // the clock went back
	look(25*time.Second, []string{"a", "b"}, []string{"a", "b"}, 0)
	look(26*time.Second, nil, nil, 0)
	look(27*time.Second, []string{"a"}, nil, 10*time.Second)
}
