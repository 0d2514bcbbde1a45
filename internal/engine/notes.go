package engine

import (
	"time"

	"github.com/stepwell/stepwell/internal/metrics"
	"github.com/stepwell/stepwell/world"
)

// notes are what is to be counted, and what the Observer is to be told, as soon as it is durable, in the order of the log.
//
//   - Nothing is told before it is durable, and each thing once.
//   - Without an Observer, and where nothing is counted, nothing is kept.
type notes struct {
	e     *Engine
	own   *title
	list  []note
	began map[string]time.Time // when tasks began whose end is being appended, by step
}

// note is what an event brings as soon as it is durable: tell, or, where that is nil, one of a series.
type note struct {
	seq     int64
	tell    func()
	of      metrics.Series
	seconds float64
}

// add notes what is to be told when an event is durable; nil: nothing.
func (n *notes) add(seq int64, tell func()) {
	if tell != nil {
		n.list = append(n.list, note{seq: seq, tell: tell})
	}
}

// count notes one of a series, or one that took so long.
func (n *notes) count(seq int64, of metrics.Series, from, to time.Time) {
	n.list = append(n.list, note{seq: seq, of: of, seconds: max(to.Sub(from), 0).Seconds()}) // clocks of several machines may differ a little
}

// some reports whether something is to be told.
func (n *notes) some() bool { return len(n.list) > 0 }

// tell hands out what is durable up to an event.
func (n *notes) tell(durable int64, each func(*note)) {
	told := 0
	for told < len(n.list) && n.list[told].seq <= durable {
		each(&n.list[told])
		told++
	}
	if told > 0 {
		n.list = append(n.list[:0], n.list[told:]...)
	}
}

// begins keeps when the first attempt of a task began.
func (n *notes) begins(step string, at time.Time) {
	if _, known := n.began[step]; known {
		return
	}
	if n.began == nil {
		n.began = map[string]time.Time{}
	}
	n.began[step] = at
}

// startOf is when the first attempt of a step began; zero: it has no body, as a child run has none.
func (n *notes) startOf(st *world.Step) time.Time {
	if at, ok := n.began[st.ID]; ok && (st.Started.IsZero() || at.Before(st.Started)) {
		return at
	}
	return st.Started
}

// ends forgets a task.
func (n *notes) ends(step string) { delete(n.began, step) }
