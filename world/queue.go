package world

import "time"

// ClaimQuery says what a worker can claim.
type ClaimQuery struct {
	Worker  string
	Classes []Class  // of runs; runs to be cancelled are given whatever their class
	Runs    int      // at most this many
	Steps   []string // names of registered steps
	Tasks   int      // at most this many

	// Run limits the claim to one run or, with Step, to that task of it. Classes, Steps, Runs and
	// Tasks apply as usual. If it is not ready, owned, or unknown, nothing is given. More and Next
	// are not set.
	Run  string
	Step string // correlation ID

	// Number counts the claims of a remote worker (see [Worker].Remote), from 1. If several servers
	// act for the worker, only one of them gives something under a number, and none under a lower
	// number than the last that gave something or that asked for nothing: [ErrConflict]. 0: not
	// counted, because a single process gives everything, in its own order.
	Number int64
}

// Claimed is the result of a claim.
type Claimed struct {
	Now   time.Time // time of the store
	Runs  []ClaimedRun
	Tasks []Task
	Next  time.Time // when the next run or task of these classes and steps is due; zero: none known

	// More means that the limits cut the result, and something is still ready: claim again when
	// there is room. A claim with no room for runs counts what is due, but perhaps not what mail
	// makes ready, which is expensive to find.
	More bool
}

// ClaimedRun is one run that the worker now owns.
type ClaimedRun struct {
	Run      string
	Claim    int64 // number of this claim; it grows with each claim of the run
	Class    Class
	Status   Status // pending or running
	Priority int
	Seq      int64 // number of the last event
	// Segment: number of the run_continued that began the newest segment; 0: the first segment.
	Segment int64
	Paused  bool   // it is claimed only to be cancelled
	Blocked *Block // as it was; this claim is a try
	Mail    []Mail // in order of arrival

	// Log is the run's whole log, up to Seq, if the store has it at hand, as for a new run. Nil:
	// read it with [Log.Events].
	Log []Event

	// Strikes counts the earlier claims in a row that ended with neither a commit nor a release,
	// because their worker died while it evaluated the run. A commit with events by the owner (also
	// its birth), a release, and Leave reset it. What others do to the run, and commits without
	// events, do not.
	Strikes int

	// Damage says what of the run's row is damaged: the run must be blocked. "": nothing.
	Damage string
}

// HeartbeatQuery says what a worker believes that it holds.
type HeartbeatQuery struct {
	Worker string
	Tasks  []TaskKey

	// Account asks for everything that the worker owns. Servers use it for remote workers.
	Account bool
}

// Heartbeat is the result of a heartbeat.
type Heartbeat struct {
	Now   time.Time // time of the store
	Until time.Time // end of the lease, by that clock
	// Mail has all waiting mail of runs that the worker owns, in order of arrival, also mail that
	// an earlier heartbeat returned.
	Mail  []Mail
	Ended []TaskKey // of those asked: no longer held, or their run is over
	// Lost are runs that ended, or that somebody else owns, since the last heartbeat, as far as the
	// store can tell.
	Lost []string

	Account *Account // nil: not asked for
}
