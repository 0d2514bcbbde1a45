package engine

import "testing"

// TestTheEndOfAnAttemptIsNotTheNextOnes: an attempt whose worker lost its lease may end when the next one has begun here.
// That one is still held: else it would be handed back while it runs.
func TestTheEndOfAnAttemptIsNotTheNextOnes(t *testing.T) {
	var p pulse
	p.init()
	var h holdings
	h.init(&p)
	k := taskKey{"run", "step"}
	h.hold(k, &heldTask{attempt: 1})
	h.hold(k, &heldTask{attempt: 2})
	h.ending(k, 1)()
	if keys := h.taskKeys(); len(keys) != 1 || keys[0].Attempt != 2 {
		t.Errorf("got %v after the end of attempt 1, want attempt 2", keys)
	}
	h.ending(k, 2)()
	if keys := h.taskKeys(); len(keys) != 0 || h.runs(k, 2) {
		t.Errorf("got %v after the end of attempt 2, want none", keys)
	}
}
