//go:build unix

package soak

// This file judges the bodies of steps by what the processes wrote down: law 3 and law 4 of docs/design/README.md#the-laws.

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
)

// evidence is what is known of processes beside the log.
type evidence struct {
	notes  []note                // in order of time
	deaths map[int]time.Time     // by process
	cuts   map[int][]time.Time   // of a process's connections
	leases map[leaseKey][]note   // by worker, in order of time
	starts map[string][]*running // by step, in order of time
}

type leaseKey struct {
	pid    int
	worker string
}

// running is one body.
type running struct {
	note
	end int64
}

// gather sorts the notes.
func gather(notes []note, deaths map[int]time.Time, cuts map[int][]time.Time) *evidence {
	ev := &evidence{notes: notes, deaths: deaths, cuts: cuts, leases: map[leaseKey][]note{}, starts: map[string][]*running{}}
	type attempt struct {
		pid  int
		step string
		n    int
	}
	open := map[attempt]*running{}
	last := int64(0)
	for _, l := range notes {
		k := attempt{l.PID, l.Step, l.Attempt}
		last = l.At
		switch l.What {
		case noteLease:
			lk := leaseKey{l.PID, l.Worker}
			ev.leases[lk] = append(ev.leases[lk], l)
		case noteStart:
			open[k] = &running{note: l, end: -1}
			ev.starts[l.Step] = append(ev.starts[l.Step], open[k])
		case noteEnd:
			if r := open[k]; r != nil {
				r.end = l.At
			}
		}
	}
	for _, r := range open {
		if r.end < 0 {
			r.end = last
			if at, dead := deaths[r.PID]; dead {
				r.end = at.UnixNano()
			}
		}
	}
	return ev
}

// verdict is why a worker had no right any more to what it did.
type verdict string

const (
	leaseHeld   verdict = ""
	leaseRanOut verdict = "its lease had run out"
	foundDead   verdict = "its session was cut and not there again within a second, which counts as a death"
)

// right judges whether the worker of a body held its lease at a moment.
func (ev *evidence) right(r *running, at int64) verdict {
	heartbeat, until := int64(0), int64(0)
	for _, l := range ev.leases[leaseKey{r.PID, r.Worker}] {
		if l.At <= at {
			heartbeat, until = l.At, max(until, l.Until)
		}
	}
	if until <= at {
		return leaseRanOut
	}
	for _, c := range ev.cuts[r.PID] {
		// A heartbeat that got through more than a second after a cut shows that nobody took it for a death.
		if c := c.UnixNano(); c >= heartbeat-int64(time.Second) && c <= at-int64(900*time.Millisecond) {
			return foundDead
		}
	}
	return leaseHeld
}

// judge looks at all bodies of one step. Overlaps under an ended lease are counted, all others are faults.
func (ev *evidence) judge(step string, events []world.Event, excused map[verdict]int) (faults []string) {
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Sprintf("step %s: ", step)+fmt.Sprintf(format, args...))
	}
	bodies := ev.starts[step]
	var over *world.Event
	recorded := map[int]bool{}
	for i := range events {
		switch e := &events[i]; e.Type {
		case world.StepStarted:
			recorded[e.Attempt] = true
		case world.StepCompleted, world.StepFailed:
			over = e
		}
	}
	seen := map[int]bool{}
	for i, b := range bodies {
		name := fmt.Sprintf("%s attempt %d in process %d", b.Name, b.Attempt, b.PID)
		if seen[b.Attempt] {
			fault("%s: the attempt began twice", name)
		}
		seen[b.Attempt] = true
		if !recorded[b.Attempt] && len(recorded) < 10 { // a task's row keeps ten, the log gets those
			fault("%s: its start is not in the log", name)
		}
		if over != nil && b.At > over.Time.Add(time.Second).UnixNano() {
			if v := ev.right(b, b.At); v == leaseHeld {
				fault("%s: it began at %s, the step was over at %s", name, stamp(b.At), over.Time.Format(clockFormat))
			} else {
				excused[v]++
			}
		}
		for _, a := range bodies[:i] {
			if b.At >= a.end {
				continue
			}
			if v := ev.right(a, b.At); v == leaseHeld {
				fault("%s began at %s, while attempt %d ran in process %d (from %s to %s) under a lease", name, stamp(b.At), a.Attempt, a.PID, stamp(a.At), stamp(a.end))
			} else {
				excused[v]++
			}
		}
	}
	return faults
}

const clockFormat = "15:04:05.000"

func stamp(ns int64) string { return time.Unix(0, ns).UTC().Format(clockFormat) }

