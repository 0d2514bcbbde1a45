package faults

// This file holds plans: one fault at one call, and faults by chance.

import (
	"math/rand/v2"
	"time"

	"github.com/stepwell/stepwell/world"
)

// At is the plan with one fault, at the n-th call of a kind, n from 1.
func At(op Op, n int, f Fault) Schedule {
	return func(c Call) Fault {
		if c.Op == op && c.N == n {
			return f
		}
		return Fault{}
	}
}

// All is the plan in which each call of a kind has the same fault.
func All(op Op, f Fault) Schedule {
	return func(c Call) Fault {
		if c.Op == op {
			return f
		}
		return Fault{}
	}
}

// Rates says how often faults come, each as a share of calls between 0 and 1, and how many there may be in all.
type Rates struct {
	Unknown  float64       // commits, takes and appends: the outcome is unknown; half of them were done
	Storage  float64       // any call: [world.ErrStorage], nothing was done
	Lost     float64       // deliveries: done, but the answer is an error
	Twice    float64       // deliveries: done twice
	Delay    float64       // any call: held up, before or after
	MaxDelay time.Duration // and so long at most
	Crash    float64       // commits, deliveries, takes and appends: Crash is called, before or after
	Evict    float64       // commits: Evict is called before
	Most     int           // faults in all; 0: no limit
}

// Random is the plan in which faults come by chance, from a seed: the same calls in the same order meet the same faults. crash and evict are
// what [Rates] calls so.
func Random(seed uint64, r Rates, crash, evict func()) Schedule {
	rnd := rand.New(rand.NewPCG(seed, 0xfa017))
	left := r.Most
	return func(c Call) Fault {
		if r.Most > 0 && left == 0 {
			return Fault{}
		}
		f, any := r.draw(rnd, c.Op, crash, evict)
		if any {
			left--
		}
		return f
	}
}

// draw takes the same number of values from rnd whatever comes of it.
func (r *Rates) draw(rnd *rand.Rand, op Op, crash, evict func()) (f Fault, any bool) {
	p, side, share := rnd.Float64(), rnd.IntN(2) == 0, rnd.Float64()
	hit := func(rate float64, applies bool) bool {
		if !applies {
			return false
		}
		if p < rate {
			p = 2 // one fault a call
			return true
		}
		p -= rate
		return false
	}
	switch {
	case hit(r.Unknown, op == Commit || op == Claim || op == Append || op == Piece):
		return Fault{Err: world.ErrUnknownOutcome, Lost: side}, true
	case hit(r.Storage, true):
		return Fault{Err: world.ErrStorage}, true
	case hit(r.Lost, op == Deliver):
		return Fault{Err: world.ErrStorage, Lost: true}, true
	case hit(r.Twice, op == Deliver):
		return Fault{Twice: true}, true
	case hit(r.Delay, true):
		d := time.Duration(share * float64(r.MaxDelay))
		if side {
			return Fault{Delay: d}, true
		}
		return Fault{Late: d}, true
	case hit(r.Crash, op != Heartbeat):
		if side {
			return Fault{Before: crash}, true
		}
		return Fault{After: crash}, true
	case hit(r.Evict, op == Commit):
		return Fault{Before: evict}, true
	}
	return Fault{}, false
}
