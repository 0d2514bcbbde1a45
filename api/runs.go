package api

import (
	"encoding/json"
	"time"

	"github.com/stepwell/stepwell/world"
)

// Run is the state of a run.
type Run struct {
	ID             string       `json:"id"`
	Workflow       string       `json:"workflow"`
	Version        int          `json:"version"` // 0: its first claim decides
	Status         world.Status `json:"status"`  // pending, running, or how it ended
	IdempotencyKey string       `json:"idempotencyKey,omitempty"`
	// FirstKey is the idempotency key of the first run that this one replaced.
	FirstKey string `json:"firstKey,omitempty"`
	Priority int    `json:"priority"` // 1 to 4; 4 is served first
	// Input is JSON: the input, or a reference to it if InputApart is set.
	Input json.RawMessage `json:"input,omitempty"`
	// Output is the same for the output. Nil: the run has not completed.
	Output json.RawMessage `json:"output,omitempty"`
	// InputApart is the ID of the input if it is stored apart.
	InputApart  string        `json:"inputApart,omitempty"`
	OutputApart string        `json:"outputApart,omitempty"` // the same for the output
	Error       *world.Error  `json:"error,omitempty"`       // nil: none
	Parent      *world.Parent `json:"parent,omitempty"`      // whose child it is; nil: none
	Origin      *world.Origin `json:"origin,omitempty"`      // the source of a fork, restart or retry
	Newest      *world.Heir   `json:"newest,omitempty"`      // the newest run that replaced it; nil: none
	CreatedAt   time.Time     `json:"createdAt"`
	// StartedAt is when its code began. Zero: it has not begun, or its log does not say.
	StartedAt time.Time `json:"startedAt,omitzero"`
	EndedAt   time.Time `json:"endedAt,omitzero"`    // zero: it is not over
	Retention Lasting   `json:"retention,omitempty"` // how long it is kept after its end
	// StartTTL is how late the run may begin. 0: no limit.
	StartTTL Lasting `json:"startTTL,omitempty"`
	// Gather is set for runs that gather starts.
	Gather *world.Gather `json:"gather,omitempty"`
	// Timeout limits the whole run. 0: no limit.
	Timeout    Lasting                    `json:"timeout,omitempty"`
	Attributes map[string]json.RawMessage `json:"attributes,omitempty"`
	Claims     int64                      `json:"claims"` // how often a worker has claimed it
	// Encryption is the ID of the key that encrypts its payloads. "": none.
	Encryption string `json:"encryption,omitempty"`
	// Sealed means that the payloads here are still encrypted, because the server lacks the key.
	Sealed bool            `json:"sealed,omitempty"`
	Queue  *world.QueueRow `json:"queue,omitempty"` // nil once the run is over
	// Merged means that the start was merged into this run.
	Merged bool `json:"merged,omitempty"`
	// Late lists deliveries that came after the run's end, at most 100.
	Late []world.Late `json:"late,omitempty"`
	// Damage says which damaged parts of the run's row are left out here. "": none.
	Damage string `json:"damage,omitempty"`
}

// StartedRun is a run that was started, or that existed already.
type StartedRun struct {
	Run
	// Existed means that the run is older than the call: it has the idempotency key, or is the
	// live run of a singleton.
	Existed bool `json:"-"`
}

// StartRun starts a run.
type StartRun struct {
	Workflow string `path:"workflow" json:"-"`
	// Key is the idempotency key: with the same key you get the run that has it.
	Key string `header:"Idempotency-Key" json:"-"`
	// Input is any JSON.
	Input json.RawMessage `json:"input,omitempty"`
	// ID has 1 to 128 of A-Z a-z 0-9 _ . : @ ~ -. None: a new one. An ID that another run has is
	// refused.
	ID string `json:"id,omitempty" schema:"maxLength=128"`
	// Version 0 is the highest that a live worker has.
	Version int `json:"version,omitempty" schema:"min=0"`
	// IdempotencyKey is the same as the header Idempotency-Key.
	IdempotencyKey string `json:"idempotencyKey,omitempty" schema:"maxLength=512"`
	// RetentionDays is how long the run is kept after its end. 0: as the workflow says. The server
	// may lower it: retention in the answer applies.
	RetentionDays int `json:"retentionDays,omitempty" schema:"min=0,max=36525"`
	// Delay is how much later the run begins.
	Delay Span `json:"delay,omitempty" schema:"example=30s"`
	// Timeout limits the whole run; forever: no limit. None: as the workflow says.
	Timeout Lasting `json:"timeout,omitempty" schema:"example=7d"`
	// StartTTL is how late the run may begin; forever: no limit. None: as the workflow says.
	StartTTL Lasting `json:"startTTL,omitempty" schema:"example=1h"`
	// Priority is 1 to 4. Runs with 4 are served first. 0: 2.
	Priority   int                        `json:"priority,omitempty" schema:"min=0,max=4"`
	Attributes map[string]json.RawMessage `json:"attributes,omitempty"`
	// Context are the tags of the run, such as the headers of a trace.
	Context map[string]string `json:"context,omitempty"`
	// Signals are events that the run gets with its start. If the idempotency key belongs to a run
	// already, that run gets them.
	Signals []StartSignal `json:"signals,omitempty" schema:"maxItems=100"`
}

