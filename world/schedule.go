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

// ScheduleKeeper is a [World] that keeps schedules.
type ScheduleKeeper interface{ Schedules() Scheduler }

// Scheduler keeps schedules, as rows that it does not look into: when a schedule is due, and what becomes of it then,
// package internal/timetable decides.
//
// A row changes as a whole, and only as whoever changes it has read it: each change has a number, the row's, and what
// was read before the last one changes nothing. The start of a run that a schedule is due for is one commit with the
// change of the row: see [Commit].Schedule.
//
// All methods are safe for concurrent use, and durable when they return.
type Scheduler interface {
	// Schedules are pages of schedules, by name.
	Schedules(ctx context.Context, q ScheduleQuery) ([]Schedule, error)

	// DueSchedules tells what is due of those that need the code of this set, "": none; limit at most (1 to [MaxBatch]),
	// those that are due longest first. Who asks with a hold is about to go on with them: a store may keep them from all
	// others who ask so, for that long.
	DueSchedules(ctx context.Context, code string, limit int, hold time.Duration) (DueSchedules, error)

	// PutSchedule writes a row whose Change is what it was when it was read, 0: there was none. It is false where it has
	// changed since, or was deleted, also where another has its name now: nothing was written.
	PutSchedule(ctx context.Context, s Schedule) (bool, error)

	// DeleteSchedule deletes a row. The error is [ErrNotFound] where there is none.
	DeleteSchedule(ctx context.Context, name string) error
}

// Schedule is when runs of a workflow start by themselves, and how that stands.
type Schedule struct {
	Name string       `json:"name"`
	Says ScheduleSpec `json:"says"`

	Made     Provenance    `json:"made,omitzero"`
	Set      string        `json:"set,omitempty"`      // the set of a program that declares it; "": nobody's code
	Revision int           `json:"revision,omitempty"` // of the set that declared it last
	Paused   *QueuePause   `json:"paused,omitempty"`   // nil: it is not
	Is       ScheduleSoFar `json:"is,omitzero"`

	Change int64  `json:"-"` // the number of the row's last change; of one that was read
	Damage string `json:"-"` // why the row cannot be read; "": it can
}

// ScheduleSpec is what people say of a schedule.
type ScheduleSpec struct {
	Workflow string `json:"workflow"`
	Version  int    `json:"version,omitempty"` // 0: the highest that a live worker has

	// Times are cron expressions of 5 or 6 fields, @daily and the like, "@every 6h", "@every 6h+15m", and single times as
	// "@at 2026-12-24T18:00:00Z". Any of them is a time.
	Times []string  `json:"times"`
	Zone  string    `json:"zone,omitempty"` // IANA; "": UTC
	From  time.Time `json:"from,omitzero"`  // no time before
	Until time.Time `json:"until,omitzero"` // no time after
	Runs  int       `json:"runs,omitempty"` // how many runs start at most; 0: any number

	Jitter  time.Duration `json:"jitter,omitempty"`  // each run starts so much later at most, by a hash of name and time
	CatchUp time.Duration `json:"catchUp,omitempty"` // how old a time may be that was missed; 0: a day
	Overlap Overlap       `json:"overlap,omitempty"` // "": OverlapSkip

	PauseOnFailure bool `json:"pauseOnFailure,omitempty"`

	Input     json.RawMessage `json:"input,omitempty"`  // of each run
	Encrypted string          `json:"sealed,omitempty"` // ID of the key that Input is encrypted with; "": plain
	// Code says that the program which declares it computes the input: only that one can start its runs.
	Code bool `json:"code,omitempty"`
}

// Overlap says what becomes of a time whose schedule's last run is not over.
type Overlap string

// What becomes of a time whose schedule's last run is not over.
const (
	OverlapSkip     Overlap = "skip"      // nothing
	OverlapQueueOne Overlap = "queue-one" // it waits for that end; those that come meanwhile are skipped
	OverlapQueueAll Overlap = "queue-all" // it waits for that end, and those that come meanwhile behind it
	OverlapCancel   Overlap = "cancel"    // that run is cancelled, and then the newest time has its run
	OverlapAllow    Overlap = "allow"     // its run starts beside
)

// Overlaps are all of them.
var Overlaps = []Overlap{OverlapSkip, OverlapQueueOne, OverlapQueueAll, OverlapCancel, OverlapAllow}

