// Schedules: rows that are not looked into.

package memory

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/layout"
)

// schedules are the schedules of a World, under its lock.
type schedules struct {
	w   *World
	all []world.Schedule // by name
}

var _ world.Scheduler = (*schedules)(nil)

// Schedules returns the store of schedules; see [world.World].
func (w *World) Schedules() world.Scheduler { return &w.schedules }

func (k *schedules) find(name string) (int, bool) {
	return slices.BinarySearchFunc(k.all, name, func(s world.Schedule, name string) int { return strings.Compare(s.Name, name) })
}

// stands reports whether a row is as it was when it was read; nil: there is none to ask about.
func (k *schedules) stands(s *world.Schedule) bool {
	if s == nil {
		return true
	}
	i, found := k.find(s.Name)
	return found && k.all[i].Change == s.Change || !found && s.Change == 0
}

// put writes a row that stands; nil: nothing.
func (k *schedules) put(s *world.Schedule) {
	if s == nil {
		return
	}
	row := layout.CloneSchedule(s)
	row.Change++
	i, found := k.find(s.Name)
	if !found {
		row.Change = layout.FirstChange()
		k.all = slices.Insert(k.all, i, row)
	}
	k.all[i] = row
	k.w.messages.news.add(world.NoticeSchedule, "")
}

// Schedules are pages of schedules; see [world.Scheduler].
func (k *schedules) Schedules(ctx context.Context, q world.ScheduleQuery) (out []world.Schedule, err error) {
	if err := world.CheckScheduleQuery(&q); err != nil {
		return nil, err
	}
	if err := k.w.enter(ctx); err != nil {
		return nil, err
	}
	defer k.w.messages.leave()
	at, _ := k.find(q.After + "\x00")
	for i := at; i < len(k.all) && len(out) < q.Limit; i++ {
		if s := &k.all[i]; (q.Names == nil || slices.Contains(q.Names, s.Name)) && (q.Set == "" || q.Set == s.Set) {
			out = append(out, layout.CloneSchedule(&k.all[i]))
		}
	}
	return out, nil
}

// DueSchedules tells what is due; see [world.Scheduler].
func (k *schedules) DueSchedules(ctx context.Context, code string, limit int, _ time.Duration) (d world.DueSchedules, err error) {
	if err := world.CheckDueSchedules(limit); err != nil {
		return d, err
	}
	if err := k.w.enter(ctx); err != nil {
		return d, err
	}
	defer k.w.messages.leave()
	d.Now = k.w.now()
	for i := range k.all {
		s := &k.all[i]
		switch due := s.Is.Due; {
		case due.IsZero() || s.CodeSet() != code:
		case !due.After(d.Now):
			d.Schedules = append(d.Schedules, *s)
		case d.Next.IsZero() || due.Before(d.Next):
			d.Next = due
		}
	}
	slices.SortStableFunc(d.Schedules, func(a, b world.Schedule) int { return a.Is.Due.Compare(b.Is.Due) })
	d.More = len(d.Schedules) > limit
	d.Schedules = d.Schedules[:min(limit, len(d.Schedules))]
	for i := range d.Schedules {
		d.Schedules[i] = layout.CloneSchedule(&d.Schedules[i])
	}
	return d, nil
}

// PutSchedule writes a row; see [world.Scheduler].
func (k *schedules) PutSchedule(ctx context.Context, s world.Schedule) (bool, error) {
	if err := world.CheckSchedule(&s); err != nil {
		return false, err
	}
	if err := k.w.enter(ctx); err != nil {
		return false, err
	}
	defer k.w.messages.leave()
	if !k.stands(&s) {
		return false, nil
	}
	k.put(&s)
	return true, nil
}

// DeleteSchedule deletes a row; see [world.Scheduler].
func (k *schedules) DeleteSchedule(ctx context.Context, name string) error {
	if err := k.w.enter(ctx); err != nil {
		return err
	}
	defer k.w.messages.leave()
	i, found := k.find(name)
	if !found {
		return world.NoSchedule(name)
	}
	k.all = slices.Delete(k.all, i, i+1)
	return nil
}
