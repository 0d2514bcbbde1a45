package rules

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stepwell/stepwell/world"
)

// TestTurnLaterThanTimesGo: who stands far back in a slow line has no turn, and none before those before him.
func TestTurnLaterThanTimesGo(t *testing.T) {
	rate := Rate{Number: 1, Per: world.MaxPeriod}
	now := time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC)
	if at, want := rate.At(now.UnixNano(), now, 234), now.Add(234*world.MaxPeriod); !at.Equal(want) {
		t.Errorf("with 234 before him: %s, want %s", at, want)
	}
	for _, before := range []int{236, 1000, 1 << 40} {
		if at := rate.At(now.UnixNano(), now, before); !at.IsZero() {
			t.Errorf("with %d before him: %s, want no time", before, at)
		}
	}
}

// TestRate: whatever comes when, in no span of time more is let in than its share, a burst, and what was late.
func TestRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := Rate{Number: rapid.IntRange(1, 10_000).Draw(t, "number"), Per: time.Duration(rapid.Int64Range(int64(10*time.Millisecond), int64(time.Hour)).Draw(t, "per"))}
		r.Burst = rapid.IntRange(0, min(r.Number, 50)).Draw(t, "burst")
		type step struct {
			at int64
			n  int
		}
		var steps []step
		now, turn := int64(1e18), int64(0)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now += rapid.Int64Range(0, 3*r.Gap()).Draw(t, "passes")
			late := rapid.Bool().Draw(t, "late")
			n := min(r.Room(turn, now, late), rapid.IntRange(0, 300).Draw(t, "come"))
			if turned := r.Turn(turn, now, 0); !late && (r.Room(turn, now, false) > 0) != (turned <= now) {
				t.Fatalf("there is room for %d, and the turn of the next is in %d", r.Room(turn, now, false), turned-now)
			}
			turn = r.Pay(turn, now, late, n)
			steps = append(steps, step{now, n})
		}
		for i := range steps {
			sum := 0
			for _, s := range steps[i:] {
				sum += s.n
				span := s.at - steps[i].at
				if most := (span+r.ahead()+int64(RateSlack))/r.Gap() + 1; int64(sum) > most {
					t.Fatalf("%d in %s: want %d at most", sum, time.Duration(span), most)
				}
			}
		}
	})
}

// TestRetime: a rate that is changed at any time, to any other, lets in no more than a burst in any span, and what each
// rate lets in while it holds; and who waits comes when the new one lets him in.
func TestRetime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func() Rate {
			r := Rate{Number: rapid.IntRange(0, 1000).Draw(t, "number"), Per: time.Duration(rapid.Int64Range(int64(10*time.Millisecond), int64(time.Hour)).Draw(t, "per"))}
			r.Burst = rapid.IntRange(0, min(r.Number, 20)).Draw(t, "burst")
			return r
		}
		// counts is as what a rate counts.
		counts := func(r Rate) Rate {
			if r.Number == 0 {
				r.Number = max(r.Burst, 1)
			}
			return r
		}
		type step struct {
			at   int64
			n    int
			rate Rate
		}
		var steps []step
		r, now, turn := draw(), int64(1e18), int64(0)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			now += rapid.Int64Range(0, 3*max(r.Gap(), 1)).Draw(t, "passes")
			if rapid.IntRange(0, 3).Draw(t, "changes") == 0 {
				was := r
				if r = draw(); rapid.Bool().Draw(t, "by an operator") {
					r.Per, r.Burst = was.Per, was.Burst
				}
				if c, changed := Retime(was, r, now); changed {
					turn = c.Turn(turn)
				}
				if is := counts(r); turn > now+is.Gap()+1 {
					t.Fatalf("changed from %+v to %+v: the turn of the next is in %d, want %d at most", was, r, turn-now, is.Gap())
				}
			}
			n := min(r.Room(turn, now, false), rapid.IntRange(0, 50).Draw(t, "come"))
			turn = r.Pay(turn, now, false, n)
			steps = append(steps, step{now, n, r})
		}
		for i := range steps {
			// A burst that is made smaller is forgotten: the next is not to wait for longer than one by one.
			sum, may, most := 0, 0.0, 0
			for j, s := range steps[i:] {
				if j > 0 {
					before := counts(steps[i+j-1].rate)
					may += float64(s.at-steps[i+j-1].at) / float64(before.Gap())
				}
				is := counts(s.rate)
				capacity := min(max(is.Burst, 1), is.Number)
				if capacity < most {
					break
				}
				most = capacity
				if sum += s.n; float64(sum) > may+float64(most)+1e-6 {
					t.Fatalf("%d from step %d to %d, want %f and a burst of %d at most: %+v", sum, i, i+j, may, most, steps)
				}
			}
		}
	})
}

// TestLetIn: whoever is let in may begin late, and still no more begin in any span of time than the rate, a burst, and
// what is late make; and who stands in line is always let in again.
func TestLetIn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := Rate{Number: rapid.IntRange(1, 1000).Draw(t, "number"), Per: time.Duration(rapid.Int64Range(int64(10*time.Millisecond), int64(time.Hour)).Draw(t, "per"))}
		r.Burst = rapid.IntRange(0, min(r.Number, 20)).Draw(t, "burst")
		type step struct {
			at int64
			n  int
		}
		var steps []step
		now, turn, used, late := int64(1e18), int64(0), 0, false
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now += rapid.Int64Range(0, 3*r.Gap()).Draw(t, "passes")
			n := rapid.IntRange(0, used).Draw(t, "begin")
			turn, used, late = r.Pay(turn, now, late, n), used-n, late || n > 0
			steps = append(steps, step{now, n})
			used += min(r.Free(turn, now, late, used), rapid.IntRange(0, 50).Draw(t, "let in"))
			standing := rapid.Bool().Draw(t, "standing")
			late = late && standing
			if standing && used == 0 && r.Again(turn, now, true, late, 0) == 0 {
				t.Fatalf("nobody is let in any more: %+v, turn %d", r, turn-now)
			}
		}
		for i := range steps {
			sum := 0
			for _, s := range steps[i:] {
				sum += s.n
				if most := (s.at-steps[i].at+r.ahead()+2*int64(RateSlack))/r.Gap() + 1; int64(sum) > most {
					t.Fatalf("%d in %s: want %d at most", sum, time.Duration(s.at-steps[i].at), most)
				}
			}
		}
	})
}
