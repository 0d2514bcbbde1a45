// Limits of tasks, and of messages: each attempt, and each receive, needs places, as a run at work does.

package memory

import "github.com/stepwell/stepwell/world/rules"

// seekTask has a task that is ready take its places. False: it stands in line.
func (l *limits) seekTask(t *task, n *notices) bool {
	if t.placed == nil || t.placed.Whole() {
		return true
	}
	return l.seekEntry(&t.entry, n)
}

func (l *limits) seekEntry(e *entry, n *notices) bool {
	l.news = n
	whole, _ := rules.Seek[*entry](l, e) // a map cannot fail
	return whole
}

// payTask has a task that is claimed pay.
func (l *limits) payTask(t *task, n *notices) {
	if t.placed != nil {
		l.payEntry(&t.entry, n)
	}
}

func (l *limits) payEntry(e *entry, n *notices) {
	l.news = n
	_ = rules.Paid[*entry](l, e)
}

// restEntry has a message whose receive has ended give back its places.
func (l *limits) restEntry(e *entry, n *notices) {
	l.news = n
	_ = rules.Rest[*entry](l, e, true)
}

// restTask has a task whose attempt has ended give back its places; over: it needs none any more.
func (l *limits) restTask(t *task, over bool, n *notices) {
	if t.placed == nil {
		return
	}
	l.news = n
	_ = rules.Rest[*entry](l, &t.entry, over)
	if over {
		l.leave(t.placed.Keys)
		t.placed = nil
	}
}
