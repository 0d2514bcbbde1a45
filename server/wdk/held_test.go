package wdk

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell/world"
)

// TestHeld: of a workflow that is held starts are taken, their messages wait, and they can be cancelled; when it is
// released they begin.
func TestHeld(t *testing.T) {
	t.Parallel()
	for _, kind := range stores {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, kind)
			begun := r.begin()
			starts := r.world.Starts()
			if err := starts.Hold(t.Context(), world.Hold{Workflow: "wdk.a.f", By: "ann", Note: "the bank is down"}); err != nil {
				t.Fatal(err)
			}
			r.event(begun, lazy("step_1")) // what has begun goes on

			waiting, sent, called, asked := "wrun_waiting", "wrun_sent", "wrun_called", "wrun_asked"
			create := eventOf(waiting, runCreated)
			first, _ := r.call(r.host, "events.create", create)
			again, refusal := r.call(hostOn(t, r.world), "events.create", strings.Replace(create, "{", "{'again': true, ", 1))
			if diff := cmp.Diff(first["event"], again["event"]); diff != "" || refusal != "" || first["event"] == nil {
				t.Errorf("the start, again: refused %q: %s", refusal, diff)
			}
			if _, refusal := r.call(r.host, "events.create", eventOf(waiting, runCreated)); refusal != "EntityConflictError" {
				t.Errorf("another start of the run: %q", refusal)
			}
			for _, id := range []string{called, asked} {
				r.event(id, runCreated)
			}
			for range 2 {
				if _, refusal := r.call(r.host, "events.create", eventOf(sent, resilient)); refusal != "TooEarlyError" {
					t.Errorf("run_started of a run that is held: %q", refusal)
				}
			}
			row, err := r.world.Run(t.Context(), waiting)
			if err != nil || row.Status != world.Pending || !row.Queue.Held {
				t.Fatalf("the run is %+v, %v", row, err)
			}
			for _, id := range []string{begun, waiting, asked, "wrun_to_come"} {
				r.call(r.host, "queue.send", `{'queueName': '__wkf_workflow_workflow//./a//f', 'message': {'runId': '`+id+`'}, 'deploymentId': 'd'}`)
			}
			if _, err := r.world.Deliver(t.Context(), &world.Delivery{Run: asked, Events: []world.Event{{Type: world.CancelRequested, By: "ann"}}}); err != nil {
				t.Fatal(err)
			}
			got, _ := r.call(r.host, "queue.receive", `{'deploymentId': 'd', 'most': 10}`)
			if all := got["it"].([]any); len(all) != 1 || all[0].(map[string]any)["message"].(map[string]any)["runId"] != begun {
				t.Errorf("received %v, want the message about the run that has begun", all)
			}

			out := r.event(called, runCancelled)
			if out["event"].(map[string]any)["eventType"] != "run_cancelled" || out["run"].(map[string]any)["status"] != "cancelled" {
				t.Errorf("the cancel is answered %v", out)
			}
			r.event(called, runCancelled)
			r.until("the run that somebody asked to cancel is cancelled", func() bool {
				row, err := r.world.Run(t.Context(), asked)
				return err == nil && row.Status == world.Cancelled
			})

			if err := starts.Release(t.Context(), "wdk.a.f"); err != nil {
				t.Fatal(err)
			}
			fresh := hostOn(t, r.world) // which knows nothing of the hold
			r.call(fresh, "queue.send", `{'queueName': '__wkf_workflow_workflow//./a//f', 'message': {'runId': '`+waiting+`'}, 'deploymentId': 'd'}`)
			if got, _ := r.call(fresh, "queue.receive", `{'deploymentId': 'd'}`); len(got["it"].([]any)) != 1 {
				t.Errorf("released: received %v", got)
			}
			for _, id := range []string{waiting, sent} {
				r.event(id, runStarted)
				if diff := cmp.Diff([]string{"run_created", "run_started"}, r.types(id)); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}
