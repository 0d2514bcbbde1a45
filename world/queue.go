package world

import "time"

// ClaimQuery says what a worker can claim.
type ClaimQuery struct {
	Worker string `json:"worker"`
	// of runs; runs to be cancelled are given whatever their class
	Classes []Class `json:"classes,omitzero"`
	// at most this many
	Runs int `json:"runs,omitzero"`
	// names of registered steps
	Steps []string `json:"steps,omitzero"`
	// at most this many
	Tasks int `json:"tasks,omitzero"`

	// Run limits the claim to one run or, with Step, to that task of it. Classes, Steps, Runs and
	// Tasks apply as usual. If it is not ready, owned, or unknown, nothing is given. More and Next
	// are not set.
	Run string `json:"run,omitzero"`
	// correlation ID
	Step string `json:"step,omitzero"`

	// Number counts the claims of a remote worker (see [Worker].Remote), from 1. If several servers
	// act for the worker, only one of them gives something under a number, and none under a lower
	// number than the last that gave something or that asked for nothing: [ErrConflict]. 0: not
	// counted, because a single process gives everything, in its own order.
	Number int64 `json:"n,omitzero"`
}

// Claimed is the result of a claim.
type Claimed struct {
	// time of the store
	Now   time.Time    `json:"now"`
	Runs  []ClaimedRun `json:"runs,omitzero"`
	Tasks []Task       `json:"tasks,omitzero"`
	// when the next run or task of these classes and steps is due; zero: none known
	Next time.Time `json:"next,omitzero"`

	// More means that the limits cut the result, and something is still ready: claim again when
	// there is room. A claim with no room for runs counts what is due, but perhaps not what mail
	// makes ready, which is expensive to find.
	More bool `json:"more,omitzero"`
}

// ClaimedRun is one run that the worker now owns.
type ClaimedRun struct {
	Run      string `json:"run"`
	Claim    int64  `json:"take"` // number of this claim; it grows with each claim of the run
	Class    Class  `json:"class"`
	Status   Status `json:"status"` // pending or running
	Priority int    `json:"priority"`
	Seq      int64  `json:"seq"` // number of the last event
	// Segment: number of the run_continued that began the newest segment; 0: the first segment.
	Segment int64  `json:"segment,omitzero"`
	Paused  bool   `json:"paused,omitzero"`  // it is claimed only to be cancelled
	Blocked *Block `json:"blocked,omitzero"` // as it was; this claim is a try
	Mail    []Mail `json:"mail,omitzero"`    // in order of arrival

	// Log is the run's whole log, up to Seq, if the store has it at hand, as for a new run. Nil:
	// read it with [Log.Events].
	Log []Event `json:"log,omitzero"`

	// Strikes counts the earlier claims in a row that ended with neither a commit nor a release,
	// because their worker died while it evaluated the run. A commit with events by the owner (also
	// its birth), a release, and Leave reset it. What others do to the run, and commits without
	// events, do not.
	Strikes int `json:"strikes,omitzero"`

	// Damage says what of the run's row is damaged: the run must be blocked. "": nothing.
	Damage string `json:"damage,omitzero"`
}

// HeartbeatQuery says what a worker believes that it holds.
type HeartbeatQuery struct {
	Worker string    `json:"worker"`
	Tasks  []TaskKey `json:"tasks,omitzero"`

	// Account asks for everything that the worker owns. Servers use it for remote workers.
	Account bool `json:"-"`
}

// Heartbeat is the result of a heartbeat.
type Heartbeat struct {
	Now   time.Time `json:"now"`   // time of the store
	Until time.Time `json:"until"` // end of the lease, by that clock
	// Mail has all waiting mail of runs that the worker owns, in order of arrival, also mail that
	// an earlier heartbeat returned.
	Mail  []Mail    `json:"mail,omitzero"`
	Ended []TaskKey `json:"ended,omitzero"` // of those asked: no longer held, or their run is over
	// Lost are runs that ended, or that somebody else owns, since the last heartbeat, as far as the
	// store can tell.
	Lost []string `json:"lost,omitzero"`

	Account *Account `json:"owned,omitzero"` // nil: not asked for
}
