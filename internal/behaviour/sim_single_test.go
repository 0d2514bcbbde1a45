package behaviour_test

// This file has some simulations run singletons, and holds that no two of a key are at work, and that who was replaced
// is cancelled.

import (
	"cmp"
	"slices"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// simSingle reports whether the runs of a seed are singletons: those of its plan have one key, and so has each child
// with what else takes its place.
func simSingle(seed uint64) bool { return seed%8 == 6 }

// single is what the code says of it.
func (s *simulation) single() []stepwell.WorkflowOption {
	if !simSingle(s.seed) {
		return nil
	}
	return []stepwell.WorkflowOption{stepwell.Singleton{By: "single", Replace: true}}
}

// singles gives programs their keys.
func (p *simPlan) singles() {
	for i := range p.Runs {
		p.Runs[i].Program.keyed()
		p.Runs[i].Program.Single = "plan"
	}
}

func (n *simNode) keyed() {
	for i := range n.Kids {
		if n.Kids[i].keyed(); n.Op == "child" || n.Op == "spawn" {
			n.Kids[i].Single = n.Kids[i].Name
		}
	}
	if n.Next != nil {
		n.Next.keyed()
	}
}

// singleOf is the place of a run that is a singleton; nil: it is none, as no worker had told of that when it was
// started.
func (r *simRun) singleOf() *world.Place {
	all := r.events[0].Birth.Places
	if i := slices.IndexFunc(all, func(p world.Place) bool { return p.Single != "" }); i >= 0 {
		return &all[i]
	}
	return nil
}

// replacedBy reports whether a run is one that took this one's place, which ended it at some time. Its start may have
// been asked for before this one's, and come behind it.
func (r *simRun) replacedBy(next *simRun, at time.Time) bool {
	one, other := r.singleOf(), next.singleOf()
	return one != nil && other != nil && *one == *other && next.Origin == nil && !next.CreatedAt.After(at)
}

// workedFrom is when the run itself did its first; zero: it did nothing. What a retry has of its origin is not younger
// than the retry; another may begin in the moment in which it is created.
func (r *simRun) workedFrom() time.Time {
	created := r.events[0].Time
	for i := range r.events {
		switch e := &r.events[i]; e.Type {
		case world.RunCreated, world.SignalReceived, world.HookReceived, world.CancelRequested, world.RunPaused, world.RunResumed, world.RunCancelled:
		default:
			if e.Time.After(created) || r.Origin == nil && e.Time.Equal(created) {
				return e.Time
			}
		}
	}
	return time.Time{}
}

// simReplacing is how long a run may go on that another replaces, until it hears of that.
const simReplacing = time.Minute

// mayOutlive is that in the time of the simulation. Leases are as long as they are, however it hastens.
func (s *simulation) mayOutlive() time.Duration {
	if s.haste == 1 {
		return simReplacing
	}
	return simReplacing/s.haste + s.lease + s.late
}

// checkSingles: of two runs of a key one is over before the other does anything, and who was live when another was
// started was cancelled for that.
func (s *simulation) checkSingles(runs map[string]*simRun, seen *simCoverage) {
	keys := make(map[string][]*simRun)
	for _, r := range runs {
		if p := r.singleOf(); p != nil && r.log.end != nil {
			keys[p.Key] = append(keys[p.Key], r)
		}
	}
	for key, all := range keys {
		slices.SortFunc(all, func(a, b *simRun) int {
			return cmp.Or(a.workedFrom().Compare(b.workedFrom()), a.log.end.Time.Compare(b.log.end.Time))
		})
		for i, r := range all {
			from := r.workedFrom()
			if i > 0 && !from.IsZero() && !all[i-1].workedFrom().IsZero() && all[i-1].log.end.Time.After(from) {
				s.problem("run %s of singleton %q is at work from %s, and run %s until %s", r.ID, key, from, all[i-1].ID, all[i-1].log.end.Time)
			}
			s.checkReplaced(r, all, seen)
		}
	}
}

func (s *simulation) checkReplaced(r *simRun, all []*simRun, seen *simCoverage) {
	for _, next := range all {
		if next == r || next.Origin != nil || !next.CreatedAt.After(r.CreatedAt.Add(s.late)) || next.CreatedAt.After(r.log.end.Time) {
			continue // in real time, of two that are started at once either may be written first
		}
		switch {
		case r.log.cancel != nil:
			if r.log.cancel.By == next.ID {
				seen.note("replaced")
			}
		case r.log.end.Time.Sub(next.CreatedAt) > s.mayOutlive() && r.log.end.Type != world.RunCancelled:
			s.problem("run %s was not cancelled, and run %s was started %s before its end", r.ID, next.ID, r.log.end.Time.Sub(next.CreatedAt))
		}
	}
}
