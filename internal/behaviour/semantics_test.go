package behaviour_test

// The answers at the edges (docs/failures.md) that every store is asked for in the same words. PostgreSQL's tests ask for them in real time.

import (
	"testing"

	"github.com/stepwell/stepwell/internal/answers"
)

// shared tests one of them.
func shared(t *testing.T, name string) {
	t.Helper()
	test := answers.Shared()[name]
	if test == nil {
		t.Fatalf("there is no %q", name)
	}
	everyWay(t, func(r *rig) {
		test(r.T, answers.Stage{World: r.world, Mode: r.mode, Replays: r.replays})
	})
}

func TestAnswer08FatalAndPermanentCountAnywhereInTheChain(t *testing.T) {
	shared(t, "answer 8: Fatal and Permanent count anywhere in the chain")
}

func TestAnswer08RetryAfterInsideAndOutsideOfFatal(t *testing.T) {
	shared(t, "answer 8: RetryAfter sets the delay, Fatal counts anywhere in the chain")
}

func TestAnswer09AResultThatCannotBeKeptFailsTheStepAtOnce(t *testing.T) {
	shared(t, "answer 9: a result that cannot be kept fails the step at once")
}

func TestAnswer09AnErrorThatIsTooLargeIsCutAndSaysSo(t *testing.T) {
	shared(t, "answer 9: an error that is too large is cut and says so")
}

func TestAnswer09ALowerLimitHoldsForNewWritesOnly(t *testing.T) {
	shared(t, "answer 9: what cannot be kept fails the step; a lower limit is for the new")
}

func TestAnswer11ContextCanceledThatNobodyCancelledIsAnOrdinaryError(t *testing.T) {
	shared(t, "answer 11: context.Canceled that nobody meant is an ordinary error")
}

func TestAnswer13AValueThatTodaysTypeCannotHoldBlocksTheRun(t *testing.T) {
	shared(t, "answer 13: what today's type cannot hold blocks, and nil is a result")
}

func TestAnswer13ANilResultIsAResult(t *testing.T) {
	shared(t, "answer 13: a nil result is a result")
}

func TestAnswer16TheFirstCoroutineThatEndsTheRunCounts(t *testing.T) {
	shared(t, "answer 16: the first coroutine in order that ends the run counts")
}

func TestAnswer16TwoThatWaitForOneResultEndInTheirOrder(t *testing.T) {
	shared(t, "answer 16: two that wait for one result end in coroutine order as well")
}

func TestAnswer17ARunThatIsPendingEndsWithoutItsCode(t *testing.T) {
	shared(t, "answer 17: a run that has not begun is cancelled without its code")
}

func TestAnswer18AForcedCancelRunsNothingMore(t *testing.T) {
	shared(t, "answer 18: a forced cancel runs nothing more")
}

func TestAnswer20ATakenRunIDIsAnErrorAndAStartWithoutOneIsANewRun(t *testing.T) {
	shared(t, "answer 20: a taken ID is an error, and a start without one is a new run")
}

func TestAnswer20ATakenChildIDIsAnErrorAndTheStrangerIsNotAdopted(t *testing.T) {
	shared(t, "answer 20: a taken ID is an error, and a stranger is not adopted")
}

func TestAnswer22AKeyGivesTheExistingRunInWhateverStateItIs(t *testing.T) {
	shared(t, "answer 22: a key gives the existing run in whatever state it is")
}

func TestAnswer30UnknownAndEndedRunsAreTold(t *testing.T) {
	shared(t, "answer 30: unknown runs and runs that are over are told apart")
}
