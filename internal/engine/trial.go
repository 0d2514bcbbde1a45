package engine

import (
	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// trial is what strict mode holds a run's machine against: see strict.go. Without strict mode it stays empty.
//
//   - The log has all events of the segment, and nothing of what was before.
//   - Witnesses are machines of the segment that lived, and have not been unwound; the run's own machine is none of
//     them.
//   - A difference that was found when the run was claimed before is never taken back.
type trial struct {
	on        bool
	log       []world.Event
	witnesses []*witness
	lived     bool // bodies of the machine have begun
	unsteady  error
}

// witness is a machine that lived.
type witness struct {
	m   *replay.Machine
	seq int64 // of the last event that it was fed
}

// segment begins with the log of a new segment.
func (t *trial) segment() { t.log = nil }

// record adds events to the log.
func (t *trial) record(events []world.Event) {
	if t.on {
		t.log = append(t.log, events...)
	}
}

// since are the events of the segment behind one.
func (t *trial) since(seq int64) []world.Event {
	if len(t.log) == 0 {
		return nil
	}
	return t.log[max(seq-t.log[0].Seq+1, 0):]
}

// live notes that bodies of the machine begin.
func (t *trial) live() { t.lived = true }

// succeeds reports whether a machine is to take over from the one that there is.
func (t *trial) succeeds() bool { return t.lived && len(t.witnesses) < maxWitnesses }

// wants reports whether the machine is to become a witness when the run rests.
func (t *trial) wants() bool { return t.succeeds() || len(t.witnesses) == 0 }

// testify makes a witness of the machine. Another one takes over, or none.
func (t *trial) testify(m *replay.Machine, seq int64) {
	m.SetReplaying(true)
	t.witnesses = append(t.witnesses, &witness{m: m, seq: seq})
	t.lived = false
}

// hears feeds a machine the whole segment, and each witness what it has not seen. It returns the first difference.
// watch is told of each machine that is fed.
func (t *trial) hears(second *replay.Machine, seq int64, watch func(*replay.Machine)) (failed, differs error) {
	watch(second)
	failed = second.Feed(t.log, false)
	for _, w := range t.witnesses {
		watch(w.m)
		_ = w.m.Feed(t.since(w.seq), false) // it keeps its error
		w.seq = seq
		if differs = replay.Mismatch(w.m, second, seq, failed); differs != nil {
			break
		}
	}
	return failed, differs
}

// tells is the error of a replay as the witnesses tell it: they know what was asked for, and where.
func (t *trial) tells(m *replay.Machine, seq int64, err error) error {
	if err == nil || len(t.witnesses) == 0 {
		return err
	}
	return replay.Mismatch(t.witnesses[0].m, m, seq, err)
}

// resume takes what the cache has kept of the run.
func (t *trial) resume(c *cached) { t.witnesses, t.unsteady = c.witnesses, c.unsteady }

// before is the difference that was found when the run was claimed before; nil: none.
func (t *trial) before() error { return t.unsteady }

// leave takes all witnesses out.
func (t *trial) leave() []*witness {
	all := t.witnesses
	t.witnesses, t.lived = nil, false
	return all
}

// leaveSound takes those out that came to no error.
func (t *trial) leaveSound() (sound []*witness) {
	var failed []*witness
	for _, w := range t.witnesses {
		if w.m.Sound() {
			sound = append(sound, w)
		} else {
			failed = append(failed, w)
		}
	}
	t.witnesses = failed
	return sound
}
