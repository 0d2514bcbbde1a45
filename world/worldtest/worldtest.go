// Package worldtest tests a store against the contract of package world. A store that passes can
// replace any other without a visible change to workflows.
//
//	func TestWorld(t *testing.T) {
//		worldtest.Run(t, func(t testing.TB) world.World { return memory.New() })
//	}
//
// The checks use the store as workers and clients do, on its own clock. They use short leases, and
// poll for results with a time limit instead of sleeping. They run in parallel, each on its own
// store.
//
// [world.Abilities] are optional: their checks run only if the store has them. For a store that
// several processes can open, also use [RunShared], and if several can run workers, [RunWorkers].
//
// Effects that take ten seconds (the default lease) are not checked; a store needs its own tests
// for them.
package worldtest

import (
	"slices"
	"testing"

	"github.com/stepwell/stepwell/world"
)

// check is one promise of a world.
type check struct {
	name string // the promise, in few words
	law  string // the rule that it follows from
	test func(r *rig)
}

// bulky are the names of the checks that fill a store: see RunOver.
var bulky = []string{
	"ten thousand deliveries are known", "ten thousand payloads are enough", "a list of hooks is bounded", "a parent of many hears of each",
	"many runs are trimmed, and no other", "many chunks are trimmed",
}

// topics are all checks, by what they are about; each has a file.
var topics = []struct {
	name   string
	checks []check
}{
	{"births", births},
	{"long births", longBirths},
	{"log", logs},
	{"cursors", cursors},
	{"whole commits", whole},
	{"fencing", fencing},
	{"outcome", outcomes},
	{"calls given up", givenUps},
	{"inbox", inbox},
	{"deliveries", deliveries},
	{"marks", marks},
	{"senders", senders},
	{"queue", queue},
	{"by name", byName},
	{"ready", readies},
	{"turns", turns},
	{"turns of cancels and equals", cancelOrder},
	{"leases", leases},
	{"strikes", strikes},
	{"survival", survival},
	{"tasks", tasks},
	{"attempts", attempts},
	{"tokens", tokens},
	{"relatives", relatives},
	{"acts", acts},
	{"waiting acts", waitingActs},
	{"forced cancels", forced},
	{"admin", admin},
	{"lists", lists},
	{"sweeping", swept},
	{"segments", segments},
	{"segment streams", segmentStreams},
	{"counts", counts},
	{"notices", notices},
	{"times", times},
	{"refusals", refusals},
	{"streams", streams},
	{"keys", keys},
	{"definitions", definitions},
	{"metrics", metrics},
	{"messages", messages},
	{"messages of commits", messagesOfCommits},
	{"messages in transactions", messagesInTx},
	{"listening", listening},
	{"topics", published},
	{"topics of commits", publishedByCommits},
	{"values apart", slices.Concat(aparts, apartsNamed)},
	{"schedules", schedules},
	{"starts", starts},
	{"gathering", gathers},
	{"limits", limits},
	{"limits of tasks", limitsOfTasks},
	{"limits of what no worker has", limitsOfNeglected},
	{"limits of messages", slices.Concat(limitsOfMessages, saidOfMessages)},
	{"weights", weights},
	{"rates", rates},
	{"singletons", singles},
}

// Run tests the stores that open returns against the contract. Each call of open must return a new,
// empty store, and register its cleanup. Checks may have called Close by then.
func Run(t *testing.T, open func(testing.TB) world.World) {
	RunSome(t, open, func(int) bool { return true })
}

// RunSome is [Run] with only the checks that try selects by number, from 1.
func RunSome(t *testing.T, open func(testing.TB) world.World, try func(check int) bool) {
	runTopics(t, open, false, func(i int, _ string) bool { return try(i) })
}

// RunOver is [Run] for a store in front of another one that passes Run itself: across a network,
// behind a pooler, with encryption. It omits the few checks that fill the store, which are slow
// there. try selects checks by number, from 1; nil: all.
//
// Two deviations are permitted: a repeated commit or worker, as networks cause, may get the first
// answer; and work that a worker gave back may be given a little later, if another server gives it.
func RunOver(t *testing.T, open func(testing.TB) world.World, try func(check int) bool) {
	runTopics(t, open, true, func(i int, name string) bool { return !slices.Contains(bulky, name) && (try == nil || try(i)) })
}

func runTopics(t *testing.T, open func(testing.TB) world.World, over bool, try func(i int, name string) bool) {
	i := 0
	for _, topic := range topics {
		t.Run(topic.name, func(t *testing.T) {
			checks := slices.DeleteFunc(slices.Clone(topic.checks), func(c check) bool { i++; return !try(i, c.name) })
			t.Parallel()
			for _, c := range checks {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					t.Log("law:", c.law)
					r := newRig(t, open(t))
					r.over = over
					c.test(r)
				})
			}
		})
	}
}

// RunShared tests two Worlds on one storage: a has workers, and b only reads and sends, as a
// command line does. open returns a new pair each time.
func RunShared(t *testing.T, open func(testing.TB) (a, b world.World)) {
	RunSharedSome(t, open, func(int) bool { return true })
}

// RunSharedSome is [RunShared] with only the checks that try selects by number, from 1.
func RunSharedSome(t *testing.T, open func(testing.TB) (a, b world.World), try func(check int) bool) {
	runPairs(t, slices.Concat(shared, beside), open, try)
}

// RunWorkers tests two Worlds on one storage, both with workers. A store for many processes must
// pass it and [RunShared]. open returns a new pair each time; both may be the same object.
func RunWorkers(t *testing.T, open func(testing.TB) (a, b world.World)) {
	RunWorkersSome(t, open, func(int) bool { return true })
}

// RunWorkersSome is [RunWorkers] with only the checks that try selects by number, from 1.
func RunWorkersSome(t *testing.T, open func(testing.TB) (a, b world.World), try func(check int) bool) {
	runPairs(t, workers, open, try)
}

func runPairs(t *testing.T, checks []sharedCheck, open func(testing.TB) (a, b world.World), try func(check int) bool) {
	for i, c := range checks {
		if !try(i + 1) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			t.Log("law:", c.law)
			a, b := open(t)
			c.test(newRig(t, a), newRig(t, b))
		})
	}
}