// StartSignal is an event that a start sends to its run.
type StartSignal struct {
	Event string `json:"event" schema:"maxLength=256"`
	// Payload is any JSON.
	Payload json.RawMessage `json:"payload,omitempty"`
	// DeliveryID is delivered to a run once for each event.
	DeliveryID string `json:"deliveryId,omitempty" schema:"maxLength=512"`
}

// ListRuns selects runs, newest first. Fields that are not set select all.
type ListRuns struct {
	Workflow string `path:"workflow" json:"-"` // "": all
	// Status are statuses or conditions, with commas.
	Status string `query:"status" json:"-"`
	// Since and Until are times, or that long ago, such as 2h.
	Since  string `query:"since" json:"-"`
	Until  string `query:"until" json:"-"`
	Search string `query:"search" json:"-"`
	Key    string `query:"key" json:"-"` // idempotency key
	Parent string `query:"parent" json:"-"`
	Origin string `query:"origin" json:"-"`
	// Attributes select runs whose attributes have these values.
	Attributes map[string]string `query:"attr." json:"-"`
	// Input selects runs whose input has these values at these paths.
	Input map[string]string `query:"input." json:"-"`
	// Payloads adds inputs and outputs.
	Payloads bool   `query:"payloads" json:"-"`
	Cursor   string `query:"cursor" json:"-"`
	Limit    int    `query:"limit" json:"-" schema:"min=1,max=200,default=50"`
}

// RunPage is a page of runs. It may be short, even empty, and have a cursor.
type RunPage struct {
	Runs []ListedRun `json:"runs"`
	// Cursor is where the next page begins. None: this is the end.
	Cursor string `json:"cursor,omitempty"`
	// Reached is how far back the page has looked.
	Reached time.Time `json:"reached,omitzero"`
}

// ListedRun is a run of a list.
type ListedRun struct {
	Run
	// Why says why it does not move, as far as its row tells it.
	Why json.RawMessage `json:"why"`
}

// GetRun names a run.
type GetRun struct {
	Workflow string `path:"workflow" json:"-"` // "": the ID is enough
	Run      string `path:"run" json:"-"`
	// Wait is how long to wait for the end of the run: at most 60s, unless the server is
	// configured otherwise.
	Wait Span `query:"wait" json:"-"`
	// Newest is true or false: show the newest run that replaced this one. "": with Wait.
	Newest string `query:"newest" json:"-"`
}

// CancelRun asks a run to end.
type CancelRun struct {
	Workflow string `path:"workflow" json:"-"` // "": the ID is enough
	Run      string `path:"run" json:"-"`
	// Reason is kept in the log.
	Reason string `query:"reason" json:"-" audit:"reason"`
	// Force ends it at once; its code does not clean up. It needs a key of scope admin.
	Force bool `query:"force" json:"-"`
}

// SignalRun sends an event to a run. Its body is the payload.
type SignalRun struct {
	Workflow string `path:"workflow" json:"-"` // "": the ID is enough
	Run      string `path:"run" json:"-"`
	Event    string `path:"event" json:"-"`
	// Key is the delivery ID: the same ID is delivered to a run once for each event, for at least
	// 24 hours and the last 10,000 deliveries of the run.
	Key string `header:"Idempotency-Key" json:"-"`
	// Payload is any JSON. None: null.
	Payload json.RawMessage `body:"" json:"-"`
}

// Accepted means that something is durable.
type Accepted struct {
	Accepted bool `json:"accepted"`
}

// PauseRun stops a run.
type PauseRun struct {
	Workflow string `path:"workflow" json:"-"` // "": the ID is enough
	Run      string `path:"run" json:"-"`
	// Reason is kept in the log.
	Reason string `json:"reason,omitempty" audit:"reason"`
}

// ResumeRun names a paused run.
type ResumeRun struct {
	Workflow string `path:"workflow" json:"-"` // "": the ID is enough
	Run      string `path:"run" json:"-"`
}

// WakeRun ends delays of a run. Without a choice: retries and sleeps.
type WakeRun struct {
	Workflow string `path:"workflow" json:"-"` // "": the ID is enough
	Run      string `path:"run" json:"-"`
	// Retries ends the delays before the next attempts of steps, and tries a blocked run again.
	Retries bool `json:"retries,omitempty"`
	// Starts ends the delay of the start.
	Starts bool `json:"starts,omitempty"`
	// Sleeps ends sleeps and timers.
	Sleeps bool `json:"sleeps,omitempty"`
}

// Woken says how many delays a wake ended, in all and of each kind.
type Woken struct {
	Woken   int `json:"woken"`
	Retries int `json:"retries"`
	Starts  int `json:"starts"`
	Sleeps  int `json:"sleeps"`
}

