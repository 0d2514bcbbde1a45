package wdk

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell/world"
)

// TestTwoServers: what one server knows of a run from before is no reason to refuse what another one made since, nor
// is it shown.
func TestTwoServers(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		made      []string // on the other server
		then      string
		refusal   string
		run, last string // in the answer
	}{
		"hook received":     {made: []string{hookEvent("created", "hook_1", `'token': 'tok-RUN'`)}, then: hookEvent("received", "hook_1", `'payload': 1`)},
		"hook disposed":     {made: []string{hookEvent("created", "hook_1", `'token': 'tok-RUN'`)}, then: hookEvent("disposed", "hook_1", ``)},
		"step started":      {made: []string{stepEvent("created", "step_1", `'stepName': 's', 'input': 1`)}, then: stepEvent("started", "step_1", ``)},
		"step completed":    {made: []string{lazy("step_1")}, then: stepEvent("completed", "step_1", `'result': 1`)},
		"step retried":      {made: []string{lazy("step_1")}, then: stepEvent("retrying", "step_1", `'error': 1`)},
		"step of the end":   {made: []string{lazy("step_1"), runCompleted}, then: stepEvent("completed", "step_1", `'result': 1`)},
		"wait completed":    {made: []string{waitEvent("created", "wait_1", `'resumeAt': '2030-01-01T00:00:00.000Z'`)}, then: waitEvent("completed", "wait_1", ``)},
		"started":           {made: []string{lazy("step_1")}, then: runStarted, run: "running", last: "step_started"},
		"started, is over":  {made: []string{runCompleted}, then: runStarted, refusal: "RunExpiredError"},
		"completed, is too": {made: []string{runCompleted}, then: runCompleted, refusal: "EntityConflictError"},
		"wait, is over":     {made: []string{runCompleted}, then: waitEvent("created", "wait_1", `'resumeAt': '2030-01-01T00:00:00.000Z'`), refusal: "EntityConflictError"},
		"cancelled, is too": {made: []string{runCancelled}, then: runCancelled, run: "cancelled"},
	}
	for _, kind := range stores {
		r := newRig(t, kind)
		other := hostOn(t, r.world)
		for name, test := range cases {
			id := r.begin()
			for _, e := range test.made {
				if _, refusal := r.call(other, "events.create", eventOf(id, strings.ReplaceAll(e, "RUN", id))); refusal != "" {
					t.Fatalf("%s: %s: refused: %s", name, e, refusal)
				}
			}
			out, refusal := r.call(r.host, "events.create", eventOf(id, test.then))
			if refusal != test.refusal {
				t.Errorf("%s, %s: refused as %q, want %q", kind, name, refusal, test.refusal)
			}
			if run, _ := out["run"].(map[string]any); test.run != "" && run["status"] != test.run {
				t.Errorf("%s, %s: the run is %v, want %s", kind, name, run["status"], test.run)
			}
			if all, _ := out["events"].([]any); test.last != "" && (len(all) == 0 || all[len(all)-1].(map[string]any)["eventType"] != test.last) {
				t.Errorf("%s, %s: the events are %v, want %s last", kind, name, all, test.last)
			}
		}

		id := r.begin()
		if _, refusal := r.call(other, "events.create", eventOf(id, lazy("step_1"))); refusal != "" {
			t.Fatal(refusal)
		}
		out, _ := r.call(r.host, "events.batch", `{'runId': '`+id+`', 'call': 'c', 'events': [{'event': {`+stepEvent("completed", "step_1", `'result': 1`)+`}}]}`)
		if status := out["results"].([]any)[0].(map[string]any)["status"]; status != 200. {
			t.Errorf("%s: the batch: %v", kind, out)
		}
		for _, read := range []string{"events.list", "steps.list", "runs.get"} {
			here, _ := r.call(r.host, read, `{'runId': '`+id+`'}`)
			there, _ := r.call(other, read, `{'runId': '`+id+`'}`)
			if diff := cmp.Diff(here, there); diff != "" {
				t.Errorf("%s: %s: %s", kind, read, diff)
			}
		}
	}
}

// TestDeletedRun: a run that was deleted is not there any more, though it is in memory.
func TestDeletedRun(t *testing.T) {
	t.Parallel()
	for _, kind := range stores {
		r := newRig(t, kind)
		created := &world.Commit{ID: [16]byte{1}, Run: "short", First: 1, Events: []world.Event{{
			Type: world.RunCreated, Time: world.Now(), Payload: []byte("{}"),
			Birth: &world.Birth{Workflow: "wdk.f", Version: 1, Seed: 1, Priority: 1, Retention: time.Microsecond},
		}}}
		if _, err := r.world.Commit(t.Context(), created); err != nil {
			t.Fatal(err)
		}
		r.event("short", runCancelled)
		if run, refusal := r.call(r.host, "runs.get", `{'runId': 'short'}`); run["status"] != "cancelled" {
			t.Fatal(run, refusal)
		}
		for n, err := 0, error(nil); n == 0; n, err = r.world.Sweep(t.Context(), 10) {
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, read := range []string{"runs.get", "events.list", "steps.list"} {
			if _, refusal := r.call(r.host, read, `{'runId': 'short'}`); refusal != "WorkflowRunNotFoundError" {
				t.Errorf("%s, %s: %q, want that there is no such run", kind, read, refusal)
			}
		}
	}
}
