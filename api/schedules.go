package api

import (
	"encoding/json"
	"time"

	"github.com/stepwell/stepwell/world"
)

// Schedule is a schedule, explained, with its next times.
type Schedule struct {
	Name     string `json:"name"`
	Workflow string `json:"workflow"`
	Version  int    `json:"version,omitempty"`
	// Times are cron expressions of 5 or 6 fields, @daily and the like, @every 6h, @every 6h+15m,
	// @at 2026-12-24T18:00:00Z. Each of them gives times.
	Times []string `json:"times" schema:"example=0 3 * * *"`
	// Words say in English when it starts runs.
	Words string    `json:"words" schema:"example=at 03:00"`
	Zone  string    `json:"zone,omitempty"`
	From  time.Time `json:"from,omitzero"`
	Until time.Time `json:"until,omitzero"`
	// Runs is the most runs that it starts. None: any number.
	Runs   int    `json:"runs,omitempty"`
	Jitter string `json:"jitter,omitempty"`
	// CatchUp is how old a missed time may be to still have its run.
	CatchUp string `json:"catchUp"`
	// Overlap says what happens at a time when the last run is not over.
	Overlap        world.Overlap `json:"overlap" schema:"enum=skip|queue-one|queue-all|cancel|allow"`
	PauseOnFailure bool          `json:"pauseOnFailure,omitempty"`
	// Input is the input of each run.
	Input json.RawMessage `json:"input,omitempty"`
	// Sealed is the ID of the key that encrypts the input, if the server lacks that key.
	Sealed string `json:"sealed,omitempty"`
	// Code means that the program that declares the schedule computes the input.
	Code bool `json:"code,omitempty"`
	// Set is the set of a program that declares it.
	Set      string `json:"set,omitempty"`
	Revision int    `json:"revision,omitempty"`
	// By is who created it; code: a program.
	By     string      `json:"by,omitempty"`
	Paused *QueuePause `json:"paused,omitempty"`
	// Next are the next ten times. None: it is over, or paused.
	Next []time.Time `json:"next,omitempty"`
	// Waits is since when the first of Next waits for the end of the last run.
	Waits time.Time           `json:"waits,omitzero"`
	Last  *world.ScheduledRun `json:"last,omitempty"`
	// Completed is the last time whose run is known to have completed.
	Completed time.Time `json:"completed,omitzero"`
	// Count is how many runs it started.
	Count int `json:"count"`
	// Skipped are times without a run: the last run was not over, or their wait was ended.
	Skipped int `json:"skipped"`
	// Missed are times without a run because no worker looked within the window.
	Missed int `json:"missed"`
	// Passed is the last missed time.
	Passed time.Time `json:"passed,omitzero"`
	// Error is why the run of the first of Next could not be started.
	Error string `json:"error,omitempty"`
	// Damage is why it cannot be read.
	Damage string `json:"damage,omitempty"`
}

// SchedulePage is a page of schedules, by name.
type SchedulePage struct {
	Schedules []Schedule `json:"schedules"`
	// Cursor is where the next page begins. None: this is the end.
	Cursor string `json:"cursor,omitempty"`
}

// ListSchedules selects a page of schedules.
type ListSchedules struct {
	// Cursor continues after the page that had this cursor.
	Cursor string `query:"cursor" json:"-"`
	// Limit is the most schedules of the page.
	Limit int `query:"limit" json:"-" schema:"min=1,max=1000,default=100"`
}

// GetSchedule names a schedule.
type GetSchedule struct {
	Schedule string `path:"schedule" json:"-"`
}

// PutSchedule creates a schedule, or changes its settings.
type PutSchedule struct {
	Schedule string `path:"schedule" json:"-"`
	Workflow string `json:"workflow"`
	// Version is by default the highest that a live worker has.
	Version int `json:"version,omitempty" schema:"min=0"`
	// Times are cron expressions of 5 or 6 fields, @daily and the like, @every 6h, @every 6h+15m,
	// @at 2026-12-24T18:00:00Z. Each of them gives times.
	Times []string `json:"times" schema:"minItems=1,maxItems=32,example=0 3 * * *"`
	// Zone is the IANA time zone of the expressions. Default UTC.
	Zone string `json:"zone,omitempty" schema:"example=Europe/Berlin"`
	// From is the earliest time.
	From time.Time `json:"from,omitzero"`
	// Until is the latest time.
	Until time.Time `json:"until,omitzero"`
	// Runs is the most runs that it starts. 0: any number.
	Runs   int  `json:"runs,omitempty" schema:"min=0"`
	Jitter Span `json:"jitter,omitempty"`
	// CatchUp is how old a missed time may be to still have its run.
	CatchUp Span `json:"catchUp,omitempty"`
	// Overlap says what happens at a time when the last run is not over.
	Overlap world.Overlap `json:"overlap,omitempty" schema:"enum=skip|queue-one|queue-all|cancel|allow"`
	// PauseOnFailure pauses the schedule if its last run failed.
	PauseOnFailure bool `json:"pauseOnFailure,omitempty"`
	// Input is the input of each run.
	Input json.RawMessage `json:"input,omitempty"`
}

