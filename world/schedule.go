package world

// This file says what a schedule is, and what keeps schedules.

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Scheduler keeps schedules, as opaque rows. Package internal/timetable decides when a schedule is
// due, and what happens then.
//
// A row changes as a whole, by compare-and-set on its change number. One commit starts a due run
// and changes the row: see [Commit].Schedule.
//
// All methods are safe for concurrent use. Changes are durable when they return.
type Scheduler interface {
	// Schedules returns a page of schedules, by name.
	Schedules(ctx context.Context, q ScheduleQuery) ([]Schedule, error)

	// DueSchedules returns schedules that are due and need the code of this set ("": no code), the
	// longest due first, at most limit: 1 to [MaxBatch]. With a hold, the caller is about to
	// process them; a store may keep them from other such callers for that long.
	DueSchedules(ctx context.Context, code string, limit int, hold time.Duration) (DueSchedules, error)

	// PutSchedule writes a row if its Change is unchanged since it was read; 0: it did not exist.
	// Otherwise it writes nothing and returns false, also if the row was deleted or replaced.
	PutSchedule(ctx context.Context, s Schedule) (bool, error)

	// DeleteSchedule deletes a row. The error is [ErrNotFound] for an unknown name.
	DeleteSchedule(ctx context.Context, name string) error
}

// Schedule says when runs of a workflow start by themselves, with its state.
type Schedule struct {
	Name string       `json:"name"`
	Says ScheduleSpec `json:"says"`

	Made Provenance `json:"made,omitzero"`
	// the set of the program that declares it; "": none
	Set      string        `json:"set,omitempty"`
	Revision int           `json:"revision,omitempty"` // of the set that last declared it
	Paused   *QueuePause   `json:"paused,omitempty"`   // nil: not paused
	Is       ScheduleSoFar `json:"is,omitzero"`

	Change int64  `json:"-"` // number of the row's last change, when it was read
	Damage string `json:"-"` // why the row is unreadable; "": readable
}

// ScheduleSpec is what people specify of a schedule.
type ScheduleSpec struct {
	Workflow string `json:"workflow"`
	Version  int    `json:"version,omitempty"` // 0: the highest that a live worker has

	// Times are cron expressions of 5 or 6 fields, @daily and the like, "@every 6h", "@every
	// 6h+15m", and single times such as "@at 2026-12-24T18:00:00Z". They are combined.
	Times []string  `json:"times"`
	Zone  string    `json:"zone,omitempty"` // IANA name; "": UTC
	From  time.Time `json:"from,omitzero"`  // earliest time
	Until time.Time `json:"until,omitzero"` // latest time
	Runs  int       `json:"runs,omitempty"` // number of runs, at most; 0: no limit

	// Jitter: longest delay of each run, by a hash of name and time.
	Jitter time.Duration `json:"jitter,omitempty"`
	// CatchUp: how old a missed time may be and still start its run; 0: one day.
	CatchUp time.Duration `json:"catchUp,omitempty"`
	Overlap Overlap       `json:"overlap,omitempty"` // "": OverlapSkip

	PauseOnFailure bool `json:"pauseOnFailure,omitempty"`

	Input json.RawMessage `json:"input,omitempty"` // of each run
	// ID of the key that encrypts Input; "": plain
	Encrypted string `json:"sealed,omitempty"`
	// Code means that the declaring program computes the input: only that program can start its
	// runs.
	Code bool `json:"code,omitempty"`
}

// Overlap says what happens at a time if the schedule's last run is not over.
type Overlap string

// Values of [Overlap].
const (
	OverlapSkip Overlap = "skip" // no run starts
	// OverlapQueueOne: a run starts after that run's end; further times meanwhile start none.
	OverlapQueueOne Overlap = "queue-one"
	// OverlapQueueAll: a run starts after that run's end, and so do all further times, in order.
	OverlapQueueAll Overlap = "queue-all"
	// OverlapCancel: that run is cancelled, and then the newest time's run starts.
	OverlapCancel Overlap = "cancel"
	OverlapAllow  Overlap = "allow" // a run starts beside it
)

