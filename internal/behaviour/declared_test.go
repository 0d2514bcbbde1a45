package behaviour_test

import "testing"

func TestADefinitionHoldsForChildrenOfWhatIsDeclared(t *testing.T) {
	shared(t, "a definition holds for children of what is declared")
}

func TestAStartBeforeAnyWorkerHasNoLimits(t *testing.T) {
	shared(t, "a start before any worker has no limits")
}
