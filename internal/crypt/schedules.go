package crypt

import (
	"context"
	"fmt"
	"time"

	"github.com/stepwell/stepwell/world"
)

// schedules are the schedules of the world below, whose inputs are encrypted. Names, times and notes are not.
type schedules struct {
	world.Scheduler
	w *World
}

// Schedules are the schedules of the world below, encrypted. Each call returns an equal value.
func (w *World) Schedules() world.Scheduler { return schedules{w.World.Schedules(), w} }

const schedulePlace = "input"

func scheduleRun(name string) string { return "schedule " + name }

// Schedules decrypts inputs; see [world.Scheduler].
func (k schedules) Schedules(ctx context.Context, q world.ScheduleQuery) ([]world.Schedule, error) {
	all, err := k.Scheduler.Schedules(ctx, q)
	k.w.ring.openSchedules(all)
	return all, err
}

// DueSchedules decrypts inputs; see [world.Scheduler].
func (k schedules) DueSchedules(ctx context.Context, code string, limit int, hold time.Duration) (world.DueSchedules, error) {
	due, err := k.Scheduler.DueSchedules(ctx, code, limit, hold)
	k.w.ring.openSchedules(due.Schedules)
	return due, err
}

// PutSchedule encrypts the input; see [world.Scheduler].
func (k schedules) PutSchedule(ctx context.Context, s world.Schedule) (bool, error) {
	encrypted, err := k.w.encryptSchedule(ctx, &s)
	if err != nil {
		return false, err
	}
	return k.Scheduler.PutSchedule(ctx, *encrypted)
}

// encryptSchedule encrypts the input of a schedule, which stays as it is. One that is encrypted stays so: its key is
// not here.
func (w *World) encryptSchedule(ctx context.Context, s *world.Schedule) (*world.Schedule, error) {
	if err := world.CheckSchedule(s); err != nil {
		return nil, err
	}
	if len(s.Says.Input) == 0 || s.Says.Encrypted != "" {
		return s, nil
	}
	key := w.ring.Primary()
	if err := w.vet(ctx, key, true); err != nil {
		return nil, err
	}
	input, err := w.ring.encrypt(key, scheduleRun(s.Name), "", schedulePlace, s.Says.Input)
	if err != nil {
		return nil, fmt.Errorf("schedule %s: %w", s.Name, err)
	}
	out := *s
	out.Says.Input, out.Says.Encrypted = input, key
	return &out, nil
}

func (r *Keyring) openSchedules(all []world.Schedule) {
	for i := range all {
		s := &all[i]
		if s.Says.Encrypted == "" || s.Damage != "" || !r.Has(s.Says.Encrypted) { // who has not the key is told its ID
			continue
		}
		plain, err := r.openPlain(s.Says.Input, s.Says.Encrypted, scheduleRun(s.Name), schedulePlace)
		if err != nil {
			s.Damage = fmt.Sprintf("schedule %s: %v", s.Name, err)
			continue
		}
		s.Says.Input, s.Says.Encrypted = plain, ""
	}
}
