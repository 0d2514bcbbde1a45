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

// RunInfo is a run as it is listed and looked up. Its JSON is what the REST API and the command line show of it.
type RunInfo struct {
	ID       string          `json:"id"`
	Workflow string          `json:"workflow"`
	Version  int             `json:"version"` // 0: that of the worker that claims it first
	Status   world.Status    `json:"status"`
	Key      string          `json:"idempotencyKey,omitempty"` // that it was started with
	FirstKey string          `json:"firstKey,omitempty"`       // that it took over with another's place
	Priority int             `json:"priority"`                 // 1 to 4; 4 is served first
	Input    json.RawMessage `json:"input,omitempty"`
	Output   json.RawMessage `json:"output,omitempty"`

	InputApart  string `json:"inputApart,omitempty"`  // see [App.OpenValue]; "": the input is the value
	OutputApart string `json:"outputApart,omitempty"` // the same of the output

	Error      *world.Error               `json:"error,omitempty"`
	Parent     *world.Parent              `json:"parent,omitempty"`
	Origin     *world.Origin              `json:"origin,omitempty"` // of a fork, a restart, a retry
	Newest     *world.Heir                `json:"newest,omitempty"` // in its place; nil: nothing took it
	CreatedAt  time.Time                  `json:"createdAt"`
	StartedAt  time.Time                  `json:"startedAt,omitzero"` // zero: it has not begun, or its log does not say
	EndedAt    time.Time                  `json:"endedAt,omitzero"`
	Retention  Span                       `json:"retention,omitempty"` // after its end
	StartTTL   Span                       `json:"startTTL,omitempty"`  // within which it has to begin, from when it was to; 0: whenever it does
	Gather     *world.Gather              `json:"gather,omitempty"`    // lists show the first input
	Timeout    Span                       `json:"timeout,omitempty"`   // that the whole run has, from when it begins; of a fork, from when its source began; 0: none
	Attributes map[string]json.RawMessage `json:"attributes,omitempty"`
	Claims     int64                      `json:"claims"`               // how often a worker claimed it
	Encryption string                     `json:"encryption,omitempty"` // ID of the key that its payloads are encrypted with; "": none
	Sealed     bool                       `json:"sealed,omitempty"`     // and they are shown so: the key is not here
	Queue      *world.QueueRow            `json:"queue,omitempty"`      // nil when it is over
	Merged     bool                       `json:"merged,omitempty"`     // in the answer to a start, in a list by key: it was merged
	Late       []world.Late               `json:"late,omitempty"`       // of a run that is over, where one is read alone: what came too late; at most 100
	Damage     string                     `json:"damage,omitempty"`     // what of its row is not what was written, and is left out here; "": nothing
}

// Span is a [time.Duration] that is text like 90s, 36h or 30d, or forever where it is [Forever].
type Span time.Duration

func (s Span) String() string {
	if time.Duration(s) == Forever {
		return "forever"
	}
	return human.SpanText(time.Duration(s))
}

// MarshalText writes it as String does.
func (s Span) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText writes.
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
	output, err := wholeOf(ctx, a.able.ApartKeeper, i.ID, i.Output, i.OutputApart)
	if err == nil {
		err = codec.Decode(output, out)
	}
	if err != nil {
		return fmt.Errorf("run %s: output: %w", i.ID, err)
	}
	return nil
}
