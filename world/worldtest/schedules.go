// Schedules: rows that change as they were read, with the starts of their runs.

package worldtest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stepwell/stepwell/world"
)

// planning is what the checks use of a world's schedules.
type planning struct {
	*rig
	k world.Scheduler
}

func withSchedules(f func(p *planning)) func(r *rig) {
	return func(r *rig) { f(&planning{r, r.w.Schedules()}) }
}

func planned(name string, due time.Time) world.Schedule {
	return world.Schedule{
		Name: name, Made: world.Provenance{By: "ann", At: world.Now()},
		Says: world.ScheduleSpec{Workflow: "greet", Times: []string{"@daily"}, Zone: "Europe/Berlin", Jitter: time.Second, Input: []byte(`{"a":1}`)},
		Is:   world.ScheduleSoFar{Next: due, Due: due, Count: 3, Last: &world.ScheduledRun{Run: name + "@1", At: due}},
	}
}

func (p *planning) put(s world.Schedule, want bool) {
	p.Helper()
	put, err := p.k.PutSchedule(p.ctx, s)
	p.must(err, "put "+s.Name)
	if put != want {
		p.Fatalf("put %s of change %d: got %v, want %v", s.Name, s.Change, put, want)
	}
}

// has is the schedule as it is read.
func (p *planning) has(name string) world.Schedule {
	p.Helper()
	all, err := p.k.Schedules(p.ctx, world.ScheduleQuery{Names: []string{name}})
	p.must(err, "read "+name)
	if len(all) != 1 || all[0].Damage != "" {
		p.Fatalf("%s: got %+v", name, all)
	}
	return all[0]
}

func (p *planning) lists(q world.ScheduleQuery, want ...string) {
	p.Helper()
	all, err := p.k.Schedules(p.ctx, q)
	p.must(err, "list")
	var got []string
	for _, s := range all {
		got = append(got, s.Name)
	}
	if !slices.Equal(got, want) {
		p.Errorf("%+v: got %q, want %q", q, got, want)
	}
}

// due are the names of what is due, of those of one set, and whether others are.
func (p *planning) due(code string, limit int) (names []string, d world.DueSchedules) {
	p.Helper()
	d, err := p.k.DueSchedules(p.ctx, code, limit, 0)
	p.must(err, "what is due")
	for _, s := range d.Schedules {
		names = append(names, s.Name)
	}
	return names, d
}

// fires is the start of a run by a schedule.
func fires(s world.Schedule, id string) *world.Commit {
	c := birth("greet", withKey(id))
	c.Run, c.Schedule = id, &s
	return c
}

