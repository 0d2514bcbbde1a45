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
func (s *session) verify() {
	if s.m.Outcome() != nil || s.box.hasRest() {
		return
	}
	second := s.compare()
	if second == nil {
		return
	}
	if !s.trial.succeeds() {
		s.e.unwind(second)
		return
	}
	s.trial.testify(s.m, s.state.Seq)
	second.SetReplaying(false)
	second.Cancelled() // known already
	s.m = second
	s.watched.Store(second)
}

// steady reports whether the end that the code came to is that of its replay. If not the run is to be blocked.
func (s *session) steady() bool {
	if !s.e.cfg.Strict || s.turn.blinds() {
		return true
	}
	second := s.compare()
	if second != nil {
		s.e.unwind(second)
	}
	return second != nil
}

// compare returns a machine that was fed the whole segment, and came to the same as the run's own and all its witnesses; or nil, where the run is to be blocked.
func (s *session) compare() *replay.Machine {
	defer s.watched.Store(s.m)
	second := s.machine()
	second.SetReplaying(true)
	failed, err := s.trial.hears(second, s.state.Seq, s.watched.Store)
	if err == nil {
		if err = replay.Mismatch(s.m, second, s.state.Seq, failed); err == nil {
			return second
		}
	}
	s.e.unwind(second)
	s.fail(err, s.state.Seq)
	return nil
}

// kept is what is kept of a run that rests: what it differed in, or else its witnesses, the last machine among them where it lived. Of a run that is blocked for
// another reason they are those that came to no error. nil: nothing.
func (s *session) kept() *cached {
	c := &cached{run: s.own.run, wf: s.wf, state: s.state, unsteady: s.found()}
	switch {
	case c.unsteady != nil:
		return c
	case s.failure.some():
		c.witnesses = s.trial.leaveSound()
	default:
		if s.m != nil && s.trial.wants() {
			s.trial.testify(s.m, s.state.Seq)
			s.m = nil
		}
		c.witnesses = s.trial.leave()
	}
	if len(c.witnesses) == 0 {
		return nil
	}
	return c
}

// found is the difference that strict mode found, now or when the run was claimed before; nil: none.
func (s *session) found() error {
	if d, ok := errors.AsType[*replay.DivergedError](s.failure.cause()); ok && d.Strict {
		return d
	}
	return s.trial.before()
}

// dismiss unwinds all witnesses.
func (s *session) dismiss() {
	for _, w := range s.trial.leave() {
		s.e.unwind(w.m)
	}
}
