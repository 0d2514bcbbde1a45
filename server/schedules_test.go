package server

import (
	"fmt"
	"strings"
	"time"
)

// walkSchedules: a schedule is made, shown, changed, paused, triggered, backfilled and deleted; what is bad is refused.
func walkSchedules(r *rig) {
	const s = "/v1/schedules/"
	a := r.want(200, "PUT", s+"nightly", `{"workflow": "order", "times": ["0 3 * * *"], "zone": "Europe/Berlin", "jitter": "10m", "catchUp": "2d", "overlap": "queue-one", "input": {"order": "o-1"}}`)
	for path, want := range map[string]any{"words": "at 03:00, in Europe/Berlin", "overlap": "queue-one", "catchUp": "2d", "jitter": "10m", "input.order": "o-1", "count": 0.0} {
		if got := a.get(path); got != want {
			r.Errorf("%s: got %v, want %v, in %s", path, got, want, a.body)
		}
	}
	if next, _ := a.get("next").([]any); len(next) != 10 || !strings.Contains(fmt.Sprint(next[0]), "T03:00:00+0") {
		r.Errorf("next: got %v", a.get("next"))
	}
	if a := r.want(200, "GET", s+"nightly", ""); a.get("workflow") != "order" {
		r.Errorf("shown: got %s", a.body)
	}
	if a := r.want(200, "GET", "/v1/schedules?limit=1", ""); a.get("schedules.0.name") != "nightly" || a.get("cursor") != "nightly" {
		r.Errorf("list: got %s", a.body)
	}
	if a := r.want(200, "GET", "/v1/schedules?cursor=nightly", ""); a.get("schedules.0") != nil || a.get("cursor") != nil {
		r.Errorf("its end: got %s", a.body)
	}
	if a := r.want(200, "POST", s+"nightly/pause", `{"reason": "holidays"}`); a.get("paused.reason") != "holidays" || a.get("next") != nil {
		r.Errorf("paused: got %s", a.body)
	}
	a = r.want(201, "POST", s+"nightly/trigger", "")
	if run := fmt.Sprint(a.get("run")); !strings.HasPrefix(run, "nightly@") {
		r.Errorf("triggered: got %s", a.body)
	} else if a := r.want(200, "GET", "/v1/runs/"+run, ""); a.get("input.order") != "o-1" || a.get("attributes.schedule") != "nightly" {
		r.Errorf("its run: got %s", a.body)
	}
	if a := r.want(200, "POST", s+"nightly/resume", ""); a.get("paused") != nil || a.get("next.0") == nil {
		r.Errorf("resumed: got %s", a.body)
	}
	until := time.Now().UTC().Truncate(24 * time.Hour)
	past := fmt.Sprintf(`{"from": %q, "until": %q}`, until.Add(-48*time.Hour).Format(time.RFC3339), until.Format(time.RFC3339))
	if a := r.want(200, "POST", s+"nightly/backfill", past); a.get("started.1") == nil || a.get("started.2") != nil || a.get("existed.0") != nil {
		r.Errorf("backfilled: got %s", a.body)
	}
	if a := r.want(200, "POST", s+"nightly/backfill", past); a.get("started.0") != nil || a.get("existed.1") == nil {
		r.Errorf("backfilled again: got %s", a.body)
	}
	for body, want := range map[string]string{
		`{"workflow": "order", "times": ["0 0 30 2 *"]}`:                                                              "never comes",
		`{"workflow": "order", "times": ["@daily"], "zone": "Mars"}`:                                                  "time zone",
		`{"workflow": "order", "times": ["@daily"], "overlap": "maybe"}`:                                              "overlap",
		`{"workflow": "order", "times": ["@daily"], "catchUp": "9999d"}`:                                              "catch-up",
		`{"workflow": "order", "times": []}`:                                                                          "want 1 to 32",
		`{"workflow": "order", "times": ["@daily"], "from": "2027-01-02T00:00:00Z", "until": "2027-01-01T00:00:00Z"}`: "before it begins",
	} {
		if a := r.refused(400, "INVALID", "PUT", s+"bad", body); !strings.Contains(fmt.Sprint(a.get("detail")), want) {
			r.Errorf("%s: got %s, want %q", body, a.body, want)
		}
	}
	r.refused(400, "INVALID", "POST", s+"nightly/backfill", `{"from": "2026-01-01T00:00:00Z"}`)
	r.refused(404, "NOT_FOUND", "GET", s+"bad", "")
	r.refused(404, "NOT_FOUND", "POST", s+"bad/trigger", "")
	r.want(204, "DELETE", s+"nightly", "")
	r.refused(404, "NOT_FOUND", "DELETE", s+"nightly", "")
}
