package postgres

import (
	"runtime"
	"testing"
	"time"
)

// However often the session looks, nothing is left of it: neither memory nor goroutines.
func TestPassesOfTheSessionLeaveNothing(t *testing.T) { // alone: it counts what the process has
	w := open(t, Options{})
	join(t, w, time.Minute, class1)
	s := &w.queue.session
	eventually(t, "the worker has a session", func() bool { return sessions(t, w) == 1 })
	const passes = 5_000
	pass := func(n int64) {
		for end := s.passes.Load() + n; s.passes.Load() < end; runtime.Gosched() {
			s.watch.Store(true) // so that the wait is one for a time
			s.nudge()
		}
	}
	objects := func() (heap uint64, goroutines int) {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapObjects, runtime.NumGoroutine()
	}
	pass(passes / 10)
	before, ran := objects()
	pass(passes)
	after, runs := objects()
	if after > before+passes/4 || runs > ran+20 {
		t.Errorf("%d passes left %d objects and %d goroutines", passes, int64(after)-int64(before), runs-ran)
	}
}
