// Package worldtest holds a world to the contract of package world: a world that passes can replace any other with no change in
// what a workflow observes.
//
//	func TestWorld(t *testing.T) {
//		worldtest.Run(t, func(t testing.TB) world.World { return memory.New() })
//	}
//
// The checks use the world as workers and clients do, on its own clock. Leases in them are short, and what they wait for they poll
// for, with a bound; nothing sleeps and hopes. They run in parallel, each on a world of its own.
//
// A world need not have any ability: what is about one is checked where it is there. A world around another one passes
// [RunWrapper].
//
// A world that several processes can open passes [RunShared] as well, and one that several can work on [RunWorkers].
//
// What takes ten seconds to see (the default lease) is not checked here; a world has tests of its own for it.
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

// Run holds the worlds that open returns to the contract. Each call of open must return an empty world of its own; open
// registers what is to be cleaned up, and Close may have been called by then.
func Run(t *testing.T, open func(testing.TB) world.World) {
	RunSome(t, open, func(int) bool { return true })
}

// RunSome is [Run] with those checks alone that try says by their number, from 1.
func RunSome(t *testing.T, open func(testing.TB) world.World, try func(check int) bool) {
	runTopics(t, open, false, func(i int, _ string) bool { return try(i) })
}

// RunOver is [Run] for a world that stands before another one, which passes Run itself: across a network, behind a pooler, with encryption. It
// is without the few checks that fill the store, as thousands of calls cost minutes there and say nothing of what stands before it; and it tries
// those alone that try says by their number, from 1. A nil try tries all. Two things may be otherwise there: a commit or a worker that comes again, as
// networks repeat what they carry, may be answered as it was at first; and what a worker gave back may be given a little later, where another server gives it.
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

// RunShared holds two World objects on one storage to the contract: a, which has workers, and b, beside it, which only reads and
// sends, as a command line does. open returns a fresh pair each time.
func RunShared(t *testing.T, open func(testing.TB) (a, b world.World)) {
	RunSharedSome(t, open, func(int) bool { return true })
}

// RunSharedSome is [RunShared] with those checks alone that try says by their number, from 1.
func RunSharedSome(t *testing.T, open func(testing.TB) (a, b world.World), try func(check int) bool) {
	runPairs(t, slices.Concat(shared, beside), open, try)
}

// RunWorkers holds two World objects on one storage to the contract, where both may have workers: a world for many processes passes it
// beside [RunShared]. open returns a fresh pair each time; both may be the same object.
func RunWorkers(t *testing.T, open func(testing.TB) (a, b world.World)) {
	RunWorkersSome(t, open, func(int) bool { return true })
}

// RunWorkersSome is [RunWorkers] with those checks alone that try says by their number, from 1.
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
