package server

// The door of Workflow DevKit's runtime. What its calls do is tested beside them, in package wdk.

import (
	"strings"
	"testing"

	"github.com/stepwell/stepwell/world"
)

// walkWDK has a run of Workflow DevKit begin, go on and end.
func walkWDK(r *rig) {
	id := world.NewID(world.PrefixRun, world.Now())
	event := func(rest string) string {
		return strings.ReplaceAll(`{"runId": "`+id+`", "event": {"specVersion": 6, `+rest+`}}`, "'", `"`)
	}
	const create = "/wdk/v1/events.create"
	r.want(200, "POST", create, event(`'eventType': 'run_created', 'eventData': {'deploymentId': 'd', 'workflowName': 'workflow//./a//f', 'input': {'$text': 'devl[[]]'}}`))
	r.refused(409, "EntityConflictError", "POST", create, event(`'eventType': 'run_created', 'eventData': {'workflowName': 'f', 'input': 1}`))
	started := r.want(200, "POST", create, event(`'eventType': 'run_started'`))
	if got := started.get("run.status"); got != "running" {
		r.Errorf("a run that has started is %v", got)
	}
	if got := r.want(200, "GET", "/v1/runs/"+id, "").get("workflow"); got != "wdk.a.f" {
		r.Errorf("its workflow is %v, want wdk.a.f", got)
	}
	r.want(200, "POST", create, event(`'eventType': 'run_completed', 'eventData': {'output': {'$text': 'devl[1]'}}`))
	r.refused(410, "RunExpiredError", "POST", create, event(`'eventType': 'run_started'`))
	r.refused(404, "WorkflowRunNotFoundError", "POST", "/wdk/v1/runs.get", `{"runId": "nobody"}`)
	r.refused(404, "NOT_FOUND", "POST", "/wdk/v1/runs.fly", `{}`)
	r.refused(400, "INVALID", "POST", "/wdk/v1/runs.get", `{"runId": 1}`)
}

// TestWDKScope: who may not write logs may not call.
func TestWDKScope(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", Options{Keys: testKeys(t)})
	for key, want := range map[string]int{viewerSecret: 403, operatorSecret: 403, workerSecret: 404, adminSecret: 404} {
		r.want(want, "POST", "/wdk/v1/runs.get", `{"runId": "nobody"}`, "Authorization", bearer(key))
	}
}