var schedules = []check{
	{"a schedule comes back as it was put", "what was committed is never changed", withSchedules(func(p *planning) {
		s := planned("a", world.Now().Truncate(time.Second).Add(time.Hour))
		s.Paused, s.Set, s.Revision = &world.QueuePause{By: "ann", Reason: "tea\x00\u00e9", Since: world.Now()}, "set", 7
		p.put(s, true)
		got := p.has("a")
		if got.Change <= 0 {
			p.Errorf("change %d", got.Change)
		}
		s.Change = got.Change
		p.same(got, s, "the schedule")
	})},
	{"who has read an older row changes nothing", "a row changes as it was read", withSchedules(func(p *planning) {
		s := planned("a", world.Now().Add(time.Hour))
		p.put(s, true)
		p.put(s, false)
		first := p.has("a")
		p.put(first, true)
		p.put(first, false)
		gone := planned("b", world.Now().Add(time.Hour))
		gone.Change = 5
		p.put(gone, false)
		p.lists(world.ScheduleQuery{}, "a")
	})},
	{"who has read one that was deleted changes nothing of another with its name", "a row changes as it was read", withSchedules(func(p *planning) {
		for range 3 {
			p.put(planned("a", world.Now().Add(time.Hour)), true)
			stale := p.has("a")
			p.must(p.k.DeleteSchedule(p.ctx, "a"), "delete")
			p.put(planned("a", world.Now().Add(2*time.Hour)), true)
			now := p.has("a")
			stale.Is.Count = 9
			p.put(stale, false)
			_, err := p.w.Commit(p.ctx, fires(stale, "a@2"))
			p.refused(err, world.ErrConflict, "a start by a row that is gone")
			p.absent("a@2")
			p.same(p.has("a"), now, "the schedule")
			p.must(p.k.DeleteSchedule(p.ctx, "a"), "delete")
		}
	})},
	{"lists are by name, in pages", "lists are stable", withSchedules(func(p *planning) {
		for _, name := range []string{"c", "a", "B", "d-1", "d.1"} {
			s := planned(name, world.Now().Add(time.Hour))
			if name == "a" || name == "d.1" {
				s.Set = "mine"
			}
			p.put(s, true)
		}
		p.lists(world.ScheduleQuery{}, "B", "a", "c", "d-1", "d.1")
		p.lists(world.ScheduleQuery{After: "a", Limit: 2}, "c", "d-1")
		p.lists(world.ScheduleQuery{Set: "mine"}, "a", "d.1")
		p.lists(world.ScheduleQuery{Set: "mine", After: "a"}, "d.1")
		p.lists(world.ScheduleQuery{Set: "x"})
		p.lists(world.ScheduleQuery{Names: []string{"d.1", "x", "a", "a"}}, "a", "d.1")
		p.lists(world.ScheduleQuery{Names: []string{"a", "c"}, Set: "mine"}, "a")
		p.lists(world.ScheduleQuery{Names: []string{"not\x00there"}})
	})},
	{"what is due is told by its time", "a schedule that is due is found", withSchedules(func(p *planning) {
		now := world.Now()
		// They need the code of a set that nobody has: a server that stands before the world starts no runs of them.
		due := map[string]time.Time{
			"late": now.Add(-time.Hour), "later": now.Add(-2 * time.Hour), "soon": now.Add(time.Hour), "then": now.Add(2 * time.Hour), "never": {},
		}
		for name, at := range due {
			s := planned(name, at)
			s.Set, s.Says.Code = "set", true
			p.put(s, true)
		}
		p.put(planned("plain", now.Add(3*time.Hour)), true)
		names, d := p.due("set", 10)
		if !slices.Equal(names, []string{"later", "late"}) || d.More || d.Next.Sub(now.Add(time.Hour)).Abs() > time.Second || d.Now.Sub(now).Abs() > time.Minute {
			p.Errorf("got %q, %+v", names, d)
		}
		if names, d = p.due("set", 1); !slices.Equal(names, []string{"later"}) || !d.More {
			p.Errorf("one: got %q, more %v", names, d.More)
		}
		if names, d = p.due("", 10); len(names) != 0 || d.Next.Sub(now.Add(3*time.Hour)).Abs() > time.Second {
			p.Errorf("of no set: got %q, next %s", names, d.Next)
		}
		if names, d = p.due("other", 10); len(names) != 0 || !d.Next.IsZero() {
			p.Errorf("of another set: got %q", names)
		}
	})},
	{"a run starts with the change of its schedule", "every change is one commit", withSchedules(func(p *planning) {
		p.put(planned("a", world.Now().Add(time.Hour)), true)
		before := p.has("a")
		after := before
		after.Is.Count, after.Is.Due = 4, time.Time{}
		p.commit(fires(after, "a@2"))
		if got := p.has("a"); got.Is.Count != 4 || got.Change == before.Change {
			p.Errorf("it stands so: %+v", got)
		}
		p.same(p.run("a@2").Status, world.Pending, "status of its run")
		late := fires(after, "a@3")
		_, err := p.w.Commit(p.ctx, late)
		p.refused(err, world.ErrConflict, "a start by a row that has changed")
		p.absent("a@3")
		p.must(p.k.DeleteSchedule(p.ctx, "a"), "delete")
		_, err = p.w.Commit(p.ctx, fires(after, "a@4"))
		p.refused(err, world.ErrConflict, "a start by a row that is gone")
		p.absent("a@4")
		p.refused(p.k.DeleteSchedule(p.ctx, "a"), world.ErrNotFound, "delete again")
	})},
	{"a time that has its run goes on", "a key starts one run", withSchedules(func(p *planning) {
		p.put(planned("a", world.Now().Add(time.Hour)), true)
		c := fires(world.Schedule{}, "a@2")
		c.Schedule = nil
		p.commit(c)
		after := p.has("a")
		after.Is.Count = 4
		p.same(p.commit(fires(after, "a@2")).Existing, "a@2", "the run that is there")
		p.same(p.has("a").Is.Count, 4, "runs that are counted")
		after = p.has("a")
		after.Is.Count = 5
		stranger := fires(after, "a@2")
		stranger.Events[0].Birth.Key = "another"
		_, err := p.w.Commit(p.ctx, stranger)
		p.refused(err, world.ErrRunExists, "an ID that is a stranger's")
		p.same(p.has("a").Is.Count, 4, "runs that are counted")
	})},
	{"of many who start it one does", "each time has one run", withSchedules(func(p *planning) {
		p.put(planned("a", world.Now().Add(time.Hour)), true)
		row := p.has("a")
		var wg sync.WaitGroup
		var done atomic.Int32
		for i := range 8 {
			wg.Go(func() {
				after := row
				after.Is.Count = 10 + i
				switch _, err := p.w.Commit(p.ctx, fires(after, fmt.Sprint("a@", i))); {
				case err == nil:
					done.Add(1)
				case !errors.Is(err, world.ErrConflict):
					p.Errorf("start %d: %v", i, err)
				}
			})
		}
		wg.Wait()
		p.same(done.Load(), int32(1), "starts")
		page, err := p.w.Runs(p.ctx, world.RunQuery{Workflow: "greet"})
		p.must(err, "runs")
		p.same(len(page.Runs), 1, "runs")
	})},
	{"schedules that nobody keeps", "bad input is refused before anything is written", withSchedules(func(p *planning) {
		for what, change := range map[string]func(s *world.Schedule){
			"name":     func(s *world.Schedule) { s.Name = strings.Repeat("a", world.MaxScheduleName+1) },
			"workflow": func(s *world.Schedule) { s.Says.Workflow = "a b" },
			"times":    func(s *world.Schedule) { s.Says.Times = nil },
			"overlap":  func(s *world.Schedule) { s.Says.Overlap = "x" },
			"input":    func(s *world.Schedule) { s.Says.Input = []byte("{") },
			"set":      func(s *world.Schedule) { s.Set = "a b" },
			"bounds":   func(s *world.Schedule) { s.Says.From, s.Says.Until = time.Unix(10, 0), time.Unix(5, 0) },
			"reason":   func(s *world.Schedule) { s.Paused = &world.QueuePause{Reason: strings.Repeat("x", world.MaxReason+1)} },
			"by":       func(s *world.Schedule) { s.Paused = &world.QueuePause{By: strings.Repeat("x", world.MaxBy+1)} },
			"made":     func(s *world.Schedule) { s.Made.By = strings.Repeat("x", world.MaxBy+1) },
			"a time":   func(s *world.Schedule) { s.Says.Times = []string{strings.Repeat("x", world.MaxName+1)} },
			"zone":     func(s *world.Schedule) { s.Says.Zone = strings.Repeat("x", world.MaxName+1) },
			"error":    func(s *world.Schedule) { s.Is.Error = strings.Repeat("x", world.MaxReason+1) },
		} {
			s := planned("a", world.Now().Add(time.Hour))
			change(&s)
			_, err := p.k.PutSchedule(p.ctx, s)
			p.refused(err, world.ErrInvalid, what)
			_, err = p.w.Commit(p.ctx, fires(s, "a@1"))
			p.refused(err, world.ErrInvalid, what+" of a start")
		}
		s := p.worker("greet")
		c := birth("greet")
		c.Worker, c.Claim = s.id, 1
		a := planned("a", world.Now().Add(time.Hour))
		c.Schedule = &a
		_, err := p.w.Commit(p.ctx, c)
		p.refused(err, world.ErrInvalid, "a worker's birth")
		_, err = p.k.DueSchedules(p.ctx, "", 0, 0)
		p.refused(err, world.ErrInvalid, "a look at none")
		_, err = p.k.Schedules(p.ctx, world.ScheduleQuery{Limit: 1_001})
		p.refused(err, world.ErrInvalid, "a page of too many")
		p.lists(world.ScheduleQuery{})
	})},
}

// damageSchedules makes schedules, with something in every column.
func damageSchedules(r *rig) {
	for _, name := range []string{"good", "victim", "over"} {
		s := planned(name, world.Now().Add(-time.Hour))
		s.Set = "set"
		(&planning{r, r.w.Schedules()}).put(s, true)
	}
}

// schedulesWithDamage looks at schedules, of which some may be damaged.
func (r *rig) schedulesWithDamage(name func(string, error)) {
	r.Helper()
	k := r.w.Schedules()
	all, err := k.Schedules(r.ctx, world.ScheduleQuery{})
	r.must(err, "schedules")
	for _, s := range all {
		name(s.Damage, nil)
	}
	_, err = k.Schedules(r.ctx, world.ScheduleQuery{Set: "set"})
	r.must(err, "schedules of a set")
	_, err = k.DueSchedules(r.ctx, "", world.MaxBatch, 0)
	r.must(err, "what is due")
}
