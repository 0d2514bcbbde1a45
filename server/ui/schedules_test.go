package ui_test

// Schedules: what the page shows, and what is done on it.

import (
	"strings"
	"testing"

	"github.com/stepwell/stepwell/server"
)

func TestSchedulePages(t *testing.T) {
	t.Parallel()
	s := newSite(t, server.Options{})
	s.want("/ui/schedules", "There is no schedule")
	if p := s.post("/ui/schedules/put", "name", "nightly", "workflow", "order", "times", "0 3 * * *; @every 6h", "zone", "Europe/Berlin", "overlap", "allow", "input", `{"a":"<b>"}`); p.status != 200 {
		t.Errorf("got %d %s", p.status, p.body)
	}
	p := s.want("/ui/schedules?did=schedule-put", "The schedule stands", "at 03:00; and every 6h, in Europe/Berlin", "0 3 * * *, @every 6h", `href="/ui/workflows/order"`, "schedule%3Dnightly", `\u003cb\u003e`, ">Pause<", "Run now")
	if n := strings.Count(p.body, ":00:00 CE"); n < 10 {
		t.Errorf("%d next times are shown", n)
	}
	s.post("/ui/schedules/nightly/pause", "reason", "they <move>")
	s.want("/ui/schedules?did=schedule-pause", "starts nothing", "they &lt;move&gt;", ">Resume<", "paused")
	s.post("/ui/schedules/nightly/trigger")
	s.want("/ui/runs?search=schedule%3Dnightly", "nightly@")
	s.post("/ui/schedules/nightly/resume")
	for path, status := range map[string]int{"/ui/schedules/x/pause": 404, "/ui/schedules/nightly/explode": 404, "/ui/schedules/put": 400} {
		if p := s.post(path); p.status != status {
			t.Errorf("%s: got %d, want %d", path, p.status, status)
		}
	}
	if p := s.post("/ui/schedules/put", "name", "x", "workflow", "order", "times", "0 0 30 2 *"); p.status != 400 || !strings.Contains(p.body, "never comes") {
		t.Errorf("one that never comes: %d %s", p.status, p.body)
	}
	s.post("/ui/schedules/nightly/delete")
	s.want("/ui/schedules?did=schedule-delete", "There is no schedule")
	if log := s.log.String(); !strings.Contains(log, `what="ui trigger"`) || !strings.Contains(log, "schedule=nightly") {
		t.Errorf("the audit log should have the acts: %s", log)
	}
}

// TestSchedulePagesOfViewers: who may not act sees all but forms.
func TestSchedulePagesOfViewers(t *testing.T) {
	t.Parallel()
	s := newSite(t, locked(t))
	s.login(viewerSecret)
	if p := s.want("/ui/schedules", "There is no schedule"); strings.Contains(p.body, "Make a schedule") {
		t.Error("a viewer has a form")
	}
	for _, path := range []string{"/ui/schedules/put", "/ui/schedules/s/pause"} {
		if p := s.post(path); p.status != 403 {
			t.Errorf("a viewer posts to %s: got %d, want 403", path, p.status)
		}
	}
}
