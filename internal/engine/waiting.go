package engine

// This file notes, for lists of runs, what a hibernating run waits for, in a few words.

import (
	"cmp"
	"fmt"

	"github.com/stepwell/stepwell/world"
)

// mostNoted bounds how many open steps and waits are looked at: a run may have thousands.
const mostNoted = 64

// noted is something that a run waits for.
type noted struct {
	text  string
	order int // kinds of waits, by what people ask for first
	id    string
}

// waitingFor says what the run waits for: the event, sleep, retry, step or run, and how many more.
func (s *session) waitingFor() string {
	var first noted
	see := func(n noted) {
		if first.text == "" || cmp.Or(cmp.Compare(n.order, first.order), cmp.Compare(n.id, first.id)) < 0 {
			first = n
		}
	}
	left := mostNoted
	for w := range s.state.Waits() {
		if left--; left < 0 {
			break
		}
		see(notedWait(w))
	}
	left = mostNoted
	for st := range s.state.Steps() {
		if left--; left < 0 {
			break
		}
		see(notedStep(st))
	}
	if first.text == "" {
		for h := range s.state.Hooks() {
			see(noted{text: fmt.Sprintf("hook %q", h.Key), id: h.ID})
		}
		return first.text
	}
	if steps, waits := s.state.Open(); steps+waits > 1 {
		first.text += fmt.Sprintf(" and %d more", steps+waits-1)
	}
	return first.text
}

func notedWait(w *world.Wait) noted {
	n := noted{id: w.ID}
	switch w.Kind {
	case world.KindEvent:
		n.text = fmt.Sprintf("event %q", w.Key.Name)
	case world.KindCondition:
		n.text, n.order = "a condition", 1
	default:
		n.text, n.order = fmt.Sprintf("sleep %q", w.Key), 4
	}
	return n
}

func notedStep(st *world.Step) noted {
	n := noted{id: st.ID, order: 2}
	switch {
	case st.Kind == world.KindChild || st.Kind == world.KindAwait:
		n.text, n.order = "run "+st.Peer, 3
	case !st.RetryAt.IsZero():
		n.text = fmt.Sprintf("retry of %q", st.Key)
	default:
		n.text = fmt.Sprintf("step %q", st.Key)
	}
	return n
}
