package demo

// This file checks that the demo went as it should.

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/stepwell/stepwell/world"
)

// count is how often something ran.
type count struct{ starts, fails, ends int }

// tally counts the lines of the bodies by the name of their step.
func (p *play) tally() map[string]count { return p.count(func(l *bodyLine) string { return l.Name }) }

func (p *play) count(by func(*bodyLine) string) map[string]count {
	all := map[string]count{}
	for i := range p.lines.all {
		l := &p.lines.all[i]
		n := all[by(l)]
		switch l.What {
		case bodyStarts:
			n.starts++
		case bodyFails:
			n.fails++
		case bodyEnds:
			n.ends++
		}
		all[by(l)] = n
	}
	return all
}

// order lists the names of the steps as they first ran.
func (p *play) order() []string {
	var names []string
	for _, l := range p.lines.all {
		if !slices.Contains(names, l.Name) {
			names = append(names, l.Name)
		}
	}
	return names
}

// check compares what ran with what was promised; each fault is told.
func (p *play) check(ctx context.Context) error {
	if err := p.tell(); err != nil {
		return err
	}
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf("demo: "+format, args...)) }
	if len(p.finished) == 0 {
		fault("no step had finished when the process was killed")
	}
	p.checkBodies(fault)
	for _, a := range p.cast {
		s, err := p.app.Story(ctx, a.run, true)
		if err != nil {
			return err
		}
		if s.Run.Status != world.Completed || string(s.Run.Output) != a.want {
			fault("%s, run %s: %s with output %s; want completed with %s", a.name, a.run, s.Run.Status, s.Run.Output, a.want)
		}
		steps := p.count(func(l *bodyLine) string { return l.Step })
		for _, en := range s.Journal.Entries {
			if en.Class == "run" && steps[en.ID].ends == 0 {
				fault("%s, run %s: the log says that step %q is over, but its body never ended", a.name, a.run, en.Name)
			}
		}
	}
	return errors.Join(faults...)
}

func (p *play) checkBodies(fault func(format string, args ...any)) {
	keys := map[string]bool{}
	for _, l := range p.lines.all {
		if p.finished[l.Step] && l.PID != p.killed {
			fault("step %s of %s had finished, and ran again in process %d", l.Name, p.name(l.Run), l.PID)
		}
		if l.Name == killedStep {
			keys[l.Key] = true
		}
	}
	if got, want := p.tally()[killedStep], (count{starts: 2, ends: 1}); got != want {
		fault("step %s started %d times, failed %d times and ended %d times; want 2, 0 and 1", killedStep, got.starts, got.fails, got.ends)
	}
	if len(keys) != 1 {
		fault("step %s had %d idempotency keys; want the same one on both attempts", killedStep, len(keys))
	}
}
