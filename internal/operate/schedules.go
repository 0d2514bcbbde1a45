package operate

// Schedules as the API, the command line and the web UI show them.

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/internal/timetable"
	"github.com/stepwell/stepwell/world"
)

// Schedule is a schedule, explained, with its next times.
type Schedule struct {
	Name           string              `json:"name"`
	Workflow       string              `json:"workflow"`
	Version        int                 `json:"version,omitempty"`
	Times          []string            `json:"times"`
	Words          string              `json:"words"` // what the times are
	Zone           string              `json:"zone,omitempty"`
	From           time.Time           `json:"from,omitzero"`
	Until          time.Time           `json:"until,omitzero"`
	Runs           int                 `json:"runs,omitempty"`
	Jitter         string              `json:"jitter,omitempty"`
	CatchUp        string              `json:"catchUp"`
	Overlap        world.Overlap       `json:"overlap"`
	PauseOnFailure bool                `json:"pauseOnFailure,omitempty"`
	Input          json.RawMessage     `json:"input,omitempty"`
	Encrypted      string              `json:"sealed,omitempty"` // ID of the input's key, which is not here
	Code           bool                `json:"code,omitempty"`   // a program computes the input
	Set            string              `json:"set,omitempty"`
	Revision       int                 `json:"revision,omitempty"`
	By             string              `json:"by,omitempty"`
	Paused         *QueuePause         `json:"paused,omitempty"`
	Next           []time.Time         `json:"next,omitempty"` // ten times; none: over, or paused
	Waits          time.Time           `json:"waits,omitzero"` // since when the first waits for the last run
	Last           *world.ScheduledRun `json:"last,omitempty"`
	Completed      time.Time           `json:"completed,omitzero"` // the last time whose run is known to have completed
	Count          int                 `json:"count"`              // runs that it started
	Skipped        int                 `json:"skipped"`            // times without a run that somebody looked at
	Missed         int                 `json:"missed"`             // times that nobody looked at within the window
	Passed         time.Time           `json:"passed,omitzero"`    // the last of those
	Error          string              `json:"error,omitempty"`    // why the run of the first of next could not be started
	Damage         string              `json:"damage,omitempty"`
}

// shownTimes is how many next times are shown.
const shownTimes = 10

// ScheduleOf is a schedule as it is shown.
func ScheduleOf(s *world.Schedule) Schedule {
	x, is := &s.Says, &s.Is
	out := Schedule{
		Name: s.Name, Workflow: x.Workflow, Version: x.Version, Times: x.Times, Zone: x.Zone, From: x.From, Until: x.Until, Runs: x.Runs,
		CatchUp: human.SpanText(cmp.Or(x.CatchUp, world.DefaultCatchUp)), Overlap: cmp.Or(x.Overlap, world.OverlapSkip), PauseOnFailure: x.PauseOnFailure,
		Input: x.Input, Encrypted: x.Encrypted, Code: x.Code, Set: s.Set, Revision: s.Revision, By: s.Made.By,
		Waits: is.Waits, Last: is.Last, Completed: is.Done, Count: is.Count, Skipped: is.Skipped, Missed: is.Missed, Passed: is.Passed, Error: is.Error, Damage: s.Damage,
	}
	if out.Times == nil {
		out.Times = []string{} // of one that is damaged
	}
	if x.Jitter > 0 {
		out.Jitter = human.SpanText(x.Jitter)
	}
	if x.Encrypted != "" {
		out.Input = nil
	}
	if p := s.Paused; p != nil {
		out.Paused = &QueuePause{By: p.By, Reason: p.Reason, Since: p.Since}
	}
	if s.Damage != "" {
		return out
	}
	t, err := timetable.Parse(s.Name, x)
	if err != nil {
		out.Words = err.Error()
		return out
	}
	out.Words = t.Words()
	if s.Paused == nil && !is.Next.IsZero() {
		n := shownTimes
		if x.Runs > 0 {
			n = min(n, x.Runs-is.Count)
		}
		out.Next = t.Some(is.Next.Add(-1), n)
	}
	return out
}
