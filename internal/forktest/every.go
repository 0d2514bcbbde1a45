package forktest

// This file forks a run at each of its events.
//
// What a fork does otherwise than its source, and is to:
//
//  1. A step that had begun and not ended at the cut runs in the fork, from its first attempt, unless the run had been cancelled. Its attempts so far
//     stay with the source.
//  2. A child that had not ended is a new run of the fork's own. The source's goes on as it is.
//  3. A wait that had not ended keeps its deadline, which is over at once where the source has left it behind.

import (
	"fmt"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// prefix is what a source had come to at a cut.
type prefix struct {
	begun map[world.Key]bool // steps with a start
	ended map[world.Key]bool // steps with an end
	names names

	cancelled bool // what had begun does not begin again
}

// names tells the entities of a log by what is the same in source and fork.
type names map[string]world.Key // by correlation ID

func (n names) read(segment int, e *world.Event) int {
	switch e.Type {
	case world.RunContinued:
		segment++
	case world.StepCreated:
		n[e.ID] = e.Key(segment)
	}
	return segment
}

func cutAt(events []world.Event, at int) prefix {
	p := prefix{begun: map[world.Key]bool{}, ended: map[world.Key]bool{}, names: names{}}
	segment := 0
	for i := range events[:at] {
		e := &events[i]
		segment = p.names.read(segment, e)
		switch e.Type {
		case world.RunContinued: // what was open is over
			clear(p.begun)
		case world.StepStarted:
			p.begun[p.names[e.ID]] = true
		case world.StepCompleted, world.StepFailed:
			p.ended[p.names[e.ID]] = true
			delete(p.begun, p.names[e.ID])
		case world.CancelRequested:
			p.cancelled = true
		}
	}
	return p
}

// EveryEvent lets the run of a case live to its end, forks it at one of its events, and holds the fork against it; and again from the beginning, for each
// of its events: so each fork begins as soon as its source is over.
func EveryEvent(t *testing.T, c Case) {
	t.Helper()
	for at, events := 1, 1; at <= events && !t.Failed(); at++ {
		c.live(t, func(l *Life) { events = l.forkAt(at) })
	}
}

// forkAt holds one fork against its source, and returns how many events that has.
func (l *Life) forkAt(at int) int {
	l.t.Helper()
	run, source := l.first()
	events, before := l.Events(run), l.all()
	where := fmt.Sprintf("forked at event %d of %d (%s)", at, len(events), events[at-1].Type)
	forked, err := l.App.Fork(l.Context, run, stepwell.ForkOptions{At: int64(at)})
	if err != nil {
		l.t.Fatalf("%s: %v", where, err)
	}
	end := l.end(forked.ID())
	if got, want := outcome(&end), outcome(&source); got != want {
		l.t.Errorf("%s: it came to\n%s\nwant\n%s", where, got, want)
	}
	l.holdBodies(where, forked.ID(), cutAt(events, at))
	for id, n := range l.all() {
		if had, known := before[id]; known && n != had {
			l.t.Errorf("%s: run %s has %d events since then; it had %d", where, id, n, had)
		}
	}
	return len(events)
}

// holdBodies holds what ran in a fork against what had ended at its cut.
func (l *Life) holdBodies(where, fork string, p prefix) {
	l.t.Helper()
	own, segment := names{}, 0
	children := 0
	for _, e := range l.Events(fork) {
		if segment = own.read(segment, &e); e.Kind == world.KindChild && !p.ended[own[e.ID]] {
			children++
		}
	}
	first := map[world.Key]int{} // attempts that began in the fork
	for _, b := range l.of(fork) {
		key := own[b.step]
		if p.ended[key] {
			l.t.Errorf("%s: step %q had ended, and its body ran again", where, b.name)
		}
		if first[key] == 0 {
			first[key] = b.attempt
		}
	}
	for key := range p.begun {
		if first[key] != 1 && (first[key] != 0 || !p.cancelled) {
			l.t.Errorf("%s: step %q had begun: in the fork it begins with attempt %d, want 1", where, key.Name, first[key])
		}
	}
	if got := l.childrenOf(fork); got != children {
		l.t.Errorf("%s: it has %d children, want %d: those that had not ended", where, got, children)
	}
}

// childrenOf counts the runs whose parent is a run.
func (l *Life) childrenOf(run string) (n int) {
	l.t.Helper()
	for r, err := range l.App.List(l.Context, stepwell.ListFilter{}) {
		if err != nil {
			l.t.Fatal(err)
		}
		if r.Parent != nil && r.Parent.Run == run {
			n++
		}
	}
	return n
}
