package wdk

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLate: a step that ran when its run ended may end behind that, once, whichever server it is told; the run stays
// as it ended.
func TestLate(t *testing.T) {
	t.Parallel()
	for _, kind := range stores {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, kind)
			id := r.begin()
			for _, step := range []string{"step_1", "step_2", "step_3"} {
				r.event(id, lazy(step))
			}
			r.event(id, runCompleted)
			other := hostOn(t, r.world)
			if got, _ := r.call(other, "steps.get", `{'runId': '`+id+`', 'stepId': 'step_1'}`); got["status"] != "running" {
				t.Fatalf("the step is %v", got)
			}

			call := eventOf(id, stepEvent("completed", "step_1", `'result': {'$text': 'late'}`))
			first, refusal := r.call(r.host, "events.create", call)
			if refusal != "" {
				t.Fatalf("refused: %s", refusal)
			}
			for _, h := range []*Host{r.host, other, hostOn(t, r.world)} {
				again, refusal := r.call(h, "events.create", strings.Replace(call, "{", "{'again': true, ", 1))
				if diff := cmp.Diff(first["event"], again["event"]); diff != "" || refusal != "" {
					t.Errorf("the same call again: refused %q: %s", refusal, diff)
				}
				if _, refusal := r.call(h, "events.create", eventOf(id, stepEvent("completed", "step_1", `'result': 2`))); refusal != "RunExpiredError" {
					t.Errorf("another end of the step: %q", refusal)
				}
			}

			var all sync.WaitGroup
			ends := make([]string, 6)
			for i := range ends {
				all.Go(func() {
					step := []string{"step_2", "step_3"}[i%2]
					_, err := []*Host{r.host, other}[i%2].Call(t.Context(), "events.create",
						[]byte(strings.ReplaceAll(eventOf(id, stepEvent("failed", step, `'error': {'$text': 'x'}`)), "'", `"`)))
					var no *Refusal
					if errors.As(err, &no) {
						ends[i] = no.Name
					} else if err != nil {
						ends[i] = err.Error()
					}
				})
			}
			all.Wait()
			won := 0
			for _, end := range ends {
				if end == "" {
					won++
				} else if end != "RunExpiredError" {
					t.Errorf("an end is refused: %s", end)
				}
			}
			if won != 2 {
				t.Errorf("%d ends of two steps were taken", won)
			}
			want := []string{"run_created", "run_started", "step_created", "step_started", "step_created", "step_started", "step_created", "step_started",
				"run_completed", "step_completed", "step_failed", "step_failed"}
			r.host = hostOn(t, r.world)
			if diff := cmp.Diff(want, r.types(id)); diff != "" {
				t.Error(diff)
			}
			step, _ := r.call(r.host, "steps.get", `{'runId': '`+id+`', 'stepId': 'step_1'}`)
			if step["status"] != "completed" || step["output"].(map[string]any)["$text"] != "late" {
				t.Errorf("the step is %v", step)
			}
			if run, _ := r.call(r.host, "runs.get", `{'runId': '`+id+`'}`); run["status"] != "completed" || run["output"].(map[string]any)["$text"] != "out" {
				t.Errorf("the run is %v", run)
			}
		})
	}
}
