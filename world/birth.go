package world

// This file holds what a run is created with. How the head of its first row has it, package layout says.

import (
	"encoding/json"
	"time"
)

// RetryKey returns the idempotency key of the run that replaces another: its retry or its restart
// in place. Callers that wait for a run that did not complete wait for its replacement.
func RetryKey(run string) string { return "retry:" + run }

// Birth describes a new run in its run_created event. The input is the event's payload.
type Birth struct {
	Workflow string `json:"workflow"`
	// 0: the first claimer's highest
	Version int `json:"version,omitempty"`
	// Seed: of all randomness in workflow code; 0: hidden by [HideSecrets].
	Seed     uint64 `json:"seed"`
	Key      string `json:"key,omitempty"`      // idempotency key, unique per workflow
	Priority int    `json:"priority,omitempty"` // 0 to 3; 3 is served first; default 1
	// Retention: how long the run is kept after its end; 0: for ever.
	Retention time.Duration `json:"retention,omitempty"`
	// Timeout: of the whole run, from run_started; 0: none.
	Timeout time.Duration `json:"timeout,omitempty"`
	// StartTTL: how late it may begin; 0: no limit.
	StartTTL   time.Duration              `json:"startTTL,omitempty"`
	NotBefore  time.Time                  `json:"notBefore,omitzero"` // a delayed start
	Parent     *Parent                    `json:"parent,omitempty"`
	Origin     *Origin                    `json:"origin,omitempty"` // of a fork
	Deployment string                     `json:"deployment,omitempty"`
	Context    map[string]string          `json:"context,omitempty"`    // trace parent, the caller's tags
	Attributes map[string]json.RawMessage `json:"attributes,omitempty"` // what the run starts with
	// Places: limits whose places it needs, in order.
	Places []Place `json:"places,omitempty"`
	Gather *Gather `json:"gather,omitempty"` // see [Commit.Items]
}

// Parent is the run and step that started a child run.
type Parent struct {
	Run      string `json:"run"`
	Step     string `json:"step"`
	Detached bool   `json:"detached,omitempty"` // the child lives on when the parent ends
}

// Origin is the run, and the event, from which a fork was made.
type Origin struct {
	Run string `json:"run"`
	Seq int64  `json:"seq"`
}
