package timetable

import (
	"testing"
	"time"

	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/world"
)

// walked are expressions, and what a clock on the wall reads when they mean it. Those that pass see no change of it.
var walked = []struct {
	text    string
	passing bool
	reads   func(r time.Time) bool
}{
	{"30 2 * * *", false, func(r time.Time) bool { return r.Hour() == 2 && r.Minute() == 30 }},
	{"0 0 * * *", false, func(r time.Time) bool { return r.Hour() == 0 && r.Minute() == 0 }},
	{"59 23 * * *", false, func(r time.Time) bool { return r.Hour() == 23 && r.Minute() == 59 }},
	{"1,45 0-3 * * *", false, func(r time.Time) bool { return r.Hour() <= 3 && (r.Minute() == 1 || r.Minute() == 45) }},
	{"*/7 1,2 * * SUN", false, func(r time.Time) bool {
		return r.Weekday() == time.Sunday && (r.Hour() == 1 || r.Hour() == 2) && r.Minute()%7 == 0
	}},
	{"0 1-23/11 30 * *", false, func(r time.Time) bool {
		return r.Day() == 30 && (r.Hour() == 1 || r.Hour() == 12 || r.Hour() == 23) && r.Minute() == 0
	}},
	{"10,50 * * * *", true, func(r time.Time) bool { return r.Minute() == 10 || r.Minute() == 50 }},
}

// TestTimesByWalking: ten years of times are those that somebody finds who looks at the clock on the wall each minute,
// and has a list of what it has read: a reading counts once, and where the clock is set forward that minute has what is
// left out, once.
func TestTimesByWalking(t *testing.T) {
	t.Parallel()
	zones := []string{
		"Australia/Lord_Howe", "Antarctica/Troll", "Pacific/Apia", "Africa/Casablanca", "America/St_Johns", "America/Sao_Paulo", "Africa/Cairo", "Europe/Berlin",
	}
	for _, zone := range sample.OneFor(t, "zone", zones...) {
		t.Run(zone, func(t *testing.T) {
			t.Parallel()
			begin := time.Date(2009, time.June, 1, 0, 0, 0, 0, time.UTC)
			all := make([]*Times, len(walked))
			next := make([]time.Time, len(walked))
			for i, w := range walked {
				times, err := Parse("x", &world.ScheduleSpec{Times: []string{w.text}, Zone: zone})
				if err != nil {
					t.Fatal(err)
				}
				all[i], next[i] = times, times.Next(begin)
			}
			counts, changes := make([]int, len(walked)), 0
			before := readingOf(begin.In(all[0].zone))
			for at, latest := begin.Add(time.Minute), before; at.Year() < 2020; at = at.Add(time.Minute) {
				reads := readingOf(at.In(all[0].zone))
				first := reads.After(latest)
				if reads.Sub(before) != time.Minute {
					changes++
				}
				for i, w := range walked {
					is := (first || w.passing) && w.reads(reads)
					if !w.passing {
						for r := latest.Add(time.Minute); !is && r.Before(reads); r = r.Add(time.Minute) {
							is = w.reads(r) // it was left out
						}
					}
					if is != next[i].Equal(at) {
						t.Fatalf("%s: next is %s, and the walk has %s, which reads %s: %v", w.text, next[i], at, reads.Format(time.DateTime), is)
					}
					if is {
						counts[i]++
						next[i] = all[i].Next(at)
					}
				}
				before = reads
				if first {
					latest = reads
				}
			}
			t.Logf("%d changes of the clock; times %v", changes, counts)
		})
	}
}
