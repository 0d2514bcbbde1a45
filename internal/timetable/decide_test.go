package timetable

import (
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
)

// begun is a schedule that goes on from a time.
func begun(t *testing.T, at time.Time, says world.ScheduleSpec) (*world.Schedule, *Times) {
	t.Helper()
	says.Workflow = "w"
	s := &world.Schedule{Name: "x", Says: says}
	if err := Check(s); err != nil {
		t.Fatal(err)
	}
	times, err := Parse(s.Name, &s.Says)
	if err != nil {
		t.Fatal(err)
	}
	begin(s, times, at)
	return s, times
}

var new2026 = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// TestNewestOfMany: where more times are due than are counted it is still the newest alone that has its run.
func TestNewestOfMany(t *testing.T) {
	t.Parallel()
	for name, jitter := range map[string]time.Duration{"": 0, "with jitter": time.Minute} {
		for _, away := range []time.Duration{time.Second, 5 * time.Second, mostCounted * time.Second, (mostCounted + 1) * time.Second, (mostCounted + 2) * time.Second, 20 * time.Hour} {
			s, times := begun(t, new2026, world.ScheduleSpec{Times: []string{"* * * * * *"}, Overlap: world.OverlapCancel, Jitter: jitter})
			now := new2026.Add(away + jitter)
			todo := decide(s, times, now, &LastRun{})
			if !todo.fire || jitter == 0 && !todo.at.Equal(now) || times.isDue(todo.row.Is.Next, now) || todo.at.Before(now.Add(-jitter)) {
				t.Errorf("%s %s: the run of %s starts at %s, and next is %s", away, name, todo.at, now, todo.row.Is.Next)
			}
			if want := min(int(away/time.Second)-1, mostCounted); jitter == 0 && todo.row.Is.Skipped != want {
				t.Errorf("%s: %d are counted, want %d", away, todo.row.Is.Skipped, want)
			}
			if is := todo.row.Is; away > time.Second && (!is.Passed.Before(todo.at) || is.Passed.Before(todo.at.Add(-jitter-20*time.Hour))) {
				t.Errorf("%s %s: the last that has none is %s", away, name, is.Passed)
			}
		}
	}
}

// TestSkippedOfMany: so it is where they are skipped, and what was the last of them is told.
func TestSkippedOfMany(t *testing.T) {
	t.Parallel()
	s, times := begun(t, new2026, world.ScheduleSpec{Times: []string{"*/2 * * * * *"}})
	s.Is.Last = &world.ScheduledRun{Run: "x@", At: new2026}
	now := new2026.Add(20*time.Hour + time.Second)
	is := decide(s, times, now, &LastRun{}).row.Is
	if is.Skipped != mostCounted || !is.Passed.Equal(now.Add(-time.Second)) || !is.Next.Equal(now.Add(time.Second)) {
		t.Errorf("it stands so: %+v", is)
	}
}

// TestJitterEndsWithUntil: no run starts behind the end, and none is left out.
func TestJitterEndsWithUntil(t *testing.T) {
	t.Parallel()
	until := new2026.Add(24 * time.Hour)
	s, times := begun(t, new2026, world.ScheduleSpec{Times: []string{"@hourly"}, Until: until, Jitter: 30 * time.Hour})
	clamped := 0
	for at := s.Is.Next; !at.IsZero(); at = times.Next(at) {
		switch due := times.due(at); {
		case due.Before(at), due.After(until):
			t.Errorf("%s starts at %s", at, due)
		case due.Equal(until):
			clamped++
		}
	}
	if clamped == 0 || clamped > 23 {
		t.Errorf("%d of them start at the end", clamped)
	}
}

// TestLast: the last time that is not behind a moment, for each moment.
func TestLast(t *testing.T) {
	t.Parallel()
	_, times := begun(t, new2026, world.ScheduleSpec{Times: []string{"13,14,40 */7 1-4 * * *", "@at 2026-01-01T02:30:30Z"}, Zone: "Australia/Lord_Howe", Until: new2026.Add(40 * time.Hour)})
	from := times.Next(new2026)
	for want, until := from, from; until.Before(new2026.Add(45 * time.Hour)); until = until.Add(37 * time.Second) {
		for n := times.Next(want); !n.IsZero() && !n.After(until); n = times.Next(want) {
			want = n
		}
		if got := times.last(from, until); !got.Equal(want) {
			t.Fatalf("the last until %s: got %s, want %s", until, got, want)
		}
	}
}

