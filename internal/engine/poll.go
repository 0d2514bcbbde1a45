package engine

// Waits for an event, or for a payload of a hook, with a timeout of nothing: they take what is there. What was durable before such a wait began is
// there, so that the session looks into its run's inbox before the wait is over; and the wait is over behind all that
// was found. A look is a heartbeat of the worker, which all sessions that look share.

import (
	"slices"

	"github.com/stepwell/stepwell/world"
)

// timeWait sets the timer of a wait, if it has one.
func (t *timers) timeWait(w *world.Wait) {
	if !w.Until.IsZero() {
		t.add(w.Until, w.ID, false, w.Seq)
	}
}

// postpone sets the timer of a wait, or of the run's own deadline, again, which was due in a turn in which the run was paused.
func (t *timers) postpone(state *world.State, msg *message) {
	if msg.step == deadlineID {
		t.timeDeadline(state)
	} else if w := state.Wait(msg.step); w != nil {
		t.add(msg.at, w.ID, false, w.Seq)
	} else if st := state.Step(msg.step); unbegunStep(st) {
		t.add(msg.at, st.ID, false, st.Created)
	}
}

// looksFirst keeps a timer that is due for looked, where it is of a wait that only looks.
func (t *timers) looksFirst(state *world.State, due timer) bool {
	if due.retry {
		return false
	}
	w := state.Wait(due.id)
	if w == nil || w.Kind != world.KindEvent && w.Kind != world.KindReceive || w.Until.After(w.Created) {
		return false
	}
	t.poll(due)
	return true
}

// looked adds the ends of the waits that only look behind all else that is there, as soon as the inbox was looked into.
func (s *session) looked(msgs []message) []message {
	if !s.timers.polling() {
		return msgs
	}
	if !s.e.look(s.e.workCtx) {
		s.timers.lookAt(s.course.now().Add(linger))
		return msgs
	}
	msgs = append(slices.Clone(msgs), s.box.receive()...)
	at := s.course.now()
	for i := range msgs {
		if msgs[i].at.After(at) {
			at = msgs[i].at
		}
	}
	for _, t := range s.timers.polled() {
		msgs = append(msgs, message{kind: msgDue, at: at, step: t.id})
	}
	return msgs
}
