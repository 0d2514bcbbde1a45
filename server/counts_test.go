package server

// How many runs there are: each is counted once, and those that are not over by version.

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
)

// TestCountedOnce: of runs that wait for their start one is paused, and of runs that began some are blocked, paused, or both.
func TestCountedOnce(t *testing.T) {
	t.Parallel()
	mixed := stepwell.Define("mixed", func(ctx stepwell.Context, blocks bool) (int, error) {
		if blocks {
			panic("column 7 is not a date")
		}
		return 0, stepwell.Sleep(ctx, "nap", time.Hour)
	}, stepwell.Version(2))
	for kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, kind, Options{}, mixed)
			r.until("a worker", func() bool { return r.want(200, "GET", "/v1/workers", "").get("0.alive") == true })
			const runs = "/v1/workflows/mixed/runs"
			for _, id := range []string{"later-1", "later-2", "later-3"} {
				r.want(201, "POST", runs, fmt.Sprintf(`{"id": %q, "input": false, "delay": "1h"}`, id))
			}
			for _, id := range []string{"naps-1", "naps-2", "blocks-1", "blocks-2"} {
				r.want(201, "POST", runs, fmt.Sprintf(`{"id": %q, "input": %t}`, id, strings.HasPrefix(id, "blocks")))
			}
			r.until("all to stand still", func() bool {
				return len(r.want(200, "GET", "/v1/runs?status=blocked", "").get("runs").([]any)) == 2 && len(r.want(200, "GET", "/v1/runs?status=sleeping", "").get("runs").([]any)) == 2
			})
			for _, id := range []string{"later-1", "naps-1", "blocks-1"} {
				r.want(202, "POST", runs+"/"+id+"/pause", `{}`)
			}
			var a *reply
			r.until("the counts", func() bool {
				a = r.want(200, "GET", "/v1/workflows", "")
				return a.get("0.paused") == 2.0
			})
			for what, want := range map[string]float64{"pending": 2, "running": 1, "blocked": 2, "paused": 2, "completed": 0} {
				if got := a.get("0." + what); got != want {
					t.Errorf("%s: got %v, want %v: %s", what, got, want, a.body)
				}
			}
			v := r.want(200, "GET", "/v1/workflows/mixed/versions", "")
			for what, want := range map[string]any{"workflow": "mixed", "more": false, "versions.0.version": 2.0, "versions.0.runs": 7.0, "versions.0.blocked": 2.0, "versions.0.workers": 1.0, "versions.1": nil} {
				if got := v.get(what); got != want {
					t.Errorf("%s: got %v, want %v: %s", what, got, want, v.body)
				}
			}
			if v := r.want(200, "GET", "/v1/workflows/nobody/versions", ""); len(v.get("versions").([]any)) != 0 {
				t.Errorf("a workflow that nobody knows: got %s", v.body)
			}
			r.refused(400, "INVALID", "GET", "/v1/workflows/a%00b/versions", "")
		})
	}
}
