package ui_test

// Schedules: what the page shows, and what is done on it.

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell/internal/uitest"
	"github.com/stepwell/stepwell/server"
	"github.com/stepwell/stepwell/world"
)

func TestSchedulePages(t *testing.T) {
	t.Parallel()
	s := newSite(t, server.Options{})
	s.want("/ui/schedules", "There is no schedule")
	if p := s.post("/ui/schedules/put", "name", "nightly", "workflow", "order", "times", "0 3 * * *; @every 6h", "zone", "Europe/Berlin", "overlap", "allow", "input", `{"a":"<b>"}`); p.status != 200 {
		t.Errorf("got %d %s", p.status, p.body)
	}
	p := s.want("/ui/schedules?did=schedule-put", "The schedule is saved", "at 03:00; and every 6h, in Europe/Berlin", "0 3 * * *, @every 6h", `href="/ui/workflows/order"`, "schedule%3Dnightly", `\u003cb\u003e`, ">Pause<", "Run now")
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
	if p := s.post("/ui/schedules/put", "name", "nightly", "workflow", "order", "times", "0 3 * * *", "overlap", "queue-all", "input", "1", "version", "1",
		"from", "2026-01-01", "until", "2999-01-01T12:00:00Z", "runs", "7", "jitter", "10m", "catchup", "2d", "pauseonfailure", "yes"); p.status != 200 {
		t.Errorf("with all fields: got %d %s", p.status, p.body)
	}
	all, err := s.World.Schedules().Schedules(t.Context(), world.ScheduleQuery{})
	if err != nil || len(all) != 1 {
		t.Fatalf("got %+v, %v", all, err)
	}
	want := world.ScheduleSpec{
		Workflow: "order", Version: 1, Times: []string{"0 3 * * *"}, From: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Until: time.Date(2999, 1, 1, 12, 0, 0, 0, time.UTC),
		Runs: 7, Jitter: 10 * time.Minute, CatchUp: 48 * time.Hour, Overlap: world.OverlapQueueAll, PauseOnFailure: true, Input: []byte("1"),
	}
	if got := all[0].Says; !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for label, field := range map[string][2]string{"Most runs": {"runs", "many"}, "Jitter": {"jitter", "soon"}, "From": {"from", "noon"}, "Catch-up": {"catchup", "-1d"}, "Version": {"version", "x"}} {
		p := s.post("/ui/schedules/put", "name", "nightly", "workflow", "order", "times", "@daily", field[0], field[1])
		if p.status != 400 || !strings.Contains(p.body, "invalid: "+label+" &#34;"+field[1]) || strings.Contains(p.body, "strconv") {
			t.Errorf("%s %q: %d %s", field[0], field[1], p.status, p.body)
		}
	}
	s.want("/ui/schedules", "Backfill", `name="jitter"`, `placeholder="1d"`)
	s.post("/ui/schedules/put", "name", "nightly", "workflow", "order", "times", "0 3 * * *", "input", "{}")
	for range 2 {
		if p := s.post("/ui/schedules/nightly/backfill", "from", "2026-01-01", "until", "2026-01-03"); p.status != 200 {
			t.Errorf("backfill: got %d %s", p.status, p.body)
		}
	}
	s.want("/ui/schedules?did=schedule-backfill", "has a run now")
	s.want("/ui/runs?search=schedule%3Dnightly", "nightly@2026-01-01T03:00:00Z", "nightly@2026-01-02T03:00:00Z")
	for _, until := range []string{"", "2025-01-01", "2999-01-01", "then"} {
		if p := s.post("/ui/schedules/nightly/backfill", "from", "2026-01-01", "until", until); p.status != 400 {
			t.Errorf("backfill until %q: got %d %s", until, p.status, p.body)
		}
	}
	s.post("/ui/schedules/nightly/delete")
	s.want("/ui/schedules?did=schedule-delete", "There is no schedule")
	if log := s.Log.String(); !strings.Contains(log, `what="ui trigger"`) || !strings.Contains(log, "schedule=nightly") {
		t.Errorf("the audit log should have the acts: %s", log)
	}
}

// TestSchedulePagesOfViewers: who may not act sees all but forms.
func TestSchedulePagesOfViewers(t *testing.T) {
	t.Parallel()
	s := newSite(t, uitest.Locked(t))
	s.login(uitest.ViewerSecret)
	if p := s.want("/ui/schedules", "There is no schedule"); strings.Contains(p.body, "Create a schedule") {
		t.Error("a viewer has a form")
	}
	for _, path := range []string{"/ui/schedules/put", "/ui/schedules/s/pause"} {
		if p := s.post(path); p.status != 403 {
			t.Errorf("a viewer posts to %s: got %d, want 403", path, p.status)
		}
	}
}
