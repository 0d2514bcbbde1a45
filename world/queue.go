package world

import "time"

// ClaimQuery says what a worker can claim.
type ClaimQuery struct {
	Worker  string
	Classes []Class  // of runs; a run to be cancelled is given whatever its class
	Runs    int      // at most this many
	Steps   []string // names of tasks
	Tasks   int      // at most this many

	// Run names one run, and nothing else is given: that run if it is runnable, or, with Step, that task of it if it is ready. Classes and Steps, Runs
	// and Tasks hold as ever. Where it is not ready, somebody has it, or it is unknown, nothing is given; More and Next are left out.
	Run  string
	Step string // correlation ID

	// Number counts the claims of a worker that lives elsewhere (see [Worker].Remote), from 1. Of several servers that
	// speak for it one alone gives something under a number, and none under a lower one than the last that gave
	// something or that asked for nothing: [ErrConflict]. 0: they are not counted. Where one process gives all that is
	// given, its order decides.
	Number int64
}

// Claimed is what a worker now holds.
type Claimed struct {
	Now   time.Time // the world's clock
	Runs  []ClaimedRun
	Tasks []Task
	Next  time.Time // when the next run or task of these classes and steps is due; zero: none that is known

	// More: the limits cut it, and something is ready still; claim again when there is room. Who has room for no run at all is told of what is due, and
	// perhaps not of what mail makes ready, which is costly to find.
	More bool
}

// ClaimedRun is one run that the worker now owns.
type ClaimedRun struct {
	Run      string
	Claim    int64 // grows with each claim: the number of this one
	Class    Class
	Status   Status // pending or running
	Priority int
	Seq      int64  // the last event
	Segment  int64  // number of the run_continued that began its newest segment; 0: its first
	Paused   bool   // it is claimed to be cancelled only
	Blocked  *Block // as it was; its try is this claim
	Mail     []Mail // in order of arrival

	// Log is the run's whole log, up to Seq, where the world has it at hand: a short one, as a new run's. Nil: it is to be read with [Log.Events].
	Log []Event

	// Strikes counts the claims in a row before this one that ended with neither a commit nor a release: their worker died while it
	// evaluated the run. A commit with events by the owner (its birth counts), a release and Leave end the row: zero. What others do
	// to the run changes nothing about it, and neither does a commit without events.
	Strikes int

	// Damage says what of the run's row is not what was written: the run is to be blocked. "": nothing.
	Damage string
}

// HeartbeatQuery says what a worker believes to hold.
type HeartbeatQuery struct {
	Worker string
	Tasks  []TaskKey

	// Account asks for all that the worker owns. Servers do for their workers; a worker whose answers come from the world itself knows.
	Account bool
}

// Heartbeat is what a worker learns at a heartbeat.
type Heartbeat struct {
	Now   time.Time // the world's clock
	Until time.Time // the lease ends at this time of that clock
	Mail  []Mail    // of all runs that the worker owns, in order of arrival, also mail that was given before and still waits
	Ended []TaskKey // of those asked: no longer held, or their run is over
	Lost  []string  // runs that ended, or are owned by somebody else, since the last heartbeat, as far as the world can tell

	Account *Account // nil: nobody asked for it
}