// Overlaps lists all values of [Overlap].
var Overlaps = []Overlap{OverlapSkip, OverlapQueueOne, OverlapQueueAll, OverlapCancel, OverlapAllow}

// ScheduleSoFar is the state of a schedule.
type ScheduleSoFar struct {
	Next time.Time `json:"next,omitzero"` // the next time without a run; zero: the schedule is over
	Due  time.Time `json:"due,omitzero"`  // when to process it again; zero: never
	Seen time.Time `json:"seen,omitzero"` // when it was last found due: no earlier time was missed
	// Waits: since when Next waits for the end of the last run.
	Waits time.Time     `json:"waits,omitzero"`
	Last  *ScheduledRun `json:"last,omitempty"`
	// the last time whose run is known to have completed
	Done  time.Time `json:"done,omitzero"`
	Count int       `json:"count,omitempty"` // number of started runs
	// Skipped: times without a run, because of [Overlap] or an ended wait.
	Skipped int `json:"skipped,omitempty"`
	// Missed: times without a run, because they were too old when found.
	Missed int       `json:"missed,omitempty"`
	Passed time.Time `json:"passed,omitzero"` // the last skipped or missed time
	Error  string    `json:"error,omitempty"` // why the run of Next could not start
	Tries  int       `json:"tries,omitempty"` // how often that failed
	// Forgive: a run whose failure no longer pauses the schedule.
	Forgive string `json:"forgive,omitempty"`
}

// ScheduledRun is the run of a scheduled time.
type ScheduledRun struct {
	Run string    `json:"run"`
	At  time.Time `json:"at"`

	// Merged: the run that the start was merged into; then Run does not exist.
	Merged string `json:"merged,omitempty"`
}

// ScheduleQuery selects schedules.
type ScheduleQuery struct {
	Names []string // only these; nil: all
	Set   string   // only those of this set; "": all
	After string   // only those after this name
	Limit int      // 1 to 1,000; 0: 100
}

// DueSchedules are schedules that are due.
type DueSchedules struct {
	Schedules []Schedule
	More      bool      // others are due
	Next      time.Time // when the next later one is due; zero: none to come
	Now       time.Time // time of the store
}

// Bounds of schedules.
const (
	MaxScheduleName  = 80
	MaxScheduleTimes = 32
	MaxScheduleRow   = 2 << 20
	DefaultCatchUp   = 24 * time.Hour
	MaxScheduleSpan  = 366 * 24 * time.Hour
)

// Attributes of a scheduled run: the schedule's name, the run's scheduled time, and the last
// earlier time whose run completed.
const (
	AttributeSchedule         = "schedule"
	AttributeScheduleTime     = "schedule.time"
	AttributeSchedulePrevious = "schedule.previous"
)

// ScheduledID returns the ID, and the idempotency key, of the run of a time.
func ScheduledID(name string, at time.Time) string { return name + "@" + at.UTC().Format(time.RFC3339) }

// CodeSet returns the set whose code the schedule needs; "": none.
func (s *Schedule) CodeSet() string {
	if s.Says.Code {
		return s.Set
	}
	return ""
}

// CheckScheduleName returns [ErrInvalid] for an invalid name.
func CheckScheduleName(what, name string) error {
	if CheckWorkflowName(name) != nil || len(name) > MaxScheduleName {
		return fmt.Errorf("%w: %s name %.140q: want 1 to %d of A-Z a-z 0-9 _ . -", ErrInvalid, what, name, MaxScheduleName)
	}
	return nil
}

// CheckSchedule returns [ErrInvalid] or [ErrTooLarge] for a schedule that no store keeps. It does
// not parse its times.
func CheckSchedule(s *Schedule) error {
	if err := CheckScheduleName("schedule", s.Name); err != nil {
		return err
	}
	if err := s.check(); err != nil {
		return fmt.Errorf("schedule %s: %w", s.Name, err)
	}
	return nil
}

