package behaviour_test

// What people send to runs, with a deadline: as PostgreSQL's tests ask for it, in virtual time.

import "testing"

func TestHookWithADeadline(t *testing.T) {
	shared(t, "a hook with a deadline: nobody came, somebody came, and what is there")
}

func TestHookWithADeadlineIsNamedForPeople(t *testing.T) {
	shared(t, "a hook with a deadline is named for people")
}

func TestAWorkflowSendsToAnotherRun(t *testing.T) { shared(t, "a workflow sends to another run, once") }

func TestWhatIsSentLastIsSent(t *testing.T) { shared(t, "what is sent last is sent all the same") }

func TestAStartThatAlsoSends(t *testing.T) { shared(t, "a start that also sends") }

func TestAChildWithDelayKeyAndAttributes(t *testing.T) {
	shared(t, "a child with delay, key and attributes")
}

func TestAnEventThatNobodyWantsIsDropped(t *testing.T) {
	shared(t, "an event that nobody wants is dropped")
}

func TestAStepAloneAndWhatIsDeclared(t *testing.T) {
	shared(t, "a step alone, and what is declared")
}
