package cli

// Schedules on the command line, on a database and on a server in front of one.

import (
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world/sqlite"
)

func TestSchedules(t *testing.T) { onPlaces(t, sqlite.Options{}, nil, walkSchedules) }

func walkSchedules(s *prompt) {
	s.says("made the schedule nightly, whose next time is ", "schedules", "create", "nightly", "report", "--time", "0 3 * * *", "--zone", "Europe/Berlin", "--input", `{"a":1}`, "--jitter", "10m", "--overlap", "queue-one")
	s.says("at 03:00, in Europe/Berlin", "schedules", "list")
	shown := s.says("03:00:00 CE", "schedules", "show", "nightly")
	if n := strings.Count(shown, "03:00:00 CE"); n != 10 {
		s.Errorf("%d next times are shown: %s", n, shown)
	}
	s.says(`"words":"at 03:00, in Europe/Berlin"`, "schedules", "show", "nightly", "--json")
	s.says("paused nightly", "schedules", "pause", "nightly", "--reason", "holidays")
	s.says("holidays", "schedules", "show", "nightly")
	s.says("started nightly@", "schedules", "trigger", "nightly", "--input", "7")
	s.says("resumed nightly", "schedules", "resume", "nightly")
	day := time.Now().UTC().AddDate(0, 0, -3).Format(time.DateOnly)
	until := time.Now().UTC().AddDate(0, 0, -1).Format(time.DateOnly)
	s.says("started 2 runs of nightly; 0 existed already", "schedules", "backfill", "nightly", "--from", day, "--until", until)
	s.says("started 0 runs of nightly; 2 existed already", "schedules", "backfill", "nightly", "--from", day, "--until", until)
	s.says("nightly@", "runs", "list", "--attr", "schedule=nightly")
	for want, args := range map[string][]string{
		"never comes":             {"schedules", "create", "x", "w", "--time", "0 0 31 2 *"},
		"time zone":               {"schedules", "create", "x", "w", "--time", "@daily", "--zone", "Mars"},
		"want 1 to 32":            {"schedules", "create", "x", "w"},
		"overlap":                 {"schedules", "create", "x", "w", "--time", "@daily", "--overlap", "often"},
		"--input":                 {"schedules", "create", "x", "w", "--time", "@daily", "--input", "{"},
		"--from":                  {"schedules", "create", "x", "w", "--time", "@daily", "--from", "soon"},
		"want two times":          {"schedules", "backfill", "nightly"},
		"want a time in the past": {"schedules", "backfill", "nightly", "--from", day, "--until", "2999-01-01"},
	} {
		s.refuses(2, want, args...)
	}
	_, out, _ := s.call.do(s.Context(), append([]string{"__complete", "schedules", "show"}, append(s.where, "ni")...)...)
	if !strings.Contains(out, "nightly\treport") {
		s.Errorf("completion: got %q", out)
	}
	s.says("deleted nightly", "schedules", "delete", "nightly")
	s.refuses(3, "stepwell schedules list", "schedules", "show", "nightly")
	s.refuses(3, "there is no schedule nightly", "schedules", "trigger", "nightly")
}
