package timetable

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
)

// TestTimes: what expressions come to, in the hours that a change of the clocks leaves out or repeats too.
func TestTimes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		times, zone, after, want string // times by |, in the zone
	}{
		"nightly":                        {"0 3 * * *", "", "2026-11-25T23:00:00Z", "26 03:00 27 03:00"},
		"six fields":                     {"30 0 3 * * *", "", "2026-11-25T23:00:00Z", "26 03:00:30"},
		"names":                          {"0 9 * JAN Thu", "", "2026-11-25T23:00:00Z", "7 09:00 14 09:00"},
		"a day of the month or a week's": {"0 0 13 * 5", "", "2026-11-05T00:00:00Z", "6 00:00 13 00:00 20 00:00"},
		"the last day":                   {"0 0 L * *", "", "2026-02-01T00:00:00Z", "28 00:00 31 00:00"},
		"the third friday":               {"0 0 * * FRI#3", "", "2026-11-01T00:00:00Z", "20 00:00"},
		"daily":                          {"@daily", "Asia/Tokyo", "2026-11-25T14:59:59Z", "26 00:00 27 00:00"},
		"several":                        {"0 9 * * *|0 17 * * *", "", "2026-11-25T10:00:00Z", "25 17:00 26 09:00"},
		"every with an offset":           {"@every 6h+15m", "", "2026-11-25T10:00:00Z", "25 12:15 25 18:15"},
		"once":                           {"@at 2026-11-25T10:00:00+01:00", "", "2026-11-25T08:00:00Z", "25 09:00"},
		"hours over midnight":            {"0 22-1 * * *", "", "2026-11-25T12:00:00Z", "25 22:00 25 23:00 26 00:00 26 01:00 26 22:00"},
		"a week's days over its end":     {"0 0 * * FRI-MON", "", "2026-11-25T12:00:00Z", "27 00:00 28 00:00 29 00:00 30 00:00 4 00:00"},
		"months over the year's end":     {"0 0 1 NOV-FEB *", "", "2026-11-25T12:00:00Z", "1 00:00 1 00:00 1 00:00 1 00:00"},
		"a leap day":                     {"0 0 29 2 *", "", "2026-11-25T10:00:00Z", "29 00:00"},
		"a leap day of the century":      {"0 0 29 2 *", "", "2097-01-01T00:00:00Z", "29 00:00"},

		"Berlin: left out":                {"30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "29 03:00 30 02:30"},
		"Berlin: several left out":        {"*/15 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "29 03:00 30 02:00"},
		"Berlin: left out and the next":   {"30 2,3 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "29 03:00 29 03:30"},
		"Berlin: left out and its end":    {"30 2 * * *|0 3 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "29 03:00 30 02:30"},
		"Berlin: each hour over the gap":  {"0 * * * *", "Europe/Berlin", "2026-03-28T23:30:00Z", "29 01:00 29 03:00 29 04:00"},
		"Berlin: repeated":                {"30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "25 02:30 26 02:30"},
		"Berlin: after the first of two":  {"30 2 * * *", "Europe/Berlin", "2026-10-25T00:30:00Z", "26 02:30"},
		"Berlin: within the second":       {"45 2 * * *", "Europe/Berlin", "2026-10-25T01:15:00Z", "26 02:45"},
		"Berlin: each hour, repeated":     {"0 * * * *", "Europe/Berlin", "2026-10-24T23:30:00Z", "25 02:00 25 02:00 25 03:00"},
		"Berlin: each quarter, repeated":  {"*/30 * * * *", "Europe/Berlin", "2026-10-25T00:00:00Z", "25 02:30 25 02:00 25 02:30 25 03:00"},
		"Berlin: each hour of leap years": {"0 * * * *", "Europe/Berlin", "2028-12-31T20:30:00Z", "31 22:00 31 23:00 1 00:00 1 01:00"},
		"Berlin: a day behind a leap one": {"0 * 1 1 *", "Europe/Berlin", "2028-03-02T12:00:00Z", "1 00:00 1 01:00"},
		"Lord Howe: half an hour is gone": {"15 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00:00Z", "4 02:30 5 02:15"},
		"Lord Howe: and comes twice":      {"45 1 * * *", "Australia/Lord_Howe", "2026-04-04T00:00:00Z", "5 01:45 6 01:45"},
		"Lord Howe: each quarter":         {"*/15 * * * *", "Australia/Lord_Howe", "2026-10-03T15:15:00Z", "4 02:30 4 02:45 4 03:00"},
		"São Paulo: no midnight":          {"@daily", "America/Sao_Paulo", "2018-11-03T12:00:00Z", "4 01:00 5 00:00"},
		"São Paulo: midnight in a year":   {"0 0 4 11 *", "America/Sao_Paulo", "2018-01-01T12:00:00Z", "4 01:00 4 00:00"},
		"Samoa: a day is left out":        {"0 12 * * *", "Pacific/Apia", "2011-12-29T23:00:00Z", "31 00:00 31 12:00"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			times, err := Parse("x", &world.ScheduleSpec{Times: strings.Split(test.times, "|"), Zone: test.zone})
			if err != nil {
				t.Fatal(err)
			}
			after, err := time.Parse(time.RFC3339, test.after)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, x := range times.Some(after, len(strings.Fields(test.want))/2) {
				got = append(got, strings.TrimSuffix(x.Format("2 15:04:05"), ":00"))
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("got %s, want %s", strings.Join(got, " "), test.want)
			}
		})
	}
}

// TestTimesGoOn: a time is behind the one before, in zones with changes of all kinds, and none is left out that a clock
// on the wall reads.
func TestTimesGoOn(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{"Europe/Berlin", "Australia/Lord_Howe", "America/Sao_Paulo", "Africa/Casablanca", "America/St_Johns"} {
		for _, text := range []string{"30 2 * * *", "0 0 * * *", "*/20 * * * *", "59 59 23 * * *", "*/7 1-3 * * *"} {
			times, err := Parse("x", &world.ScheduleSpec{Times: []string{text}, Zone: zone})
			if err != nil {
				t.Fatal(err)
			}
			last, days := time.Date(2017, 12, 31, 12, 0, 0, 0, time.UTC), map[string]bool{}
			for last.Year() < 2019 {
				next := times.Next(last)
				if !next.After(last) || next.Sub(last) > 26*time.Hour {
					t.Fatalf("%s in %s: %s comes after %s", text, zone, next, last)
				}
				last = next
				days[next.In(times.zone).Format(time.DateOnly)] = true
			}
			if len(days) < 364 {
				t.Errorf("%s in %s: %d days have a time", text, zone, len(days))
			}
		}
	}
}

func TestBadSchedulesAreRefused(t *testing.T) {
	t.Parallel()
	good := func() world.Schedule {
		return world.Schedule{Name: "x", Says: world.ScheduleSpec{Workflow: "w", Times: []string{"@daily"}}}
	}
	s := good()
	if err := Check(&s); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(s *world.Schedule){
		"schedule name":                func(s *world.Schedule) { s.Name = "a b" },
		"workflow name":                func(s *world.Schedule) { s.Says.Workflow = "" },
		"want 1 to 32":                 func(s *world.Schedule) { s.Says.Times = nil },
		`"0 0 30 2 *" never comes`:     func(s *world.Schedule) { s.Says.Times = []string{"@daily", "0 0 30 2 *"} },
		`"0 0 31 4,6,9 *" never`:       func(s *world.Schedule) { s.Says.Times = []string{"0 0 31 4,6,9 *"} },
		`the minute is "61": want 0`:   func(s *world.Schedule) { s.Says.Times = []string{"61 * * * *"} },
		`the hour is "24": want 0`:     func(s *world.Schedule) { s.Says.Times = []string{"0 0 24 * * *"} },
		"an empty entry":               func(s *world.Schedule) { s.Says.Times = []string{"1,,2 * * * *"} },
		`"* 1, * * *": a list has`:     func(s *world.Schedule) { s.Says.Times = []string{"* 1, * * *"} },
		`"* * ,1 * *": a list has`:     func(s *world.Schedule) { s.Says.Times = []string{"* * ,1 * *"} },
		"it has 3 fields: want 5":      func(s *world.Schedule) { s.Says.Times = []string{"1 2 3"} },
		"want @hourly, @daily":         func(s *world.Schedule) { s.Says.Times = []string{"@dayly"} },
		"@every 7d, or":                func(s *world.Schedule) { s.Says.Times = []string{"@every 1x"} },
		`"61 * * * *"`:                 func(s *world.Schedule) { s.Says.Times = []string{"61 * * * *"} },
		`"* * *"`:                      func(s *world.Schedule) { s.Says.Times = []string{"* * *"} },
		"@every 6h":                    func(s *world.Schedule) { s.Says.Times = []string{"@every soon"} },
		"whole seconds":                func(s *world.Schedule) { s.Says.Times = []string{"@every 100ms"} },
		"a shorter offset":             func(s *world.Schedule) { s.Says.Times = []string{"@every 1h+2h"} },
		"@at 2026":                     func(s *world.Schedule) { s.Says.Times = []string{"@at noon"} },
		"cannot use @reboot":           func(s *world.Schedule) { s.Says.Times = []string{"@reboot"} },
		"use the zone of the schedule": func(s *world.Schedule) { s.Says.Times = []string{"TZ=UTC 0 0 * * *"} },
		`the minute is "h": want`:      func(s *world.Schedule) { s.Says.Times = []string{"H 0 * * *"} },
		`zone "Mars/Olympus"`:          func(s *world.Schedule) { s.Says.Zone = "Mars/Olympus" },
		`zone "localtime"`:             func(s *world.Schedule) { s.Says.Zone = "localtime" },
		`zone "posixrules"`:            func(s *world.Schedule) { s.Says.Zone = "posixrules" },
		`zone "posix/UTC"`:             func(s *world.Schedule) { s.Says.Zone = "posix/UTC" },
		`zone "right/UTC"`:             func(s *world.Schedule) { s.Says.Zone = "right/UTC" },
		`zone "../UTC"`:                func(s *world.Schedule) { s.Says.Zone = "../UTC" },
		`zone "Local"`:                 func(s *world.Schedule) { s.Says.Zone = "Local" },
		"jitter":                       func(s *world.Schedule) { s.Says.Jitter = -1 },
		"catch-up":                     func(s *world.Schedule) { s.Says.CatchUp = -1 },
		"overlap":                      func(s *world.Schedule) { s.Says.Overlap = "maybe" },
		"runs":                         func(s *world.Schedule) { s.Says.Runs = -1 },
		"not JSON":                     func(s *world.Schedule) { s.Says.Input = []byte("{") },
		"before it begins":             func(s *world.Schedule) { s.Says.From, s.Says.Until = time.Unix(10, 0), time.Unix(5, 0) },
		"it has no time from":          func(s *world.Schedule) { s.Says.From, s.Says.Until = time.Unix(10, 0), time.Unix(20, 0) },
		"it is not in the set":         func(s *world.Schedule) { s.Says.Code = true },
	} {
		s := good()
		change(&s)
		if err := Check(&s); err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, world.ErrInvalid) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"0 3 * * *":                "at 03:00",
		"30 0 3 * * *":             "at 03:00:30",
		"0 9,17 * * 1-5":           "at 09:00, 17:00, on Monday through Friday",
		"*/15 * * * *":             "every 15 minutes",
		"* * * * *":                "every minute",
		"* * * * * *":              "every second",
		"0 * * * *":                "minute 0, of every hour",
		"*/10 9-17 * * MON,WED":    "every 10 minutes, of hour 9 through 17, on Monday, Wednesday",
		"0 0 1,15 * *":             "at 00:00, on day 1, 15 of the month",
		"0 0 13 * 5":               "at 00:00, on day 13 of the month, and on Friday",
		"0 0 L JAN-MAR *":          "at 00:00, on the last day of the month, in January through March",
		"0 0 * * FRI#3":            "at 00:00, on the third Friday",
		"@daily":                   "at 00:00",
		"@weekly":                  "at 00:00, on Sunday",
		"@every 90m+10m":           "every 90m, 10m later",
		"@at 2026-12-24T18:00:00Z": "once, at 2026-12-24T18:00:00Z",
	} {
		times, err := Parse("x", &world.ScheduleSpec{Times: []string{text}, Zone: "Europe/Berlin"})
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got := times.Words(); got != want+", in Europe/Berlin" {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