func (s *Schedule) check() error {
	x := &s.Says
	if err := cmp.Or(CheckWorkflowName(x.Workflow), CheckStart(x.Workflow)); err != nil {
		return err
	}
	if err := CheckVersion(x.Version); err != nil {
		return err
	}
	if n := len(x.Times); n == 0 || n > MaxScheduleTimes {
		return fmt.Errorf("%w: it has %d times: want 1 to %d expressions", ErrInvalid, n, MaxScheduleTimes)
	}
	for _, text := range x.Times {
		if len(text) > MaxName {
			return fmt.Errorf("%w: a time of %d bytes: want %d at most", ErrInvalid, len(text), MaxName)
		}
	}
	if err := cmp.Or(s.Made.check(), CheckPause(s.Paused), CheckReason("its error", s.Is.Error)); err != nil {
		return err
	}
	for name, d := range map[string]time.Duration{"jitter": x.Jitter, "the catch-up window": x.CatchUp} {
		if d < 0 || d > MaxScheduleSpan {
			return fmt.Errorf("%w: %s is %s: want 0 to %s", ErrInvalid, name, d, MaxScheduleSpan)
		}
	}
	known := x.Overlap == ""
	for _, o := range Overlaps {
		known = known || o == x.Overlap
	}
	switch {
	case !known:
		return fmt.Errorf("%w: overlap %.40q: want one of %q", ErrInvalid, x.Overlap, Overlaps)
	case x.Runs < 0 || s.Revision < 0 || s.Change < 0:
		return fmt.Errorf("%w: %d runs, revision %d: want 0 or more", ErrInvalid, x.Runs, s.Revision)
	case !x.Until.IsZero() && x.Until.Before(x.From):
		return fmt.Errorf("%w: it ends at %s, before it begins at %s", ErrInvalid, x.Until.Format(time.RFC3339), x.From.Format(time.RFC3339))
	case x.Code && s.Set == "":
		return fmt.Errorf("%w: its input is computed by code, but it is not in the set of a program", ErrInvalid)
	case len(x.Zone) > MaxName:
		return fmt.Errorf("%w: a time zone of %d bytes: want %d at most", ErrInvalid, len(x.Zone), MaxName)
	case len(x.Input) > MaxCommit/4+MaxCommit/8: // encrypted it is longer
		return fmt.Errorf("%w: the input has %d bytes", ErrTooLarge, len(x.Input))
	case len(x.Input) > 0 && !json.Valid(x.Input):
		return fmt.Errorf("%w: the input is not JSON", ErrInvalid)
	}
	for _, t := range []time.Time{x.From, x.Until, s.Is.Next, s.Is.Due} {
		if !t.IsZero() && !Within(t).Equal(t) {
			return fmt.Errorf("%w: the time %s is out of bounds", ErrInvalid, t)
		}
	}
	if s.Set != "" {
		return CheckScheduleName("set", s.Set)
	}
	return nil
}

// CheckScheduleQuery returns [ErrInvalid] for an invalid query, and sets the default limit.
func CheckScheduleQuery(q *ScheduleQuery) error {
	if q.Limit == 0 {
		q.Limit = 100
	}
	if q.Limit < 1 || q.Limit > 1_000 || len(q.Names) > 1_000 {
		return fmt.Errorf("%w: look at %d schedules, %d by name: want 1 to 1000", ErrInvalid, q.Limit, len(q.Names))
	}
	return nil
}

// CheckDueSchedules returns [ErrInvalid] for an invalid limit.
func CheckDueSchedules(limit int) error {
	if limit < 1 || limit > MaxBatch {
		return fmt.Errorf("%w: look at %d schedules: want 1 to %d", ErrInvalid, limit, MaxBatch)
	}
	return nil
}

// ScheduleMoved returns the error for a start whose schedule has changed since it was read.
func ScheduleMoved(s *Schedule) error {
	return fmt.Errorf("schedule %s: %w: it has changed since it was read; nothing was written", s.Name, ErrConflict)
}

// NoSchedule returns the error for an unknown schedule.
func NoSchedule(name string) error { return fmt.Errorf("schedule %.140q: %w", name, ErrNotFound) }

// Fits returns the part of a page by name that matches the rest of the query. It is for stores.
func (q *ScheduleQuery) Fits(page []Schedule) []Schedule {
	if q.Set != "" {
		page = slices.DeleteFunc(page, func(s Schedule) bool { return s.Set != q.Set })
	}
	return page[:min(len(page), q.Limit)]
}
