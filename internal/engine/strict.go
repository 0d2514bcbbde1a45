package engine

// Strict mode: a run is replayed beside itself, so that state kept outside of steps, and all else that is not deterministic, shows at once.
//
//  1. At each suspension, and before the run ends or goes on in a new segment, a second machine is fed the whole segment. What the first one asked for and came
//     to must be the same: see [replay.Mismatch].
//  2. Where bodies of the first have begun, the second takes over: what they write to variables of the workflow is lost to it, as at a crash.
//  3. The first stays, as a witness: it goes on with the log, silently, and with all that its bodies wrote, and is held against each replay too. So code that
//     goes on with such a variable comes to another end than its witness, though nothing was asked for differently. Witnesses outlive hibernation, in the cache.
//  4. A difference that was found once is remembered, in the cache: the run stays blocked for it until its worker ends, or the cache is full. Else chance would
//     let it go on as soon as two evaluations happen to agree.

import (
	"errors"

	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// maxWitnesses bounds what a run costs in strict mode. Behind that many the machine stays, and is compared all the same.
const maxWitnesses = 32

// verify replays the run beside itself at a suspension.
func (c *course) verify() {
	if c.eval.machine().Outcome() != nil {
		return
	}
	if err := c.eval.verify(c.st); err != nil {
		c.fail(err, c.st.Seq)
	}
}

// steady reports whether the end that the code came to is that of its replay. If not the run is to be blocked.
func (c *course) steady() bool {
	if !c.e.cfg.Strict || c.turn.blinds() {
		return true
	}
	second, err := c.eval.compare(c.st)
	if err != nil {
		c.fail(err, c.st.Seq)
		return false
	}
	c.e.unwind(second)
	return true
}

// verify replays the run beside itself. The replayed machine takes over where bodies of the first have begun. The
// error is the difference.
func (v *evaluation) verify(state *world.State) error {
	second, err := v.compare(state)
	if err != nil {
		return err
	}
	if !v.trial.succeeds() {
		v.e.unwind(second)
		return nil
	}
	v.trial.testify(v.m, state.Seq)
	second.SetReplaying(false)
	second.Cancelled() // known already
	v.m = second
	v.watched.Store(second)
	return nil
}

// compare returns a machine that was fed the whole segment, and came to the same as the run's own and all its
// witnesses; else the difference, for which the run is to be blocked.
func (v *evaluation) compare(state *world.State) (*replay.Machine, error) {
	defer v.watched.Store(v.m)
	second := v.anew(state)
	second.SetReplaying(true)
	failed, err := v.trial.hears(second, state.Seq, v.watched.Store)
	if err == nil {
		if err = replay.Mismatch(v.m, second, state.Seq, failed); err == nil {
			return second, nil
		}
	}
	v.e.unwind(second)
	return nil, err
}

// kept is what is kept of a run that rests: what it differed in, or else its witnesses, the last machine among them
// where it lived. Of a run that is blocked for another reason, which is given, they are those that came to no error.
// nil: nothing.
func (v *evaluation) kept(state *world.State, blocks error) *cached {
	c := &cached{run: v.own.run, wf: v.wf, state: state, unsteady: v.found(blocks)}
	switch {
	case c.unsteady != nil:
		return c
	case blocks != nil:
		c.witnesses = v.trial.leaveSound()
	default:
		if v.m != nil && v.trial.wants() {
			v.trial.testify(v.m, state.Seq)
			v.m = nil
		}
		c.witnesses = v.trial.leave()
	}
	if len(c.witnesses) == 0 {
		return nil
	}
	return c
}

// found is the difference that strict mode found, now, as why the run is blocked, or when the run was claimed
// before; nil: none.
func (v *evaluation) found(blocks error) error {
	if d, ok := errors.AsType[*replay.DivergedError](blocks); ok && d.Strict {
		return d
	}
	return v.trial.before()
}

// dismiss unwinds all witnesses.
func (v *evaluation) dismiss() {
	for _, w := range v.trial.leave() {
		v.e.unwind(w.m)
	}
}
