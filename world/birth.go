package world

// This file holds what a run is created with. How the head of its first row has it, package layout says.

import (
	"encoding/json"
	"time"
)

// RetryKey is the idempotency key, beside others of its workflow, of the run that takes the place of another: its retry, or its restart in place. Who waits
// for a run that is over and did not complete waits for that one.
func RetryKey(run string) string { return "retry:" + run }

// Birth is what run_created says of a run, beside its input, which is the event's payload.
type Birth struct {
	Workflow   string                     `json:"workflow"`
	Version    int                        `json:"version,omitempty"`   // 0: the first claimer's highest
	Seed       uint64                     `json:"seed"`                // of everything random in the workflow's code; 0: hidden from this reader, see HideSecrets
	Key        string                     `json:"key,omitempty"`       // idempotency key, unique per workflow
	Priority   int                        `json:"priority,omitempty"`  // 0 to 3; 3 is served first; default 1
	Retention  time.Duration              `json:"retention,omitempty"` // how long the run is kept after its end, in ns; 0: for ever
	Timeout    time.Duration              `json:"timeout,omitempty"`   // of the whole run from run_started, in ns; 0: none
	StartTTL   time.Duration              `json:"startTTL,omitempty"`  // within which it is to begin, ns; 0: any time
	NotBefore  time.Time                  `json:"notBefore,omitzero"`  // a delayed start
	Parent     *Parent                    `json:"parent,omitempty"`
	Origin     *Origin                    `json:"origin,omitempty"` // of a fork
	Deployment string                     `json:"deployment,omitempty"`
	Context    map[string]string          `json:"context,omitempty"`    // trace parent, the caller's tags
	Attributes map[string]json.RawMessage `json:"attributes,omitempty"` // what the run starts with
	Places     []Place                    `json:"places,omitempty"`     // what it needs to be at work, in order
	Gather     *Gather                    `json:"gather,omitempty"`     // see [Commit.Items]
}

// Parent is the run and step that a child run answers to.
type Parent struct {
	Run      string `json:"run"`
	Step     string `json:"step"`
	Detached bool   `json:"detached,omitempty"` // lives on when the parent ends
}

// Origin is the event that a fork was cut after.
type Origin struct {
	Run string `json:"run"`
	Seq int64  `json:"seq"`
}
