package stepwell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/stepwell/stepwell/internal/codec"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/world"
)

// RunInfo is a run as [App.Get] and [App.List] return it. Its JSON is that of the REST API and the
// command line.
type RunInfo struct {
	ID       string       `json:"id"`                       // run ID
	Workflow string       `json:"workflow"`                 // its name
	Version  int          `json:"version"`                  // 0: its first claim decides
	Status   world.Status `json:"status"`                   // pending, running, or how it ended
	Key      string       `json:"idempotencyKey,omitempty"` // idempotency key of its start
	// FirstKey is the idempotency key of the first run that this one replaced.
	FirstKey string `json:"firstKey,omitempty"`
	Priority int    `json:"priority"` // 1 to 4; 4 is served first
	// Input is JSON: the input, or a reference to it if InputApart is set.
	Input json.RawMessage `json:"input,omitempty"`
	// Output is the same for the output. Nil: the run has not completed.
	Output json.RawMessage `json:"output,omitempty"`

	// ID of the input if it is stored apart: see [App.OpenValue]; "": Input has it
	InputApart  string `json:"inputApart,omitempty"`
	OutputApart string `json:"outputApart,omitempty"` // the same for the output

	Error     *world.Error  `json:"error,omitempty"`  // the error of the run; nil: none
	Parent    *world.Parent `json:"parent,omitempty"` // whose child it is; nil: none
	Origin    *world.Origin `json:"origin,omitempty"` // the source of a fork, restart or retry
	Newest    *world.Heir   `json:"newest,omitempty"` // the newest run that replaced it; nil: none
	CreatedAt time.Time     `json:"createdAt"`        // when it was started
	// StartedAt is when its code began. Zero: it has not begun, or its log does not say.
	StartedAt time.Time `json:"startedAt,omitzero"`
	EndedAt   time.Time `json:"endedAt,omitzero"`    // zero: it is not over
	Retention Span      `json:"retention,omitempty"` // how long it is kept after its end
	// StartTTL is how late the run may begin: see the function [StartTTL]. 0: no limit.
	StartTTL Span `json:"startTTL,omitempty"`
	// Gather is set for runs of [Debounce] and [Batch]. Lists show their first input.
	Gather *world.Gather `json:"gather,omitempty"`
	// Timeout limits the whole run, from when it begins; for a fork, from when its source began. 0:
	// no limit.
	Timeout Span `json:"timeout,omitempty"`
	// Attributes are JSON values, by name: see the function [Attributes].
	Attributes map[string]json.RawMessage `json:"attributes,omitempty"`
	Claims     int64                      `json:"claims"` // how often a worker has claimed it
	// ID of the key that encrypts its payloads; "": none
	Encryption string `json:"encryption,omitempty"`
	// Sealed means that the payloads here are still encrypted, because the key is missing.
	Sealed bool            `json:"sealed,omitempty"`
	Queue  *world.QueueRow `json:"queue,omitempty"` // nil once the run is over
	// Merged means, in the answer to a start or in a list by key, that the start was merged into
	// this run.
	Merged bool `json:"merged,omitempty"`
	// Late lists deliveries that came after the run's end, at most 100. Only [App.Get] of a run
	// that is over sets it.
	Late []world.Late `json:"late,omitempty"`
	// Damage says which damaged parts of the run's row are left out here. "": none.
	Damage string `json:"damage,omitempty"`
}

// Span is a [time.Duration] whose text is like 90s, 36h or 30d, or forever for [Forever].
type Span time.Duration

func (s Span) String() string {
	if time.Duration(s) == Forever {
		return "forever"
	}
	return human.SpanText(time.Duration(s))
}

// MarshalText returns the same text as String.
func (s Span) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText parses the text of MarshalText.
func (s *Span) UnmarshalText(text []byte) error {
	if string(text) == "forever" {
		*s = Span(Forever)
		return nil
	}
	d, err := human.ParseSpan(string(text))
	*s = Span(d)
	return err
}

// infoOf is a row as people read it.
func infoOf(row world.Run) RunInfo {
	row = legible(row)
	return RunInfo{
		ID: row.ID, Workflow: row.Workflow, Version: row.Version, Status: row.Status, Key: row.Key, FirstKey: row.FirstKey, Priority: row.Priority + 1,
		Input: row.Input, Output: row.Output, InputApart: world.WholeApart(row.InputApart), OutputApart: world.WholeApart(row.OutputApart), Error: row.Error, Parent: row.Parent, Origin: row.Origin, Newest: row.Newest, CreatedAt: row.CreatedAt, StartedAt: row.StartedAt, EndedAt: row.EndedAt,
		Retention: Span(fromLog(row.Retention)), Timeout: Span(row.Timeout), StartTTL: Span(row.StartTTL), Gather: row.Gather, Attributes: row.Attributes, Claims: row.Claims, Encryption: row.Encryption, Sealed: row.Encrypted,
		Queue: row.Queue, Late: row.Late, Damage: row.Damage, Merged: row.Merged,
	}
}

// result decodes the output of a run that is over.
func (a *App) result(ctx context.Context, i *RunInfo, out any) error {
	if i.Damage != "" {
		return &world.CorruptError{Run: i.ID, Seq: 1, Err: errors.New(i.Damage)}
	}
	if i.Sealed {
		return &world.KeyError{Run: i.ID, Key: i.Encryption}
	}
	if i.Status != world.Completed {
		failed := &RunError{Run: i.ID, Workflow: i.Workflow, Cancelled: i.Status == world.Cancelled, err: codec.ToError(i.Error, a.errors)}
		if i.Error != nil {
			failed.Message, failed.Code, failed.Where = i.Error.Message, i.Error.Code, i.Error.Where
		}
		if failed.Cancelled {
			for end, err := range a.Events(ctx, i.ID, EventFilter{Types: []world.EventType{world.RunCancelled}}) {
				if err == nil { // else that it was cancelled is said all the same
					failed.By = end.By
				}
			}
		}
		return failed
	}
	output, err := wholeOf(ctx, a.world.Values(), i.ID, i.Output, i.OutputApart)
	if err == nil {
		err = codec.Decode(output, out)
	}
	if err != nil {
		return fmt.Errorf("run %s: output: %w", i.ID, err)
	}
	return nil
}