// RestartRun starts a new run with the input of another.
type RestartRun struct {
	Workflow string `path:"workflow" json:"-"` // "": the ID is enough
	Run      string `path:"run" json:"-"`
	// ID is the ID of the new run.
	ID      string `json:"id,omitempty"`
	Version int    `json:"version,omitempty" schema:"min=0"`
	// Input replaces the input.
	Input json.RawMessage `json:"input,omitempty"`
	// InPlace replaces the other run, which is over and did not complete: a start with its key, or
	// a wait for its result, gets the new run.
	InPlace bool `json:"inPlace,omitempty"`
}

// ForkRun starts a new run from an event of another.
type ForkRun struct {
	Workflow string `path:"workflow" json:"-"` // "": the ID is enough
	Run      string `path:"run" json:"-"`
	// At is the number or the ID of the last event that is taken over. None: the last one.
	At Position `json:"at,omitempty"`
	// ID is the ID of the new run.
	ID string `json:"id,omitempty"`
	// Version 0 is the version of the source.
	Version int             `json:"version,omitempty" schema:"min=0"`
	Input   json.RawMessage `json:"input,omitempty"`
	// Results replace results of steps, by the name of the step as it is shown, or by its ID.
	Results map[string]json.RawMessage `json:"results,omitempty"`
}

// RetryRun names a failed run.
type RetryRun struct {
	Workflow string `path:"workflow" json:"-"` // "": the ID is enough
	Run      string `path:"run" json:"-"`
}

// Operations on runs.
var (
	StartRunOp = op[StartRun, StartedRun](Row{
		ID: "startRun", Method: "POST", Path: "/v1/workflows/{workflow}/runs", Scope: Operator, Audit: true, Status: 201,
		Summary: "Start a run", Answers: "The run, which is durable.",
		Existing: "The run that has the idempotency key, or the live run of a singleton.",
	})
	ListRunsOp = op[ListRuns, RunPage](Row{
		ID: "listRuns", Method: "GET", Path: "/v1/workflows/{workflow}/runs", Scope: Viewer, Wide: true,
		Summary: "List the runs of a workflow",
		Answers: "A page of runs, newest first. A page of a filtered list may be short, even empty, and have a cursor.",
	})
	GetRunOp = op[GetRun, Run](Row{
		ID: "getRun", Method: "GET", Path: runPath, Scope: Viewer, Waits: true,
		Summary: "Show a run, or wait for its result",
		Answers: "The current state of the run; with wait, possibly still not over, and the newest run that replaced it.",
	})
	CancelRunOp = op[CancelRun, Run](Row{
		ID: "cancelRun", Method: "DELETE", Path: runPath, Scope: Operator, Audit: true, Status: 202,
		Summary: "Ask a run to end", Answers: "The request is durable; forced, the run is over.",
	})
	SignalRunOp = op[SignalRun, Accepted](Row{
		ID: "signalRun", Method: "POST", Path: runPath + "/signals/{event}", Scope: Operator, Audit: true, Status: 202,
		Summary: "Send an event to a run", Answers: "The payload is durable; it is kept until a wait takes it.",
	})
	PauseRunOp = op[PauseRun, Run](Row{
		ID: "pauseRun", Method: "POST", Path: runPath + "/pause", Scope: Operator, Audit: true, Status: 202, Twice: true,
		Summary: "Stop a run until you resume it", Answers: runNow,
	})
	ResumeRunOp = op[ResumeRun, Run](Row{
		ID: "resumeRun", Method: "POST", Path: runPath + "/resume", Scope: Operator, Audit: true, Status: 202, Twice: true,
		Summary: "Let a paused run continue", Answers: runNow,
	})
	WakeRunOp = op[WakeRun, Woken](Row{
		ID: "wakeRun", Method: "POST", Path: runPath + "/wake", Scope: Operator, Audit: true, Status: 202,
		Summary: "End the retry delays and sleeps of a run now, or those that are named, or its start delay", Answers: "How many there were.",
	})
	RestartRunOp = op[RestartRun, StartedRun](Row{
		ID: "restartRun", Method: "POST", Path: runPath + "/restart", Scope: Operator, Audit: true, Status: 201,
		Summary: "Start a new run with the input of another", Answers: "The new run.",
	})
	ForkRunOp = op[ForkRun, StartedRun](Row{
		ID: "forkRun", Method: "POST", Path: runPath + "/fork", Scope: Operator, Audit: true, Status: 201,
		Summary: "Start a new run from any event of another", Answers: "The new run.",
	})
	RetryRunOp = op[RetryRun, StartedRun](Row{
		ID: "retryRun", Method: "POST", Path: runPath + "/retry", Scope: Operator, Audit: true, Status: 201, Twice: true,
		Summary: "Continue a failed run from the step that failed, in a new run", Answers: "The new run.",
		Existing: "The run that an earlier retry began.",
	})
)

const (
	runPath = "/v1/workflows/{workflow}/runs/{run}"
	runNow  = "It is durable; this is the run now."
)
