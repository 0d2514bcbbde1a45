package stepwelltest

// This file does all that a test has done again, with a worker that is killed at each commit in turn.

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/faults"
	"github.com/stepwell/stepwell/world"
)

// mostDeaths bounds how many commits a test may have.
const mostDeaths = 2000

// CrashEverywhere does all that the test has done so far again, from the beginning and at the same times, once for each commit that
// the worker made and twice: it is killed before the commit, and after it. Another worker goes on at once. Each time all runs must
// come to the same end, with the same output or error, and must have asked for the same steps. Bodies of steps that were killed run
// again then, as in real life.
func (e *Env) CrashEverywhere() {
	e.t.Helper()
	want := e.life.ends()
	for _, op := range []faults.Op{faults.Commit, faults.Deliver} {
		for _, late := range []bool{false, true} {
			for n := 1; ; n++ {
				if n > mostDeaths {
					e.t.Fatalf("the worker makes more than %d commits, too many to kill it at each", mostDeaths)
				}
				where, ends, err := e.crash(op, n, late, want)
				if where == "" {
					break
				}
				if err == nil {
					err = want.differ(ends)
				}
				if err != nil {
					e.t.Errorf("worker killed %s: %v", where, err)
					return
				}
			}
		}
	}
}

// crash does it all once, and says where the worker was killed: "" where it was not.
func (e *Env) crash(op faults.Op, n int, late bool, want ends) (where string, got ends, err error) {
	l := e.begin(func(l *life) faults.Schedule {
		return func(c faults.Call) faults.Fault {
			if c.Op != op || c.N != n {
				return faults.Fault{}
			}
			if where = "before " + call(c); late {
				where = "after " + call(c)
				return faults.Fault{After: l.kill}
			}
			return faults.Fault{Before: l.kill}
		}
	})
	defer l.close()
	for _, a := range e.script {
		if err := l.insist(a); err != nil {
			return where, nil, fmt.Errorf("%s: %w", a.what, err)
		}
	}
	l.call(func() {
		_, _ = l.until(func() bool { return len(l.open()) <= want.open() })
	})
	for run, b := range l.world.broken() {
		if !e.expected[run] && err == nil {
			err = fmt.Errorf("run %s was blocked, %s: %s", run, b.Code, b.Message)
		}
	}
	return where, l.ends(), err
}

// insist does what the test did; what it is too early for, as a step had to run again, is tried for a while.
func (l *life) insist(a act) (err error) {
	for range 60 {
		if err = l.perform(a); err == nil || !errors.Is(err, world.ErrNotFound) {
			return err
		}
		l.call(func() { l.pass(time.Second) })
	}
	return err
}

// call says what a worker was about to write.
func call(c faults.Call) string {
	if c.Delivery != nil {
		return fmt.Sprintf("its %s of %s", ordinal(c.N, "delivery"), happenings(c.Delivery.Events))
	}
	if len(c.Commit.Events) == 0 {
		return fmt.Sprintf("its %s, which releases run %s", ordinal(c.N, "commit"), c.Commit.Run)
	}
	return fmt.Sprintf("its %s, of run %s: %s", ordinal(c.N, "commit"), c.Commit.Run, happenings(c.Commit.Events))
}

func ordinal(n int, what string) string { return fmt.Sprintf("%s %d", what, n) }

func happenings(events []world.Event) string {
	var parts []string
	for i := range events {
		parts = append(parts, strings.TrimSpace(string(events[i].Type)+" "+events[i].Name))
	}
	return strings.Join(parts, ", ")
}

// ends is what runs have come to, in the order in which they were created.
type ends []end

type end struct {
	run, label, input, outcome string
	over                       bool
	steps                      []string // asked for, by coroutine
}

func (es ends) open() (n int) {
	for i := range es {
		if !es[i].over {
			n++
		}
	}
	return n
}

func (l *life) ends() (list ends) {
	l.call(func() {
		l.world.mu.Lock()
		runs := slices.Clone(l.world.runs)
		l.world.mu.Unlock()
		for _, run := range runs {
			story, err := l.client.Story(l.ctx, run, false)
			if err != nil {
				list = append(list, end{run: run, label: run, outcome: err.Error()})
				continue
			}
			list = append(list, endOf(&story))
		}
	})
	slices.SortStableFunc(list, func(a, b end) int {
		return cmp.Or(strings.Compare(a.label, b.label), strings.Compare(a.input, b.input))
	})
	return list
}

func endOf(s *stepwell.Story) end {
	e := end{run: s.Run.ID, label: s.Run.Workflow, input: string(s.Run.Input), over: s.Run.Status.Terminal(), outcome: string(s.Run.Status)}
	if len(s.Run.Output) > 0 {
		e.outcome += " " + string(bytes.ReplaceAll(s.Run.Output, []byte(s.Run.ID), []byte("(run)")))
	}
	if s.Run.Error != nil {
		e.outcome += ": " + strings.TrimSpace(s.Run.Error.Code+" "+s.Run.Error.Message)
	}
	if s.Run.Queue != nil && s.Run.Queue.Blocked != nil {
		e.outcome += ", blocked: " + s.Run.Queue.Blocked.Message
	}
	for _, en := range s.Journal.Entries {
		e.steps = append(e.steps, fmt.Sprintf("%d %s %s %s", en.Segment, en.Path, en.Kind, en.Key()))
	}
	slices.Sort(e.steps)
	e.input, e.outcome = anyValue.ReplaceAllString(e.input, "(value)"), anyValue.ReplaceAllString(e.outcome, "(value)")
	return e
}

// anyValue is the ID of a blob, or of a large value: a body that runs again makes another, with the same hash.
var anyValue = regexp.MustCompile(world.PrefixApart + `_[0-9A-Z]{26}`)

// differ says what is otherwise.
func (es ends) differ(got ends) error {
	if len(es) != len(got) {
		return fmt.Errorf("there are %d runs, want %d", len(got), len(es))
	}
	for i := range es {
		want, got := es[i], got[i]
		switch {
		case want.label != got.label || want.input != got.input:
			return fmt.Errorf("there is a run of %s(%s), want one of %s(%s)", got.label, got.input, want.label, want.input)
		case want.outcome != got.outcome:
			return fmt.Errorf("run %s of %s:\n got  %s\n want %s", got.run, got.label, got.outcome, want.outcome)
		case !slices.Equal(want.steps, got.steps):
			return fmt.Errorf("run %s of %s asked for different things:\n got  %s\n want %s", got.run, got.label, list(got.steps), list(want.steps))
		}
	}
	return nil
}