// TestJudge: the judge finds what it is there for.
func TestJudge(t *testing.T) {
	const s, ms = int64(time.Second), int64(time.Millisecond)
	lease := func(at, until int64) note {
		return note{What: noteLease, At: at, Until: until, PID: 1, Worker: "a"}
	}
	body := func(what noteKind, at int64, pid, attempt int) note {
		return note{What: what, At: at, PID: pid, Worker: string(rune('a' + pid - 1)), Step: "s", Name: "n", Attempt: attempt}
	}
	log := func(attempts int, over int64) (events []world.Event) {
		for i := range attempts {
			events = append(events, world.Event{Type: world.StepStarted, Attempt: i + 1})
		}
		return append(events, world.Event{Type: world.StepCompleted, Attempt: attempts, Time: time.Unix(0, over)})
	}
	first := []note{lease(1*s, 4*s), body(noteStart, 1*s+ms, 1, 1), body(noteEnd, 9*s, 1, 1)}
	for name, test := range map[string]struct {
		notes    []note
		deaths   map[int]time.Time
		cuts     map[int][]time.Time
		attempts int
		over     int64
		faults   int
		excused  map[verdict]int
	}{
		"one after the other": {
			notes: []note{lease(1*s, 4*s), body(noteStart, 1*s, 1, 1), body(noteEnd, 2*s, 1, 1), body(noteStart, 3*s, 2, 2)}, attempts: 2, over: 5 * s,
		},
		"side by side under a lease":       {notes: append(slices.Clone(first), body(noteStart, 3*s, 2, 2)), attempts: 2, over: 9 * s, faults: 1},
		"side by side after a lease":       {notes: append(slices.Clone(first), body(noteStart, 5*s, 2, 2)), attempts: 2, over: 9 * s, excused: map[verdict]int{leaseRanOut: 1}},
		"a lease that was renewed":         {notes: append(slices.Clone(first), lease(4*s, 7*s), body(noteStart, 5*s, 2, 2)), attempts: 2, over: 9 * s, faults: 1},
		"another worker's lease":           {notes: append(slices.Clone(first), note{What: noteLease, At: 4 * s, Until: 7 * s, PID: 1, Worker: "z"}, body(noteStart, 5*s, 2, 2)), attempts: 2, over: 9 * s, excused: map[verdict]int{leaseRanOut: 1}},
		"killed before":                    {notes: append(slices.Clone(first[:2]), body(noteStart, 3*s, 2, 2)), deaths: map[int]time.Time{1: time.Unix(2, 0)}, attempts: 2, over: 9 * s},
		"cut and not back":                 {notes: append(slices.Clone(first), body(noteStart, 3*s, 2, 2)), cuts: map[int][]time.Time{1: {time.Unix(1, 5e8)}}, attempts: 2, over: 9 * s, excused: map[verdict]int{foundDead: 1}},
		"cut a moment before":              {notes: append(slices.Clone(first), body(noteStart, 3*s, 2, 2)), cuts: map[int][]time.Time{1: {time.Unix(2, 5e8)}}, attempts: 2, over: 9 * s, faults: 1},
		"cut long before its last beat":    {notes: append(slices.Clone(first), lease(2*s+800*ms, 6*s), body(noteStart, 3*s, 2, 2)), cuts: map[int][]time.Time{1: {time.Unix(1, 5e8)}}, attempts: 2, over: 9 * s, faults: 1},
		"another's cut":                    {notes: append(slices.Clone(first), body(noteStart, 3*s, 2, 2)), cuts: map[int][]time.Time{2: {time.Unix(1, 5e8)}}, attempts: 2, over: 9 * s, faults: 1},
		"an attempt begins twice":          {notes: []note{body(noteStart, 1*s, 1, 1), body(noteEnd, 2*s, 1, 1), body(noteStart, 3*s, 2, 1)}, attempts: 1, over: 4 * s, faults: 1},
		"a start that is not in the log":   {notes: []note{body(noteStart, 1*s, 1, 1), body(noteEnd, 2*s, 1, 1), body(noteStart, 3*s, 2, 2)}, attempts: 1, over: 4 * s, faults: 1},
		"again after its end":              {notes: []note{lease(1*s, 9*s), body(noteStart, 5*s, 1, 1)}, attempts: 1, over: 3 * s, faults: 1},
		"again after its end, lease ended": {notes: []note{lease(1*s, 4*s), body(noteStart, 5*s, 1, 1)}, attempts: 1, over: 3 * s, excused: map[verdict]int{leaseRanOut: 1}},
	} {
		slices.SortStableFunc(test.notes, func(a, b note) int { return int(a.At - b.At) })
		ev := gather(test.notes, test.deaths, test.cuts)
		excused := map[verdict]int{}
		if got := ev.judge("s", log(test.attempts, test.over), excused); len(got) != test.faults {
			t.Errorf("%s: got %q, want %d faults", name, got, test.faults)
		}
		for v, want := range test.excused {
			if excused[v] != want {
				t.Errorf("%s: excused %v, want %d × %q", name, excused, want, v)
			}
		}
		if len(test.excused) == 0 && len(excused) > 0 {
			t.Errorf("%s: excused %v, want none", name, excused)
		}
	}
}