// DeleteSchedule names a schedule.
type DeleteSchedule struct {
	Schedule string `path:"schedule" json:"-"`
}

// PauseSchedule stops a schedule.
type PauseSchedule struct {
	Schedule string `path:"schedule" json:"-"`
	// Reason is for people.
	Reason string `json:"reason,omitempty" audit:"reason"`
}

// ResumeSchedule names a paused schedule.
type ResumeSchedule struct {
	Schedule string `path:"schedule" json:"-"`
}

// TriggerSchedule starts one run.
type TriggerSchedule struct {
	Schedule string `path:"schedule" json:"-"`
	// Input replaces the input of the schedule.
	Input json.RawMessage `json:"input,omitempty"`
}

// TriggeredSchedule is the run that was started.
type TriggeredSchedule struct {
	Run string `json:"run"`
}

// BackfillSchedule selects past times.
type BackfillSchedule struct {
	Schedule string    `path:"schedule" json:"-"`
	From     time.Time `json:"from"`
	// Until is past, and included, as From is.
	Until time.Time `json:"until"`
}

// BackfilledSchedule has the runs of the times of a backfill.
type BackfilledSchedule struct {
	Started []string `json:"started"`
	// Existed are the runs of times that had one.
	Existed []string `json:"existed"`
}

// Operations on schedules.
var (
	ListSchedulesOp = op[ListSchedules, SchedulePage](Row{
		ID: "listSchedules", Method: "GET", Path: "/v1/schedules", Scope: Viewer, Wide: true,
		Summary: "List the schedules, with their next times", Answers: "A page, by name.",
	})
	GetScheduleOp = op[GetSchedule, Schedule](Row{
		ID: "getSchedule", Method: "GET", Path: "/v1/schedules/{schedule}", Scope: Viewer,
		Summary: "Show a schedule in words, with its next ten times", Answers: scheduleNow,
	})
	PutScheduleOp = op[PutSchedule, Schedule](Row{
		ID: "putSchedule", Method: "PUT", Path: "/v1/schedules/{schedule}", Scope: Operator, Audit: true, Twice: true,
		Summary: "Create a schedule, or change its settings", Answers: scheduleNow,
	})
	DeleteScheduleOp = op[DeleteSchedule, None](Row{
		ID: "deleteSchedule", Method: "DELETE", Path: "/v1/schedules/{schedule}", Scope: Operator, Audit: true,
		Summary: "Delete a schedule; its runs stay",
		Answers: "It is deleted. If a program declares it, it is created again when that program starts.",
	})
	PauseScheduleOp = op[PauseSchedule, Schedule](Row{
		ID: "pauseSchedule", Method: "POST", Path: "/v1/schedules/{schedule}/pause", Scope: Operator, Audit: true, Twice: true,
		Summary: "Stop a schedule from starting runs until you resume it", Answers: scheduleNow,
	})
	ResumeScheduleOp = op[ResumeSchedule, Schedule](Row{
		ID: "resumeSchedule", Method: "POST", Path: "/v1/schedules/{schedule}/resume", Scope: Operator, Audit: true, Twice: true,
		Summary: "Resume a schedule from its next time", Answers: scheduleNow,
	})
	TriggerScheduleOp = op[TriggerSchedule, TriggeredSchedule](Row{
		ID: "triggerSchedule", Method: "POST", Path: "/v1/schedules/{schedule}/trigger", Scope: Operator, Audit: true, Status: 201,
		Summary: "Start one run of a schedule now, in addition to its times", Answers: "The run that was started.",
	})
	BackfillScheduleOp = op[BackfillSchedule, BackfilledSchedule](Row{
		ID: "backfillSchedule", Method: "POST", Path: "/v1/schedules/{schedule}/backfill", Scope: Operator, Audit: true, Twice: true,
		Summary: "Start the runs of past times that have none",
		Answers: "The runs that were started, and those that existed already.",
	})
)

const scheduleNow = "The schedule as it is now."
