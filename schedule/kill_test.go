package schedule_test

// Processes die at each commit of a schedule, before and after it.

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/schedule"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// mortal is a world whose process dies with a write of a schedule: the n-th, before it or after it.
type mortal struct {
	world.World
	n     int
	after bool
	die   func()
	calls *atomic.Int64
}

var errDead = errors.New("this process is dead")

func (m *mortal) Schedules() world.Scheduler {
	return mortalSchedules{m.World.Schedules(), m}
}

// write makes a write, and perhaps dies: nobody is told what came of it.
func (m *mortal) write(do func() error) error {
	here := m.calls.Add(1) == int64(m.n)
	if here && !m.after {
		m.die()
		return errDead
	}
	err := do()
	if here {
		m.die()
		return errDead
	}
	return err
}

func (m *mortal) Commit(ctx context.Context, c *world.Commit) (done world.Committed, err error) {
	if c.Schedule == nil {
		return m.World.Commit(ctx, c)
	}
	err = m.write(func() (err error) { done, err = m.World.Commit(ctx, c); return err })
	return done, err
}

type mortalSchedules struct {
	world.Scheduler
	m *mortal
}

func (s mortalSchedules) PutSchedule(ctx context.Context, x world.Schedule) (put bool, err error) {
	err = s.m.write(func() (err error) { put, err = s.Scheduler.PutSchedule(ctx, x); return err })
	return put, err
}

// TestKillAtEachWrite: whichever write of a schedule a process dies with, the next one goes on, and each time has
// its one run.
func TestKillAtEachWrite(t *testing.T) {
	for overlap, want := range map[world.Overlap]int{schedule.Skip: 3, schedule.QueueAll: 3, schedule.Cancel: 5} {
		for n, killed := 1, true; killed; n++ {
			for _, after := range []bool{false, true} {
				killed = false
				t.Run(fmt.Sprint(overlap, " ", n, " ", after), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						w, of := memory.New(), report()
						set := schedule.Set("reports", 1, schedule.New("x", of, 15, schedule.Times("*/10 * * * *"), schedule.Overlap(overlap)))
						first, dead := &mortal{World: w, n: n, after: after, calls: new(atomic.Int64)}, make(chan struct{})
						first.die = func() { close(dead) }
						_, stop := run(t, first, of, set)
						select {
						case <-dead:
							killed = true
						case <-time.After(30 * time.Minute):
						}
						stop()
						app, _ := run(t, w, of, set)
						time.Sleep(time.Until(time.Date(2000, 1, 1, 0, 54, 0, 0, time.UTC)))
						synctest.Wait()
						seen := map[string]bool{}
						count := 0
						for r, err := range app.List(t.Context(), stepwell.ListFilter{Workflow: "report"}) {
							if err != nil {
								t.Fatal(err)
							}
							at := string(r.Attributes[world.AttributeScheduleTime])
							if seen[at] {
								t.Errorf("%s has two runs", at)
							}
							seen[at] = true
							count++
						}
						if s := stands(t, app, "x"); s.Is.Count != count || s.Is.Missed != 0 || overlap != schedule.QueueAll && count+s.Is.Skipped != 5 {
							t.Errorf("%d runs, and it stands so: %+v", count, s.Is)
						}
						if count < want || count > want+1 {
							t.Errorf("got %d runs, want %d", count, want)
						}
					})
				})
			}
		}
	}
}