// TestLooksBeforeItIsDue: a run that goes on is looked at so often that what came of it is known though it is deleted
// before the next time; one that is kept for longer than that is not.
func TestLooksBeforeItIsDue(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	s, times := begun(t, new2026, world.ScheduleSpec{Times: []string{"@monthly"}})
	now := s.Is.Next
	todo := decide(s, times, now, &LastRun{})
	looks := 0
	for ; todo.row.Is.Due.Before(todo.row.Is.Next) && looks < 100; looks++ {
		if at := todo.row.Is.Due; looks == 0 && at.Sub(now) != firstLook || looks > 0 && at.Sub(now) != 2*day {
			t.Fatalf("look %d is %s behind the one before", looks, at.Sub(now))
		}
		now = todo.row.Is.Due
		todo = decide(&todo.row, times, now, &LastRun{Run: "x", Kept: 4 * day, Over: looks == 9, Completed: looks == 9})
	}
	if is := todo.row.Is; looks != 10 || !is.Done.Equal(is.Last.At) || !is.Due.Equal(is.Next) || is.Count != 1 {
		t.Errorf("after %d looks it stands so: %+v", looks, is)
	}
	for kept, want := range map[time.Duration]time.Duration{0: firstLook, -1: day, 4 * day: day, 2 * time.Second: leastLook} {
		s, times = begun(t, new2026, world.ScheduleSpec{Times: []string{"@daily"}})
		s.Is.Last = &world.ScheduledRun{Run: "x", At: new2026}
		now := s.Is.Next
		if is := decide(s, times, now, &LastRun{Over: true, Kept: kept}).row.Is; is.Due.Sub(now) != want {
			t.Errorf("kept for %s: it is looked at after %s, want %s", kept, is.Due.Sub(now), want)
		}
	}
}

// TestPausesWhenItIsDue: a schedule whose last run failed is paused when the next is due, and not before, as somebody
// may mend it: but where that run may be deleted by then.
func TestPausesWhenItIsDue(t *testing.T) {
	t.Parallel()
	for kept, early := range map[time.Duration]bool{-1: false, 48 * time.Hour: false, 20 * time.Hour: true} {
		s, times := begun(t, new2026, world.ScheduleSpec{Times: []string{"@daily"}, PauseOnFailure: true})
		todo := decide(s, times, s.Is.Next, &LastRun{})
		failed := &LastRun{Over: true, Failed: true, Kept: kept}
		if todo = decide(&todo.row, times, todo.row.Is.Due, failed); (todo.row.Paused != nil) != early {
			t.Errorf("kept for %s, after an hour: %+v", kept, todo.row)
		}
		if todo = decide(&todo.row, times, todo.row.Is.Next, failed); todo.row.Paused == nil || todo.fire {
			t.Errorf("kept for %s, when it is due: %+v", kept, todo.row)
		}
	}
}

// TestFailingForLongIsNotMissed: a time that was seen and cannot be started has its run when it can, however late.
func TestFailingForLongIsNotMissed(t *testing.T) {
	t.Parallel()
	s, times := begun(t, new2026, world.ScheduleSpec{Times: []string{"@hourly"}, CatchUp: time.Minute})
	now := s.Is.Next.Add(10 * time.Second)
	times.see(s, now) // and its start fails
	todo := decide(s, times, now.Add(30*time.Minute), &LastRun{})
	if is := todo.row.Is; !todo.fire || is.Missed != 0 || !todo.at.Equal(new2026.Add(time.Hour)) {
		t.Errorf("fire %v, of %s: %+v", todo.fire, todo.at, is)
	}
	s.Is.Next = new2026.Add(2 * time.Hour)
	times.see(s, new2026.Add(3*time.Hour+time.Second)) // one that nobody saw in time
	if s.Is.Missed != 1 || !s.Is.Next.Equal(new2026.Add(3*time.Hour)) {
		t.Errorf("it stands so: %+v", s.Is)
	}
}
