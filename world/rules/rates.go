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
	// RateSlack is what a rate makes up for that was late while somebody waited: wake-ups are.
	RateSlack = 250 * time.Millisecond
	// rateStep is the least time between two wake-ups of a key; those of a faster rate let in several.
	rateStep = 5 * time.Millisecond
)

// Rate is how often something may begin. Times are nanoseconds of the world's clock.
type Rate struct {
	Number int // in a period; 0: never
	Per    time.Duration
	Burst  int // how many at one moment; 0: one
}

// RateOf is the rate of a place.
func RateOf(p *world.Place) Rate { return Rate{Number: p.Number, Per: p.Per, Burst: p.Burst} }

// Gap is the time between two.
func (r *Rate) Gap() int64 {
	if r.Number <= 0 {
		return 0
	}
	return int64(r.Per) / int64(r.Number)
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

// Room is how many may begin now.
func (r *Rate) Room(turn, now int64, late bool) int {
	if r.Number <= 0 {
		return 0
	}
	if base := r.base(turn, now, late); base <= now {
		return int((now-base)/r.Gap()) + 1
	}
	return 0
}

// Free is how many more may be let in now, where so many (used) are that have not begun.
func (r *Rate) Free(turn, now int64, late bool, used int) int {
	return max(r.Room(turn, now, late)-max(used, 0), 0)
}

// Pay is the turn of the next after n have begun.
func (r *Rate) Pay(turn, now int64, late bool, n int) int64 {
	if n <= 0 || r.Number <= 0 {
		return turn
	}
	return r.base(turn, now, late) + int64(n)*r.Gap()
}

// Turn is when one is let in who has so many before him. [math.MaxInt64]: later than times go.
func (r *Rate) Turn(turn, now int64, before int) int64 {
	first, gap := max(now, turn), r.Gap()
	if gap > 0 && int64(before) > (math.MaxInt64-first)/gap {
		return math.MaxInt64
	}
	return first + int64(before)*gap
}

// At is [Rate.Turn] as a time; zero: never, later than times go, or it is no rate.
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

// Next is when a line is to be looked at. A fast one is not looked at for each of its runs.
func (r *Rate) Next(turn int64) int64 {
	if r.Gap() < int64(rateStep) {
		turn += int64(rateStep)
	}
	return turn
}

// Retimed is what becomes of the turns of keys where their rate is another from now on: what was let in fills as much
// of a burst as it did. So those in line come as soon as the new rate lets them in, and in any span of time there begin
// no more than a burst, and what each rate lets in while it holds; but of a burst that is made smaller the rest is
// forgotten: nobody waits for longer than one has its turn behind another.
type Retimed struct {
	Was   int64   // before this nothing was let in that counts
	Is    int64   // the same by the new rate
	Most  int64   // behind that is no turn
	Share float64 // of the new rate's time in the old one's
}

// LimitRate is the rate of a limit as it stands.
func LimitRate(l *world.Limit) Rate { return Rate{Number: l.Number(), Per: l.Per, Burst: l.Burst} }

// Retime is what becomes of them at a time; false: nothing. One that lets in nobody counts as a burst in its period.
func Retime(was, is Rate, now int64) (t Retimed, changed bool) {
	if was == is || was.Per <= 0 || is.Per <= 0 {
		return t, false
	}
	for _, r := range []*Rate{&was, &is} {
		if r.Number <= 0 {
			r.Number = max(r.Burst, 1)
		}
	}
	return Retimed{Was: now - was.ahead(), Is: now - is.ahead(), Most: is.ahead() + is.Gap(), Share: float64(is.Gap()) / float64(was.Gap())}, true
}

// Turn is what becomes of one.
func (t *Retimed) Turn(turn int64) int64 {
	if turn <= t.Was {
		return t.Is - (t.Was - turn)
	}
	return t.Is + int64(min(math.Ceil(float64(turn-t.Was)*t.Share), float64(t.Most)))
}

// Again is when a key is to be looked at, µs: where somebody stands in line, and it has let in so many that have not
// begun, when it lets in the next; else when it may be forgotten; 0: not before that changes.
func (r *Rate) Again(turn, now int64, standing, late bool, used int) int64 {
	switch {
	case r.Number <= 0: // nobody is let in
		return 0
	case !standing:
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

// Idle is when it is as if nobody had ever begun.
func (r *Rate) Idle(turn int64) int64 { return turn + r.ahead() }
