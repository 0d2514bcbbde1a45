package stepwelltest

// This file lets time pass until something has come to its end, and not for ever where it cannot.

import (
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell/world"
)

// Bounds of waiting for an end: of the time that passes, and of how often something happens meanwhile.
const (
	waitTime  = 20 * 365 * 24 * time.Hour
	waitTimes = 10_000

	// What is due and not taken at so many looks, a second apart, while nobody is at work: no worker has it.
	waitLooks = 10
)

// until lets time pass until done reports true, and returns how much did. It ends early where nothing is left that time could
// move, and is tired where things go on and on. It is called in the bubble.
func (l *life) until(done func() bool) (passed time.Duration, tired bool) {
	news := make(chan struct{}, 1)
	defer l.world.Notify(func(world.Notice) {
		select {
		case news <- struct{}{}:
		default:
		}
	})()
	began := time.Now()
	looks := 0
	for range waitTimes {
		synctest.Wait()
		if done() {
			return time.Since(began), false
		}
		next, busy, overdue := l.next()
		switch {
		case busy || !overdue:
			looks = 0
		case looks < waitLooks:
			looks++
			next = soonest(next, time.Now().Add(time.Second))
		}
		if next.IsZero() && !busy {
			return time.Since(began), false
		}
		if time.Since(began) > waitTime {
			break
		}
		pause := time.Hour // a body may take it; news come earlier
		if !next.IsZero() {
			pause = min(pause, max(time.Until(next), time.Millisecond))
		}
		if !busy {
			pause = max(time.Until(next), time.Millisecond)
		}
		select {
		case <-news:
			<-time.After(time.Millisecond) // what is told of is not yet done
			looks = 0
		case <-time.After(pause):
		}
	}
	return time.Since(began), true
}

// next is when a run or a queued step is due; zero: none ever is. busy: a worker has something in hand. overdue:
// something is due, and nobody has it.
func (l *life) next() (next time.Time, busy, overdue bool) {
	due := func(t time.Time) {
		if t.After(time.Now()) {
			next = soonest(next, t)
		} else if !t.IsZero() {
			overdue = true
		}
	}
	for _, r := range l.open() {
		q := r.Queue
		if q == nil || q.Blocked != nil || q.Paused {
			continue
		}
		if q.Owner != "" || q.Mail > 0 {
			busy = true
			continue
		}
		if q.Limit != "" && !q.WakeAt.After(time.Now()) { // it stands in line: who holds its place moves it, or a rate
			due(l.letIn(r.ID, ""))
		} else {
			due(q.WakeAt)
		}
		tasks, err := l.world.Tasks(l.ctx, r.ID)
		for i := range tasks {
			switch {
			case err != nil:
			case tasks[i].Worker != "":
				busy = true
			default:
				due(tasks[i].Visible)
				due(l.letIn(r.ID, tasks[i].Step))
			}
		}
	}
	return next, busy, overdue
}

// soonest is the earlier of two times, of which zero is never.
func soonest(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// letIn is when a rate lets a queued step begin that stands in line; zero: it stands in no line that time moves.
func (l *life) letIn(run, step string) time.Time {
	line, err := l.world.Limits().InLine(l.ctx, run, step)
	if err != nil || line == nil || line.At.IsZero() {
		return time.Time{}
	}
	next := line.At
	if now := time.Now(); next.Before(now) {
		next = now
	}
	return next.Add(time.Second) // who is before it may be let in then
}
