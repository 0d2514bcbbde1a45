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
)

// maxWitnesses bounds what a run costs in strict mode. Behind that many the machine stays, and is compared all the same.
const maxWitnesses = 32

// verify replays the run beside itself at a suspension. The replayed machine takes over where bodies of the first have begun.
func (c *course) verify() {
	if c.m.Outcome() != nil {
		return
	}
	second := c.compare()
	if second == nil {
		return
	}
	if !c.trial.succeeds() {
		c.e.unwind(second)
		return
	}
	c.trial.testify(c.m, c.st.Seq)
	second.SetReplaying(false)
	second.Cancelled() // known already
	c.m = second
	c.watched.Store(second)
}

// steady reports whether the end that the code came to is that of its replay. If not the run is to be blocked.
func (c *course) steady() bool {
	if !c.e.cfg.Strict || c.turn.blinds() {
		return true
	}
	second := c.compare()
	if second != nil {
		c.e.unwind(second)
	}
	return second != nil
}

// compare returns a machine that was fed the whole segment, and came to the same as the run's own and all its witnesses; or nil, where the run is to be blocked.
func (c *course) compare() *replay.Machine {
	defer c.watched.Store(c.m)
	second := c.anew()
	second.SetReplaying(true)
	failed, err := c.trial.hears(second, c.st.Seq, c.watched.Store)
	if err == nil {
		if err = replay.Mismatch(c.m, second, c.st.Seq, failed); err == nil {
			return second
		}
	}
	c.e.unwind(second)
	c.fail(err, c.st.Seq)
	return nil
}

// kept is what is kept of a run that rests: what it differed in, or else its witnesses, the last machine among them where it lived. Of a run that is blocked for
// another reason they are those that came to no error. nil: nothing.
func (c *course) kept() *cached {
	v := &cached{run: c.own.run, wf: c.wf, state: c.st, unsteady: c.found()}
	switch {
	case v.unsteady != nil:
		return v
	case c.blocked():
		v.witnesses = c.trial.leaveSound()
	default:
		if c.m != nil && c.trial.wants() {
			c.trial.testify(c.m, c.st.Seq)
			c.m = nil
		}
		v.witnesses = c.trial.leave()
	}
	if len(v.witnesses) == 0 {
		return nil
	}
	return v
}

// found is the difference that strict mode found, now or when the run was claimed before; nil: none.
func (c *course) found() error {
	if d, ok := errors.AsType[*replay.DivergedError](c.failure.cause()); ok && d.Strict {
		return d
	}
	return c.trial.before()
}

// dismiss unwinds all witnesses.
func (c *course) dismiss() {
	for _, w := range c.trial.leave() {
		c.e.unwind(w.m)
	}
}
