package rules

import (
	"math"
	"time"

	"github.com/stepwell/stepwell/world"
)

// Rates: how many runs may begin in a period. A key keeps one time: when the last that has begun had its turn, and so
// when the next has (the generic cell rate algorithm, GCRA). Nothing is counted, and nothing else is to be forgotten.
// Who is let in holds a place until a worker takes him, which may be late: he pays then, and no more are let in
// meanwhile than might begin at once beside him.

const (
	// RateSlack is how much lateness of wake-ups a rate makes up for while runs wait.
	RateSlack = 250 * time.Millisecond
	// rateStep is the least time between two wake-ups of a key; those of a faster rate let in several.
	rateStep = 5 * time.Millisecond
)

// Rate is how often something may begin. Times are nanoseconds of the store's clock.
type Rate struct {
	Number int // begins in a period; 0: never
	Per    time.Duration
	Burst  int // begins at one moment; 0: one
}

// RateOf returns the rate of a place.
func RateOf(p *world.Place) Rate { return Rate{Number: p.Number, Per: p.Per, Burst: p.Burst} }

// Gap returns the time between two begins; 0: nothing may begin. It is at least 1 ns, also of a
// damaged row.
func (r *Rate) Gap() int64 {
	if r.Number <= 0 {
		return 0
	}
	return max(int64(r.Per)/int64(r.Number), 1)
}

// counted is the rate by which begins count. At 0 nobody is let in, but who was let in before may
// begin: they count as at one burst in a period.
func (r Rate) counted() Rate {
	if r.Number <= 0 {
		r.Number = max(r.Burst, 1)
	}
	return r
}

// ahead is how long before the others of a burst the first has its turn.
func (r *Rate) ahead() int64 { return int64(max(min(r.Burst, r.Number), 1)-1) * r.Gap() }

// base is the turn of the next. What was nobody's turn is kept for a burst, and no longer; where somebody has waited
// since one was let in (late), also what was late.
func (r *Rate) base(turn, now int64, late bool) int64 {
	least := now - r.ahead()
	if late {
		least -= int64(RateSlack)
	}
	return max(turn, least)
}

// Room returns how many may begin now.
func (r *Rate) Room(turn, now int64, late bool) int {
	if r.Number <= 0 {
		return 0
	}
	if base := r.base(turn, now, late); base <= now {
		return int((now-base)/r.Gap()) + 1
	}
	return 0
}

// Free returns how many more may be let in now, if used were let in and have not begun.
func (r *Rate) Free(turn, now int64, late bool, used int) int {
	return max(r.Room(turn, now, late)-max(used, 0), 0)
}

// Pay returns the turn of the next after n have begun.
func (r *Rate) Pay(turn, now int64, late bool, n int) int64 {
	if n <= 0 {
		return turn
	}
	c := r.counted()
	return c.base(turn, now, late) + int64(n)*c.Gap()
}

// Turn returns when a run with before others ahead is let in; [math.MaxInt64]: never.
func (r *Rate) Turn(turn, now int64, before int) int64 {
	first, gap := max(now, turn), r.Gap()
	if gap > 0 && int64(before) > (math.MaxInt64-first)/gap {
		return math.MaxInt64
	}
	return first + int64(before)*gap
}

// At returns [Rate.Turn] as a time; zero: never, or not a rate.
func (r *Rate) At(turn int64, now time.Time, before int) time.Time {
	if r.Per <= 0 || r.Number <= 0 {
		return time.Time{}
	}
	at := r.Turn(turn, now.UnixNano(), before)
	if at == math.MaxInt64 {
		return time.Time{}
	}
	return time.Unix(0, at).UTC()
}

// Next returns when to look at a line. For a fast rate that is less often than each run.
func (r *Rate) Next(turn int64) int64 {
	if r.Gap() < int64(rateStep) {
		turn += int64(rateStep)
	}
	return turn
}

// Retimed converts the turns of keys after a change of their rate: begins fill the same part of a
// burst as before. So waiting runs come as soon as the new rate permits, and in any span of time no
// more begin than a burst and what each rate permits. If the burst shrinks, the excess is
// forgotten, so no run waits longer than one turn for it.
type Retimed struct {
	Was   int64   // begins before this do not count
	Is    int64   // the same by the new rate
	Most  int64   // the latest turn
	Share float64 // ratio of the new rate's time to the old one's
}

// LimitRate returns the current rate of a limit.
func LimitRate(l *world.Limit) Rate { return Rate{Number: l.Number(), Per: l.Per, Burst: l.Burst} }

// Retime returns the conversion between two rates; changed is false if they are equal. A rate of 0
// counts as one burst in its period.
func Retime(was, is Rate, now int64) (t Retimed, changed bool) {
	if was == is || was.Per <= 0 || is.Per <= 0 {
		return t, false
	}
	was, is = was.counted(), is.counted()
	return Retimed{Was: now - was.ahead(), Is: now - is.ahead(), Most: is.ahead() + is.Gap(), Share: float64(is.Gap()) / float64(was.Gap())}, true
}

// Turn converts one turn.
func (t *Retimed) Turn(turn int64) int64 {
	if turn <= t.Was {
		return t.Is - (t.Was - turn)
	}
	return t.Is + int64(min(math.Ceil(float64(turn-t.Was)*t.Share), float64(t.Most)))
}

// Again returns when to look at a key, in µs: if runs wait and all that were let in have not begun,
// when it lets in the next; else, and while its number is 0, when it may be forgotten; 0: not
// before that changes.
func (r *Rate) Again(turn, now int64, standing, late bool, used int) int64 {
	switch {
	case !standing || r.Number <= 0: // nobody is to be let in
		if turn = r.Idle(turn); turn <= now {
			return 0
		}
	case r.Free(turn, now, late, used) > 0:
		turn = now
	case used > 0 && r.Free(0, now, late, used) <= 0: // not by time alone
		return 0
	default:
		turn = r.Next(turn + int64(max(used, 0))*r.Gap())
	}
	return (turn + 999) / 1000
}

// Idle returns when the key's past no longer matters.
func (r *Rate) Idle(turn int64) int64 {
	c := r.counted()
	return turn + c.ahead()
}
