package engine

// Steps and workflow code that end their process. A start that was never heard of again is a death; nobody can tell which of those that ran did
// it, so all are counted, and those that were there too often run one at a time until one is found out.

import (
	"fmt"

	"github.com/stepwell/stepwell/world"
)

const (
	// companyDeaths is how often a step may die in company; from its next start on it is its worker's only suspect.
	companyDeaths = 2
	// aloneDeaths is how often it may die as the only suspect; then it fails with CRASH_LOOP.
	aloneDeaths = 5
	// maxStrikes is how many takes in a row may end with neither commit nor release; then the run's code is evaluated alone, once.
	maxStrikes = 3
)

// deaths counts the starts of a step that nobody here runs and that were never heard of again.
func deaths(st *world.Step) int {
	n := st.Deaths()
	if st.Status == world.StepRunning {
		n++ // its last start was in a process that is gone
	}
	return n
}

// taskDeaths counts the same for a task that was just taken.
func taskDeaths(t *world.Task) int {
	abandoned := 0
	for i := range t.History {
		if e := &t.History[i]; e.Type == world.StepRetrying && e.Error != nil && e.Error.Code == world.CodeAbandoned {
			abandoned++
		}
	}
	return max(t.Attempt-1-t.Failures-abandoned, 0)
}

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
