package server

// The door of Workflow DevKit's runtime. What its calls do is tested beside them, in package wdk.

import (
	"strings"
	"testing"
	"time"

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
	if got := r.log1(id)[0].Birth.Retention; got != 365*24*time.Hour {
		r.Errorf("its retention is %s, want that of others", got)
	}
	r.want(200, "POST", create, event(`'eventType': 'run_completed', 'eventData': {'output': {'$text': 'devl[1]'}}`))
	r.refused(410, "RunExpiredError", "POST", create, event(`'eventType': 'run_started'`))
	r.refused(404, "WorkflowRunNotFoundError", "POST", "/wdk/v1/runs.get", `{"runId": "nobody"}`)
	r.refused(404, "NOT_FOUND", "POST", "/wdk/v1/runs.fly", `{}`)
	r.refused(400, "INVALID", "POST", "/wdk/v1/runs.get", `{"runId": 1}`)
}

// TestWDKRunsAreTheApps: nobody but an app starts a run of Workflow DevKit, or one in its place: it would wait for ever.
func TestWDKRunsAreTheApps(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", Options{})
	id := world.NewID(world.PrefixRun, world.Now())
	const create = "/wdk/v1/events.create"
	event := func(rest string) string { return `{"runId": "` + id + `", "event": {"specVersion": 6, ` + rest + `}}` }
	r.want(200, "POST", create, event(`"eventType": "run_created", "eventData": {"deploymentId": "d", "workflowName": "workflow//./a//f", "input": {"$text": "devl[[]]"}}`))
	r.want(200, "POST", create, event(`"eventType": "run_started"`))
	r.want(200, "POST", create, event(`"eventType": "run_failed", "eventData": {"error": {"$text": "devl[1]"}}`))
	const runs = "/v1/workflows/wdk.a.f/runs"
	for _, door := range [][3]string{
		{"POST", runs, `{"input": 1}`},
		{"POST", runs + "/" + id + "/restart", `{}`},
		{"POST", runs + "/" + id + "/restart", `{"inPlace": true}`},
		{"POST", runs + "/" + id + "/fork", `{}`},
		{"PUT", "/v1/schedules/s", `{"workflow": "wdk.a.f", "times": ["@daily"]}`},
		{"PUT", "/v1/subscriptions/s", `{"pattern": "a", "workflow": {"name": "wdk.a.f"}}`},
		{"POST", inWorld + "commit", birthOf("b", "wdk.a.f", world.Now().Format(time.RFC3339), "1", "")},
		{"POST", inWorld + "putSchedule", `{"name": "s", "says": {"workflow": "wdk.a.f", "times": ["@daily"]}}`},
	} {
		if a := r.refused(400, "INVALID", door[0], door[1], door[2]); !strings.Contains(string(a.body), "start()") {
			t.Errorf("%s %s: got %s, want what to do", door[0], door[1], a.body)
		}
	}
	if a := r.send("POST", runs+"/"+id+"/retry", ""); a.status != 409 && a.status != 400 || !strings.Contains(string(a.body), "start()") {
		t.Errorf("a retry: got %d %s, want what to do", a.status, a.body)
	}
	page, err := r.world.Runs(t.Context(), world.RunQuery{})
	if err != nil || len(page.Runs) != 1 {
		t.Errorf("there are %d runs, %v; want one", len(page.Runs), err)
	}
}

// TestWDKScope: who may not write logs may not call.
func TestWDKScope(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", Options{Keys: testKeys(t)})
	for key, want := range map[string]int{viewerSecret: 403, operatorSecret: 403, workerSecret: 404, adminSecret: 404} {
		r.want(want, "POST", "/wdk/v1/runs.get", `{"runId": "nobody"}`, "Authorization", bearer(key))
	}
}
