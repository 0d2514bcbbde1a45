package engine

import (
	"math"
	"testing"
	"time"
)

// TestDelaysDoNotOverflow: a delay that doubles beyond what a duration holds is the longest, not one below zero, which is none at all.
func TestDelaysDoNotOverflow(t *testing.T) {
	for _, how := range []Backoff{Fixed, Linear, Exponential} {
		for _, base := range []time.Duration{1, time.Hour, math.MaxInt64/2 + 1, math.MaxInt64} {
			p := Policy{Backoff: how, Base: base, Cap: math.MaxInt64}
			for n, last := 1, time.Duration(0); n < 100; n++ {
				if d := p.delay(n); d < last {
					t.Fatalf("%s from %s: %s after failure %d, %s before", how, base, d, n, last)
				} else {
					last = d
				}
			}
		}
	}
}
