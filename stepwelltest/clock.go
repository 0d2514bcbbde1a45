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

	// A queued step that nobody holds so long after it could be begun is one that no worker has: they look every 5 s.
	waitClaim = 10 * time.Second
)

// until lets time pass until done reports true, and returns how much did. It ends early where nothing is left that time could
// move, and is tired where things go on and on. It is called in the bubble.
func (l *life) until(done func() bool) (passed time.Duration, tired bool) {
	news := make(chan struct{}, 1)
	defer l.world.able.Notifier.Notify(func(world.Notice) {
		select {
		case news <- struct{}{}:
		default:
		}
	})()
	began := time.Now()
	for range waitTimes {
		synctest.Wait()
		if done() {
			return time.Since(began), false
		}
		next, busy := l.next()
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
		case <-time.After(pause):
		}
	}
	return time.Since(began), true
}

// next is when a run or a queued step is due; zero: none ever is. busy: a worker has something in hand.
func (l *life) next() (next time.Time, busy bool) {
	sooner := func(t time.Time) {
		if !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
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
			sooner(l.letIn(r.ID, ""))
		} else {
			sooner(q.WakeAt)
		}
		if l.world.able.TaskReader == nil {
			continue
		}
		tasks, err := l.world.able.TaskReader.Tasks(l.ctx, r.ID)
		for i := range tasks {
			if err != nil {
				continue
			}
			due, held := tasks[i].Visible, tasks[i].Worker != ""
			busy = busy || held
			switch now := time.Now(); {
			case held || due.After(now):
				sooner(due)
			case now.Sub(due) < waitClaim:
				sooner(now.Add(time.Second))
			default:
				sooner(l.letIn(r.ID, tasks[i].Step))
			}
		}
	}
	return next, busy
}

// letIn is when a rate lets a queued step begin that stands in line; zero: it stands in no line that time moves.
func (l *life) letIn(run, step string) time.Time {
	if l.world.able.LimitKeeper == nil {
		return time.Time{}
	}
	line, err := l.world.able.LimitKeeper.Limits().InLine(l.ctx, run, step)
	if err != nil || line == nil || line.At.IsZero() {
		return time.Time{}
	}
	next := line.At
	if now := time.Now(); next.Before(now) {
		next = now
	}
	return next.Add(time.Second) // who is before it may be let in then
}
