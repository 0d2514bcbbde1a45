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
	// companyDeaths is how often a step may die in company; from its next start on it is its worker's only suspect.
	companyDeaths = 2
	// aloneDeaths is how often it may die as the only suspect; then it fails with CRASH_LOOP.
	aloneDeaths = 5
	// maxStrikes is how many takes in a row may end with neither commit nor release; then the run's code is evaluated alone, once.
	maxStrikes = 3
	// sureTries is how often a run may be blocked for it by one build; then that build is tried again at each sameBuildTries-th look only, about once an hour.
	sureTries      = 2
	sameBuildTries = 60
)

// mayEvaluate decides whether the run's code is evaluated at all. Code that ended its process each time is evaluated once more, as the worker's only
// suspect, and then blocked:
//
//  1. The run is released, blocked with no tries yet. So whoever takes it knows, though its strikes ended with that release, and what others do while it
//     waits is not counted.
//  2. When its turn has come it is released once more, marked to be evaluated alone. One run of a worker at a time has that mark.
//  3. It is taken and evaluated. A strike of a run that has the mark is its own, most likely: what is not known yet to end processes may still run beside it. So it is
//     only blocked, and tried again alone.
func (s *session) mayEvaluate(ctx context.Context, tk world.TakenRun) bool {
	s.struck = tk.Strikes > 0
	b := world.Block{Code: world.CodeCrashLoop, Since: s.now, Build: s.e.cfg.Build}
	b.Message = fmt.Sprintf("its code ended its process %d times in a row before anything could be recorded; it is to be evaluated alone", tk.Strikes)
	switch {
	case s.wf == nil:
		return true
	case tk.Blocked != nil && tk.Blocked.Code == world.CodeCrashLoop:
		b = *tk.Blocked
	case tk.Strikes < maxStrikes:
		return true
	}
	s.state, s.durable = &world.State{ID: s.run, Seq: tk.Seq, Status: tk.Status}, tk.Seq
	switch {
	case b.Alone && tk.Strikes > 0, s.knownGuilty(&b):
		s.failure = Block(world.CodeCrashLoop, errors.New("its code ended its process, again and again and at last alone, before anything could be recorded"))
		s.turn.release = s.releaseNow()
		s.e.callAlone(s.run, false)
	case b.Alone && s.e.suspects.try(1) == 1:
		s.e.callAlone(s.run, false)
		s.state, s.struck = nil, true
		s.absolved++ // given back with the first commit
		return true
	default:
		wake := s.now
		if b.Alone = s.e.callAlone(s.run, true); !b.Alone {
			wake = wake.Add(suspectPause/2 + rand.N(suspectPause)) // so that those who wait do not come all at once
		}
		s.turn.release = &world.Release{Blocked: &b, WakeAt: wake}
	}
	s.commit(ctx)
	s.ended = true
	return false
}

// callAlone makes a run the next to be evaluated alone, or takes that back. It reports whether the run is the next: not while a suspect runs, nor while another run is called,
// but for one that has not come for long.
func (e *Engine) callAlone(run string, on bool) bool {
	const patience = 2 * time.Second
	free := e.suspects.available() > 0
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case !on:
		if e.called == run {
			e.called = ""
		}
		return false
	case !free, e.called != "" && e.called != run && time.Since(e.calledAt) < patience:
		return false
	}
	e.called, e.calledAt = run, time.Now()
	return true
}

// knownGuilty reports whether trying the code again would only end this process too: it is the same build. Now and then it is tried all the same, as the fault may have been
// outside of it.
func (s *session) knownGuilty(b *world.Block) bool {
	return b.Tries >= sureTries && b.Tries%sameBuildTries > 0 && b.Build != "" && b.Build == s.e.cfg.Build
}

// acquit reports whether the session is about to wait though nothing shows yet that its run's code was evaluated and did no harm: the run was struck, and nothing was
// written since. It is released then and taken anew, which ends its strikes, so that it cannot be blamed for what others do meanwhile.
func (s *session) acquit() bool {
	t := &s.turn
	return s.struck && s.failure == nil && len(s.bodies)+len(t.starts)+len(t.rest) == 0 && t.empty() && !t.conditional()
}

// deaths counts the starts of a step that nobody here runs and that were never heard of again.
func deaths(st *world.Step) int {
	n := st.Deaths()
	if st.Status == world.StepRunning {
		n++ // its last start was in a process that is gone
	}
	return n
}

// taskDeaths counts the same for a task that was just taken.
func taskDeaths(t *world.Task) int { return max(t.Attempt-1-t.Failures-t.Abandoned, 0) }

func crashLoop(what string, n int) *world.Error {
	return &world.Error{
		Message: fmt.Sprintf("%s ended its process %d times", what, n), Code: world.CodeCrashLoop, Permanent: true,
	}
}

// suspicion says what is to become of a step that is ready: start it, let it wait for its turn as a suspect, or fail it.
type suspicion int

const (
	innocent suspicion = iota
	suspect            // it may start now, as the only suspect
	waits              // another suspect runs
	guilty             // it has died alone too often
)

func (s *session) judge(st *world.Step) suspicion {
	switch n := deaths(st); {
	case n < companyDeaths:
		return innocent
	case n >= companyDeaths+aloneDeaths:
		return guilty
	case s.tokens > 0:
		s.tokens--
		return suspect
	case s.e.suspects.try(1) == 1:
		return suspect
	}
	if !s.askingTurn {
		s.askingTurn = true
		s.e.suspects.wait(func() {
			if !s.post(message{kind: msgTurn}) {
				s.e.suspects.release(1)
			}
		})
	}
	return waits
}

// absolve ends the turns of suspects whose outcome is in the log now.
func (s *session) absolve() {
	s.e.suspects.release(s.absolved)
	s.absolved = 0
}
