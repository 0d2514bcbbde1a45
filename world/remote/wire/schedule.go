package wire

// This file has schedules. Durations are in nanoseconds.

import (
	"time"

	"github.com/stepwell/stepwell/world"
)

// Schedule is a [world.Schedule].
type Schedule struct {
	world.Schedule
	Change int64  `json:"change,omitempty"`
	Damage string `json:"damage,omitempty"`
}

// OfSchedule makes a message of a schedule; nil of nil. They share memory.
func OfSchedule(in *world.Schedule) *Schedule {
	if in == nil {
		return nil
	}
	return &Schedule{*in, in.Change, in.Damage}
}

// World is the schedule; nil of nil. They share memory.
func (s *Schedule) World() *world.Schedule {
	if s == nil {
		return nil
	}
	out := s.Schedule
	out.Change, out.Damage = s.Change, s.Damage
	return &out
}

// OfSchedules are schedules as they are sent. They share memory.
func OfSchedules(in []world.Schedule) []Schedule {
	return list(in, func(s *world.Schedule) Schedule { return *OfSchedule(s) })
}

// WorldSchedules are schedules of the world. They share memory.
func WorldSchedules(in []Schedule) []world.Schedule {
	return list(in, func(s *Schedule) world.Schedule { return *s.World() })
}

// ScheduleAct is what changes a schedule: one of its members. See [world.Scheduler].
type ScheduleAct struct {
	Put    *Schedule `json:"put,omitempty"`
	Delete string    `json:"delete,omitempty"`
}

// ScheduleActed is what a [ScheduleAct] came to.
type ScheduleActed struct {
	Answer
	Put bool `json:"put,omitempty"` // it was written
}

// ScheduleQuery asks for schedules, or for those that are due.
type ScheduleQuery struct {
	Names []string      `json:"names,omitempty"` // none: all
	Set   string        `json:"set,omitempty"`
	After string        `json:"after,omitempty"`
	Limit int           `json:"limit,omitempty"`
	Due   int           `json:"due,omitempty"` // at most so many that are due
	Code  string        `json:"code,omitempty"`
	Hold  time.Duration `json:"hold,omitempty"`
}

// Schedules are schedules, or those that are due.
type Schedules struct {
	Answer
	Schedules []Schedule `json:"schedules,omitempty"`
	More      bool       `json:"more,omitempty"`
	Next      time.Time  `json:"next,omitzero"`
	Now       time.Time  `json:"now,omitzero"`
}
