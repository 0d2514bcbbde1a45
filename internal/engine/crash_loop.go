package engine

// Steps and workflow code that end their process. A start that was never heard of again is a death; nobody can tell which of those that ran did
// it, so all are counted, and those that were there too often run one at a time until one is found out.

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/stepwell/stepwell/world"
)

const (
	// companyDeaths is how often a step may die in company; from its next start on it is its worker's only one in
	// quarantine.
	companyDeaths = 2
	// aloneDeaths is how often it may die as the only one in quarantine; then it fails with CRASH_LOOP.
	aloneDeaths = 5
	// maxStrikes is how many claims in a row may end with neither commit nor release; then the run's code is evaluated alone, once.
	maxStrikes = 3
	// sureTries is how often a run may be blocked for it by one build; then that build is tried again at the look after half a minute, and at each sameBuildTries-th,
	// about once an hour.
	sureTries      = 2
	laterTries     = 5
	sameBuildTries = 60
	// settleTime is how long a worker has to live before it has a quarantine: see settle.
	settleTime = time.Second
	// forLong is longer than anything takes that ends by itself.
	forLong = 1000 * time.Hour
	// isolationPatience is how long one in quarantine that does not end keeps the place from the others.
	isolationPatience = time.Minute
	// callPatience is for how long the place of a run is kept that was released to be claimed again.
	callPatience = 2 * time.Second
)

// mayEvaluate decides whether the run's code is evaluated at all. Code that ended its process each time is evaluated once more, as the worker's only
// one in quarantine, and then blocked:
//
//  1. The run is released, blocked with no tries yet. So whoever claims it knows, though its strikes ended with that release, and what others do while it
//     waits is not counted.
//  2. When its place has come it is released once more, marked to be evaluated alone, and the place is kept for it: no other one in quarantine runs before it is back.
//  3. It is claimed and evaluated. A strike of a run that has the mark is its own, most likely: what is not known yet to end processes may still run beside it. So it is
//     only blocked, and tried again alone.
func (s *session) mayEvaluate(ctx context.Context, tk world.ClaimedRun) bool {
	s.isolation.strike(tk.Strikes > 0)
	b := world.Block{Code: world.CodeCrashLoop, Since: s.course.now(), Build: s.e.cfg.Build}
	b.Message = fmt.Sprintf("its process ended %d times in a row before anything could be recorded; its code will be run alone", tk.Strikes)
	switch {
	case s.eval.workflow() == nil:
		return true
	case tk.Blocked != nil && tk.Blocked.Code == world.CodeCrashLoop:
		b = *tk.Blocked
	case tk.Strikes < maxStrikes:
		return true
	}
	called := s.isolation.called(s.own.run)
	guilty := b.Alone && tk.Strikes > 0 || knownGuilty(&b, s.e.cfg.Build)
	if b.Alone && called && !guilty {
		s.e.quarantine.begins(forLong)
		s.isolation.strike(true)
		return true
	}
	s.course.standAt(tk.Seq, tk.Status)
	s.pen.reach(tk.Seq)
	switch {
	case guilty:
		s.course.fault().set(Block(world.CodeCrashLoop, errors.New("its code ended its process again and again, the last time while it ran alone, before anything could be recorded")), 0)
		s.turn.letGo(s.releaseNow())
	default:
		wake := s.course.now()
		if b.Alone = s.e.quarantine.call(s.own.run); !b.Alone {
			wake = wake.Add(quarantinePause/2 + rand.N(quarantinePause)) // so that those who wait do not come all at once
		}
		s.turn.letGo(&world.Release{Blocked: &b, WakeAt: wake})
	}
	s.commit(ctx)
	s.stay.end()
	return false
}

// knownGuilty reports whether trying the code again would only end this process too: it is the same build. It is tried once more when it has rested, and then now and then, as the
// fault may have been outside of it.
func knownGuilty(b *world.Block, build string) bool {
	return b.Tries >= sureTries && b.Tries != laterTries && b.Tries%sameBuildTries > 0 && b.Build != "" && b.Build == build
}

// toBeCleared reports whether the session is about to wait though nothing shows yet that its run's code was evaluated and did no harm: the run was struck, and nothing was
// written since. It is released then and claimed anew, which ends its strikes, so that it cannot be blamed for what others do meanwhile.
func (s *session) toBeCleared() bool {
	t := &s.turn
	return s.isolation.isStruck() && !s.course.blocked() && s.bodies.count()+s.bodies.starting() == 0 && !s.box.hasRest() && t.empty() && !t.conditional()
}

// deaths counts the starts of a step that nobody here runs and that were never heard of again.
func deaths(st *world.Step) int {
	n := st.Deaths()
	if st.Status == world.StepRunning {
		n++ // its last start was in a process that is gone
	}
	return n
}

// taskDeaths counts the same for a task that was just claimed.
func taskDeaths(t *world.Task) int { return max(t.Attempt-1-t.Failures-t.Abandoned, 0) }

func crashLoop(what string, n int) *world.Error {
	return &world.Error{
		Message: fmt.Sprintf("%s ended its process %d times", what, n), Code: world.CodeCrashLoop, Permanent: true,
	}
}

// verdict says what is to become of a step that is ready: start it, let it wait for its place in quarantine, or fail
// it.
type verdict int

const (
	innocent    verdict = iota
	quarantined         // it may start now, as the only one in quarantine
	waits               // another in quarantine runs
	guilty              // it has died alone too often
)

func (t *isolation) judge(st *world.Step) verdict {
	switch n := deaths(st); {
	case n < companyDeaths:
		return innocent
	case n >= companyDeaths+aloneDeaths:
		return guilty
	case t.get():
		return quarantined
	}
	return waits
}