// ScheduleSoFar is how a schedule stands.
type ScheduleSoFar struct {
	Next    time.Time     `json:"next,omitzero"`  // the next time that has no run yet; zero: it is over
	Due     time.Time     `json:"due,omitzero"`   // when to look at it again; zero: never
	Seen    time.Time     `json:"seen,omitzero"`  // when it was found due last: no time before it was missed
	Waits   time.Time     `json:"waits,omitzero"` // since when Next waits for the end of the last run
	Last    *ScheduledRun `json:"last,omitempty"`
	Done    time.Time     `json:"done,omitzero"`     // the last time whose run is known to have completed
	Count   int           `json:"count,omitempty"`   // runs that it started
	Skipped int           `json:"skipped,omitempty"` // had no run: the last was not over, or their wait was ended
	Missed  int           `json:"missed,omitempty"`  // times that had no run, as they were too old when somebody looked
	Passed  time.Time     `json:"passed,omitzero"`   // the last that was skipped or missed
	Error   string        `json:"error,omitempty"`   // why the run of Next could not be started
	Tries   int           `json:"tries,omitempty"`   // how often
	Forgive string        `json:"forgive,omitempty"` // a run whose failure pauses nothing any more
}

// ScheduledRun is the run of a time.
type ScheduledRun struct {
	Run string    `json:"run"`
	At  time.Time `json:"at"`

	Merged string `json:"merged,omitempty"` // its start was merged into this run, and Run is not there
}

// ScheduleQuery says what schedules are to be told.
type ScheduleQuery struct {
	Names []string // these alone; nil: all
	Set   string   // those of this set of a program alone; "": all
	After string   // those behind this name
	Limit int      // 1 to 1,000; 0: 100
}

// DueSchedules is what is due.
type DueSchedules struct {
	Schedules []Schedule
	More      bool      // others are due
	Next      time.Time // when the next one is due that is not yet; zero: none is to come
	Now       time.Time // of the store
}

// What a schedule may have at most.
const (
	MaxScheduleName  = 80
	MaxScheduleTimes = 32
	MaxScheduleRow   = 2 << 20
	DefaultCatchUp   = 24 * time.Hour
	MaxScheduleSpan  = 366 * 24 * time.Hour
)

// AttributeSchedule is the attribute of a scheduled run that has the schedule's name; AttributeScheduleTime has its
// nominal time, and AttributeSchedulePrevious that of the last run before it that completed.
const (
	AttributeSchedule         = "schedule"
	AttributeScheduleTime     = "schedule.time"
	AttributeSchedulePrevious = "schedule.previous"
)

// ScheduledID is the ID, and the idempotency key, of the run of a time.
func ScheduledID(name string, at time.Time) string { return name + "@" + at.UTC().Format(time.RFC3339) }

// CodeSet is the set whose code the schedule needs; "": none.
func (s *Schedule) CodeSet() string {
	if s.Says.Code {
		return s.Set
	}
	return ""
}

// CheckScheduleName refuses, with [ErrInvalid], what no schedule is called.
func CheckScheduleName(what, name string) error {
	if CheckWorkflowName(name) != nil || len(name) > MaxScheduleName {
		return fmt.Errorf("%w: %s name %.140q: want 1 to %d of A-Z a-z 0-9 _ . -", ErrInvalid, what, name, MaxScheduleName)
	}
	return nil
}

// CheckSchedule refuses, with [ErrInvalid] or [ErrTooLarge], what no store keeps. What the times say it does not
// look at.
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

// CheckScheduleQuery refuses, with [ErrInvalid], what cannot be told, and fills in the limit.
func CheckScheduleQuery(q *ScheduleQuery) error {
	if q.Limit == 0 {
		q.Limit = 100
	}
	if q.Limit < 1 || q.Limit > 1_000 || len(q.Names) > 1_000 {
		return fmt.Errorf("%w: look at %d schedules, %d by name: want 1 to 1000", ErrInvalid, q.Limit, len(q.Names))
	}
	return nil
}

// CheckDueSchedules refuses, with [ErrInvalid], to look at so many.
func CheckDueSchedules(limit int) error {
	if limit < 1 || limit > MaxBatch {
		return fmt.Errorf("%w: look at %d schedules: want 1 to %d", ErrInvalid, limit, MaxBatch)
	}
	return nil
}

// ScheduleMoved is the error for a start whose schedule has changed since it was read.
func ScheduleMoved(s *Schedule) error {
	return fmt.Errorf("schedule %s: %w: it has changed since it was read; nothing was written", s.Name, ErrConflict)
}

// NoSchedule is the error for a schedule that is not there.
func NoSchedule(name string) error { return fmt.Errorf("schedule %.140q: %w", name, ErrNotFound) }

// Fits is the part of a page by name that fits the rest of the query. It is for worlds.
func (q *ScheduleQuery) Fits(page []Schedule) []Schedule {
	if q.Set != "" {
		page = slices.DeleteFunc(page, func(s Schedule) bool { return s.Set != q.Set })
	}
	return page[:min(len(page), q.Limit)]
}
