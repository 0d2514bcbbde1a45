package engine

// This file holds the slots that a session has of its worker's.

// stepSlots are those for bodies that are to start, or that have returned.
//
//   - A slot that was taken is held here or has gone with a body; what is held is given back as soon as no body needs
//     it.
//   - The session stands in the worker's line once at most, and only while it holds too few.
type stepSlots struct {
	all     *slots
	box     *mailbox // is told when the slot comes
	held    int
	asking  bool // it stands in line
	granted bool // the slot that it stood in line for came: it need not stand back behind others
}

// get gets a slot for one body: one that is held, or a free one. If there is none the session stands in line.
func (h *stepSlots) get() bool {
	if h.held > 0 && !h.granted && h.all.available() == 0 && h.all.contended() {
		h.release() // others have waited longer
	}
	h.granted = false
	if h.held > 0 {
		h.held--
		return true
	}
	if h.all.try(1) == 1 {
		return true
	}
	if !h.asking {
		h.asking = true
		h.all.wait(func() {
			if !h.box.post(message{kind: msgSlot}) {
				h.all.release(1)
			}
		})
	}
	return false
}

// came takes the slot that the session stood in line for.
func (h *stepSlots) came() {
	h.asking, h.granted = false, true
	h.held++
}

// back takes the slots of bodies that have returned, or do not start.
func (h *stepSlots) back(n int) { h.held += n }

// inLine reports whether the session stands in line.
func (h *stepSlots) inLine() bool { return h.asking }

// release gives back all that is held.
func (h *stepSlots) release() {
	h.all.release(h.held)
	h.held = 0
}

// runSlot is the slot with which a session evaluates its run's code. It has it from the beginning.
//
//   - It has one at most, and gives it back while it waits and no body of it works.
//   - It stands in the worker's line once at most.
type runSlot struct {
	all    *slots
	box    *mailbox // is told when the slot comes
	held   bool
	asking bool
}

// release gives the slot back, if it is there.
func (r *runSlot) release() {
	if r.held {
		r.held = false
		r.all.release(1)
	}
}

// ask stands in line for the slot.
func (r *runSlot) ask() {
	if r.asking {
		return
	}
	r.asking = true
	r.all.wait(func() {
		if !r.box.post(message{kind: msgRun}) {
			r.all.release(1)
		}
	})
}

// came takes the slot that the session stood in line for.
func (r *runSlot) came() {
	r.asking = false
	if r.held {
		r.all.release(1)
	}
	r.held = true
}

// has reports whether the slot is there.
func (r *runSlot) has() bool { return r.held }
