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
	waitTimes = 100_000
)

// until lets time pass until done reports true, and returns how much did. It gives up where nothing is left that time could move.
// It is called in the bubble.
func (l *life) until(done func() bool) time.Duration {
	began := time.Now()
	pause := time.Millisecond
	for range waitTimes {
		synctest.Wait()
		if done() || time.Since(began) > waitTime {
			break
		}
		next, busy := l.next()
		switch {
		case busy: // somebody works, or has just ended
			<-time.After(pause)
			pause = min(2*pause, time.Minute)
		case next.IsZero():
			return time.Since(began)
		default:
			<-time.After(max(time.Until(next), time.Millisecond))
			pause = time.Millisecond
		}
	}
	synctest.Wait()
	return time.Since(began)
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
		sooner(q.WakeAt)
		if tasks, ok := any(l.world.World).(world.TaskReader); ok {
			list, err := tasks.Tasks(l.ctx, r.ID)
			for i := range list {
				if err == nil {
					busy = busy || list[i].Worker != ""
					sooner(list[i].Visible)
				}
			}
		}
	}
	return next, busy
}
