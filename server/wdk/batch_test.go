package wdk

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell/world"
)

func batchOf(run string, events ...string) string {
	all := make([]string, len(events))
	for i, e := range events {
		all[i] = `{'event': {'specVersion': 6, ` + e + `}}`
	}
	return `{'runId': '` + run + `', 'call': '` + world.NewID("call", time.Now()) + `', 'events': [` + strings.Join(all, ", ") + `]}`
}

// TestBatch: events of a batch are one commit, in order; each that the run does not take is refused alone, as if it
// had come alone; a batch that comes again is written once.
func TestBatch(t *testing.T) {
	t.Parallel()
	for _, kind := range stores {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, kind)
			id := r.begin()
			r.event(id, stepEvent("created", "step_9", `'stepName': 's', 'input': 1`))
			call := batchOf(id,
				stepEvent("created", "step_1", `'stepName': 'step//./a//one', 'input': {'$text': 'x'}`),
				stepEvent("started", "step_1", `'ownerMessageId': 'msg_1'`),
				stepEvent("created", "step_9", `'stepName': 's', 'input': 1`),
				stepEvent("started", "step_9", ``), // who lost the step does not start it
				stepEvent("created", "step_2", `'stepName': 'step//./a//one', 'input': {'$text': 'y'}`),
				waitEvent("created", "wait_1", `'resumeAt': '2999-01-01T00:00:00.000Z'`),
				waitEvent("created", "wait_1", `'resumeAt': '2999-01-01T00:00:00.000Z'`),
				stepEvent("completed", "step_8", `'result': 1`))
			first, refusal := r.call(r.host, "events.batch", call)
			if refusal != "" {
				t.Fatal(refusal)
			}
			again, refusal := r.call(hostOn(t, r.world), "events.batch", strings.Replace(call, "{", "{'again': true, ", 1))
			if refusal != "" {
				t.Fatal(refusal)
			}
			var statuses []float64
			for i, item := range first["results"].([]any) {
				item, other := item.(map[string]any), again["results"].([]any)[i].(map[string]any)
				statuses = append(statuses, item["status"].(float64))
				if diff := cmp.Diff(item["event"], other["event"]); diff != "" || item["status"] != other["status"] {
					t.Errorf("event %d, again: %s", i, diff)
				}
				if (item["status"] == 200.0) != (item["error"] == nil) {
					t.Errorf("event %d: %v", i, item)
				}
			}
			if diff := cmp.Diff([]float64{200, 200, 409, 409, 200, 200, 409, 404}, statuses); diff != "" {
				t.Error(diff)
			}
			want := []string{"run_created", "run_started", "step_created", "step_created", "step_started", "step_created", "wait_created"}
			if diff := cmp.Diff(want, r.types(id)); diff != "" {
				t.Error(diff)
			}
			page, err := r.world.Events(t.Context(), id, world.EventQuery{})
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range page.Events[3:] {
				if e.Commit != 4 {
					t.Errorf("event %d is of the commit at %d, want one commit at 4", e.Seq, e.Commit)
				}
			}
			r.event(id, stepEvent("completed", "step_1", `'result': 1`)) // it is as the log says
			r.host = hostOn(t, r.world)
			r.event(id, stepEvent("started", "step_2", ``))
			r.event(id, runCompleted)

			out, _ := r.call(r.host, "events.batch", batchOf(id, stepEvent("completed", "step_2", `'result': 1`),
				stepEvent("completed", "step_2", `'result': 1`), stepEvent("created", "step_3", `'stepName': 's', 'input': 1`)))
			statuses = nil
			for _, item := range out["results"].([]any) {
				statuses = append(statuses, item.(map[string]any)["status"].(float64))
			}
			if diff := cmp.Diff([]float64{200, 410, 409}, statuses); diff != "" {
				t.Errorf("of a run that is over: %s", diff)
			}
			if _, refusal := r.call(r.host, "events.batch", batchOf("wrun_none", stepEvent("started", "step_1", ``))); refusal != "WorkflowRunNotFoundError" {
				t.Errorf("of a run that is not there: %q", refusal)
			}
		})
	}
}

// TestLargeBatch: what is too much for a commit is written in several.
func TestLargeBatch(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sqlite")
	id := r.begin()
	var all []string
	for i := range 10 {
		all = append(all, stepEvent("created", fmt.Sprintf("step_%d", i), `'stepName': 's', 'input': {'$text': '`+strings.Repeat("x", 700<<10)+`'}`))
	}
	out, refusal := r.call(r.host, "events.batch", batchOf(id, all...))
	if refusal != "" || len(out["results"].([]any)) != 10 {
		t.Fatal(refusal)
	}
	r.host = hostOn(t, r.world)
	if got := r.types(id); len(got) != 12 {
		t.Errorf("the run has %v", got)
	}
}

// TestMany: runs are cancelled together, each as it stands.
func TestMany(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory")
	live, over, gone := r.begin(), r.begin(), r.begin()
	r.event(over, runCompleted)
	r.event(gone, runCancelled)
	runs := `{'runIds': ['` + strings.Join([]string{live, "wrun_none", over, gone}, `', '`) + `'], 'cancelReason': 'enough', 'call': 'c'}`
	out, _ := r.call(r.host, "runs.cancel", runs)
	want := map[string]any{
		"summary": map[string]any{"requested": 4.0, "cancelled": 1.0, "alreadyCancelled": 1.0, "notCancellable": 1.0, "notFound": 1.0, "failed": 0.0},
		"results": []any{
			map[string]any{"runId": live, "outcome": "cancelled"}, map[string]any{"runId": "wrun_none", "outcome": "not_found"},
			map[string]any{"runId": over, "outcome": "not_cancellable", "status": "completed"}, map[string]any{"runId": gone, "outcome": "already_cancelled"},
		},
	}
	if diff := cmp.Diff(want, out); diff != "" {
		t.Error(diff)
	}
	if row, err := r.world.Run(t.Context(), live); err != nil || row.Status != world.Cancelled {
		t.Errorf("the run is %v, %v", row.Status, err)
	}
}
