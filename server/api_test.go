package server

// A walk through all routes, on each world. The client holds each answer to openapi.json.

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/world"
)

func TestWalk(t *testing.T) {
	for _, kind := range sample.OneKey(t, kinds) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, kind, Options{Metrics: upMetrics, PrivateEndpoints: true})
			walkLife(r)
			walkOperate(r)
			walkFail(r)
			walkLists(r)
			walkBulk(r)
			walkQueues(r)
			walkTopics(r)
			walkSchedules(r)
			walkWDK(r)
			walkSystem(r) // which drains the server
			walkShort(r)
			walkValues(r)
			at := r.opens(hookSpec{Token: "walk", Requests: 2})
			r.want(202, "POST", at, `{}`)
			r.want(202, "POST", at+"/a/b", `{}`)
			if missing := r.notVisited(false, // limits, in TestLimits: not all worlds keep any
				"listLimits", "getLimit", "listLimitHolders", "setLimit",
				"holdWorkflow", "releaseWorkflow", "listHolds", // in TestHold
				"takeSteps", "beatSteps", "completeStep", "failStep", "writeStepStream", "leaveSteps", // in TestRemoteStep
				"heartbeatHook", "listStreams", "readStream", "listStreamsByID", "readStreamByID"); len(missing) > 0 {
				t.Errorf("these routes were not walked: %v", missing)
			}
		})
	}
}

// walkValues reads an input over 1 MiB by both paths.
func walkValues(r *rig) {
	value := `{"customer":"` + strings.Repeat("v", 3<<19) + `","cents":1}`
	id := r.want(201, "POST", orders, `{"id": "o-big", "delay": "1h", "input": `+value+`}`).get("input.stepwell:apart.id")
	for _, at := range []string{orders + "/o-big", "/v1/runs/o-big"} {
		if a := r.want(200, "GET", fmt.Sprintf("%s/values/%v", at, id), ""); string(a.body) != value {
			r.Errorf("%s: the value has %d bytes, want the %d that were sent", at, len(a.body), len(value))
		}
	}
	r.refused(404, "NOT_FOUND", "GET", fmt.Sprintf("/v1/workflows/other/runs/o-big/values/%v", id), "")
	r.want(201, "POST", "/v1/blobs?run=o-blob", "x", "Content-Type", octets) // see TestUploadBlob
}

const orders = "/v1/workflows/order/runs"

// TestRetentionThatIsLowered: what a start is answered with is what holds, and so is what is read later; a run that is kept for ever says so.
func TestRetentionThatIsLowered(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", Options{})
	if got := r.want(201, "POST", orders, `{"id": "long", "input": {"customer": "ada", "cents": 1}, "delay": "1d", "retentionDays": 400}`).get("retention"); got != "365d" {
		r.Errorf("the start says it is kept %v, want 365d", got)
	}
	app, err := stepwell.New(r.world, stepwell.Config{MaxRetention: stepwell.Forever})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := app.Start(t.Context(), "order", []byte("{}"), stepwell.RunID("always"), stepwell.Retention(stepwell.Forever), stepwell.Delay(time.Hour)); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{"long": "365d", "always": "forever"} {
		if got := r.want(200, "GET", orders+"/"+id, "").get("retention"); got != want {
			r.Errorf("run %s is kept %v, want %s", id, got, want)
		}
	}
	if got := r.want(200, "GET", orders+"?limit=1", "").get("runs.0.retention"); got != "forever" {
		r.Errorf("the list says it is kept %v, want forever", got)
	}
}

// walkLife claims a run from its birth to its result.
func walkLife(r *rig) {
	start := `{"id": "o1", "input": {"customer": "ada", "cents": 4200}, "idempotencyKey": "k1", "retentionDays": 7, "priority": 4, "attributes": {"city": "Ulm"}, "timeout": "7d", "startTTL": "5m", "context": {"a": "b"}}`
	a := r.want(201, "POST", orders, start)
	if got, want := a.header.Get("Location"), orders+"/o1"; got != want {
		r.Errorf("Location: got %q, want %q", got, want)
	}
	for path, want := range map[string]any{"id": "o1", "retention": "7d", "timeout": "7d", "startTTL": "5m", "priority": 4.0, "idempotencyKey": "k1", "attributes.city": "Ulm", "input.cents": 4200.0} {
		if got := a.get(path); got != want {
			r.Errorf("%s: got %v, want %v", path, got, want)
		}
	}
	if got := r.want(200, "POST", orders, `{"input": {}}`, "Idempotency-Key", "k1").get("id"); got != "o1" {
		r.Errorf("the same key: got run %v, want o1", got)
	}
	if got := r.want(200, "POST", orders, start).get("id"); got != "o1" {
		r.Errorf("the same start, with ID and key: got run %v, want o1", got)
	}
	r.refused(409, "RUN_EXISTS", "POST", orders, `{"id": "o1", "input": {"customer": "bob", "cents": 1}}`)
	r.refused(409, "RUN_EXISTS", "POST", orders, `{"id": "o1", "input": {"customer": "bob", "cents": 1}, "idempotencyKey": "k-free"}`)
	r.refused(400, "INVALID", "POST", orders, `{"idempotencyKey": "k2"}`, "Idempotency-Key", "k3")
	r.waiting("o1", "event")
	r.want(200, "POST", orders, `{"input": {}, "idempotencyKey": "k1", "signals": [{"event": "heard", "payload": 7, "deliveryId": "h"}]}`)
	r.want(200, "POST", orders, `{"input": {}, "idempotencyKey": "k1", "signals": [{"event": "heard", "payload": 7, "deliveryId": "h"}]}`)
	for end := time.Now().Add(20 * time.Second); ; <-time.After(time.Millisecond) { // until the worker has it
		body := r.want(200, "GET", orders+"/o1/events?type=signal_received", "").body
		n := strings.Count(string(body), `"heard"`)
		if n == 1 {
			break
		}
		if n > 1 || time.Now().After(end) {
			r.Fatalf("a start that sends too, twice: %s", body)
		}
	}
	r.refused(400, "INVALID", "POST", orders, `{"id": "o-bad", "input": {}, "signals": [{"event": ""}]}`)
	r.refused(404, "NOT_FOUND", "GET", orders+"/o-bad", "")

	if got := r.want(200, "GET", orders+"/o1?wait=1ms", "").get("status"); got != "running" {
		r.Errorf("status: got %v, want running", got)
	}
	if got := r.want(200, "GET", "/v1/runs/o1", "").get("workflow"); got != "order" {
		r.Errorf("workflow: got %v, want order", got)
	}
	r.refused(404, "NOT_FOUND", "GET", "/v1/workflows/other/runs/o1", "")
	signal := orders + "/o1/signals/paid%2Fin%20full"
	r.refused(404, "NOT_FOUND", "POST", "/v1/workflows/other/runs/o1/signals/paid", "")
	for range 2 {
		r.want(202, "POST", signal, `{"cents": 4200}`, "Idempotency-Key", "d1")
	}
	r.refused(409, "DELIVERY_USED", "POST", signal, `{"cents": 1}`, "Idempotency-Key", "d1")
	r.waiting("o1", "sleep")
	for _, at := range []string{orders + "/o1", "/v1/runs/o1"} {
		a := r.want(200, "GET", at+"/signals", "", "Accept", "text/event-stream")
		if a.get("events.0.name") != "heard" || a.get("events.1.name") != "paid/in full" || a.get("events.1.payload.cents") != 4200.0 || a.get("events.2") != nil ||
			!strings.HasPrefix(fmt.Sprint(a.get("events.1.eventId")), "evnt_") {
			r.Errorf("signals: got %s, want the two that were sent", a.body)
		}
	}
	if got := r.want(202, "POST", orders+"/o1/wake", "").get("woken"); got != 1.0 {
		r.Errorf("woken: got %v, want 1", got)
	}
	r.waiting("o1", "hook")
	if got := r.want(200, "GET", "/v1/hooks?run=o1", "").get("0.token"); got != "courier/ada" {
		r.Errorf("token: got %v, want courier/ada", got)
	}
	if got := r.want(200, "GET", "/v1/hooks/courier%2Fada", "").get("metadata.for"); got != "ada" {
		r.Errorf("metadata: got %v, want ada", got)
	}
	result := make(chan *reply)
	go func() { result <- r.send("GET", orders+"/o1?wait=30s", "") }()
	r.until("somebody to wait", func() bool { return len(r.server.places.waiting) == 1 })
	r.want(202, "POST", "/v1/hooks/courier%2Fada", `"Bob"`)
	if a := <-result; a.get("output") != "shipped by Bob" || a.get("status") != "completed" {
		r.Errorf("result: got %s, want shipped by Bob", a.body)
	}
	r.refused(410, "RUN_OVER", "GET", "/v1/hooks/courier%2Fada", "")
	r.refused(410, "RUN_OVER", "POST", "/v1/hooks/courier%2Fada", `1`)
	r.refused(409, "RUN_OVER", "POST", signal, `1`)
	walkHistory(r)
}

// walkHistory reads what happened to o1.
func walkHistory(r *rig) {
	var names []string
	a := r.want(200, "GET", orders+"/o1/steps", "")
	for i := range 4 {
		names = append(names, fmt.Sprintf("%v %v %v", a.get(fmt.Sprintf("steps.%d.kind", i)), a.get(fmt.Sprintf("steps.%d.name", i)), a.get(fmt.Sprintf("steps.%d.status", i))))
	}
	if diff := cmp.Diff([]string{"run reserve completed", "hook hook disposed", "wait paid/in full completed", "sleep pack completed"}, names); diff != "" {
		r.Errorf("journal: -want +got:\n%s", diff)
	}
	if got := r.want(200, "GET", orders+"/o1/steps?payloads=false", "").get("output"); got != nil {
		r.Errorf("without payloads: got output %v, want none", got)
	}
	var seqs []float64
	cursor, pages := "", 0
	for more := true; more; pages++ {
		a := r.want(200, "GET", orders+"/o1/events?limit=3&cursor="+cursor, "")
		for i := 0; a.get(fmt.Sprintf("events.%d", i)) != nil; i++ {
			seqs = append(seqs, a.get(fmt.Sprintf("events.%d.seq", i)).(float64))
		}
		cursor, more = a.get("cursor").(string), a.get("more").(bool)
	}
	for i, seq := range seqs {
		if int(seq) != i+1 {
			r.Fatalf("events by pages: got %v, want all, once, in order", seqs)
		}
	}
	if pages < 3 || len(seqs) < 10 {
		r.Errorf("got %d events on %d pages, want more", len(seqs), pages)
	}
	if a := r.want(200, "GET", orders+"/o1/events?cursor="+cursor, ""); a.get("events.0") != nil || a.get("cursor") != cursor {
		r.Errorf("behind the end: got %s, want nothing, and the cursor", a.body)
	}
	a = r.want(200, "GET", orders+"/o1/events?type=signal_received,run_completed", "")
	if a.get("events.0.type") != "signal_received" || a.get("events.1.name") != "paid/in full" || a.get("events.2.type") != "run_completed" || a.get("events.3") != nil {
		r.Errorf("by type: got %s, want what a start sent too, a signal, each once, and the end", a.body)
	}
}

// walkOperate pauses, resumes, restarts, forks and cancels.
func walkOperate(r *rig) {
	r.want(201, "POST", orders, `{"id": "o2", "input": {"customer": "bea", "cents": 1}}`)
	r.waiting("o2", "event")
	r.want(202, "POST", orders+"/o2/pause", `{"reason": "stock"}`)
	r.waiting("o2", "paused")
	if why := r.want(200, "GET", orders+"/o2/why", ""); why.get("by") != "tester" || why.get("reason") != "stock" {
		r.Errorf("why: got %s, want paused by tester for stock", why.body)
	}
	r.want(202, "POST", orders+"/o2/resume", "")
	r.waiting("o2", "event")
	if got := r.want(201, "POST", orders+"/o2/restart", `{"id": "o3", "input": {"customer": "cid", "cents": 2}}`).get("id"); got != "o3" {
		r.Errorf("restart: got %v, want o3", got)
	}
	r.want(201, "POST", orders+"/o2/fork", `{"id": "o4", "at": 5, "input": {"customer": "fay", "cents": 1}, "results": {"reserve": 7}}`)
	r.refused(400, "INVALID", "POST", orders+"/o2/fork", `{"at": 5000}`)
	if got := r.want(202, "DELETE", orders+"/o2?reason=recalled", "").get("id"); got != "o2" {
		r.Errorf("cancel: got %v, want o2", got)
	}
	if got := r.want(200, "GET", orders+"/o2?wait=30s", "").get("status"); got != "cancelled" {
		r.Errorf("cancelled run: got %v, want cancelled", got)
	}
	if got := r.want(202, "DELETE", orders+"/o3?force=true", "").get("status"); got != "cancelled" {
		r.Errorf("forced cancel: got %v, want cancelled", got)
	}
	r.want(202, "DELETE", "/v1/runs/o4", "") // the short form
	r.refused(404, "NOT_FOUND", "DELETE", "/v1/runs/nobody", "")
	for _, act := range []string{"pause", "resume", "wake"} {
		r.refused(409, "RUN_OVER", "POST", orders+"/o2/"+act, "")
	}
	if got := r.want(202, "DELETE", orders+"/o3", "").get("status"); got != "cancelled" { // it is what was asked for
		r.Errorf("a cancel of a cancelled run: got status %v, want cancelled", got)
	}
	r.refused(409, "RUN_OVER", "DELETE", orders+"/o1", "")
}

// walkFail retries a run that failed.
func walkFail(r *rig) {
	r.want(201, "POST", orders, `{"id": "o5", "input": {"customer": "dan", "cents": 0}}`)
	a := r.want(200, "GET", orders+"/o5?wait=30s&newest=false", "")
	if a.get("status") != "failed" || !strings.Contains(fmt.Sprint(a.get("error.message")), "nothing to pay") {
		r.Errorf("failed run: got %s, want failed: nothing to pay", a.body)
	}
	again := r.want(201, "POST", orders+"/o5/retry", "").get("id")
	r.want(200, "GET", fmt.Sprintf("%s/%v?wait=30s", orders, again), "")
	newest := r.want(201, "POST", orders+"/o5/retry", "{}").get("id") // of the newest, which failed too
	if got := r.want(200, "GET", fmt.Sprintf("%s/%v?wait=30s", orders, newest), "").get("origin.run"); got != again {
		r.Errorf("retried twice: the second is of run %v, want %v", got, again)
	}
	alone := r.want(200, "GET", fmt.Sprintf("%s/%v?wait=30s", orders, newest), "").get("startedAt")
	for _, query := range []string{"newest=true", "wait=30s"} {
		got := r.want(200, "GET", orders+"/o5?"+query, "")
		if got.get("id") != newest || alone == nil || got.get("startedAt") != alone {
			r.Errorf("%s: got %s, want run %v, begun at %v", query, got.body, newest, alone)
		}
	}
	for path, id := range map[string]any{ // who waits for the result is given the newest's
		"/v1/runs/o5?wait=30s": newest, orders + "/o5?wait=30s": newest, orders + "/o5?wait=30s&newest=true": newest,
		orders + "/o5": "o5", orders + "/o5?wait=30s&newest=false": "o5", orders + "/o5?newest=false": "o5",
	} {
		if got := r.want(200, "GET", path, ""); got.get("id") != id {
			r.Errorf("%s: got run %v, want %v", path, got.get("id"), id)
		}
	}
	for _, path := range []string{"/v1/runs?status=failed&limit=200", orders + "?prefix=o5", orders + "?origin=o5"} {
		for i := range 2 {
			if got := r.want(200, "GET", path, ""); got.get(fmt.Sprintf("runs.%d.id", i)) == "o5" || got.get(fmt.Sprintf("runs.%d.id", i)) == again {
				if got.get(fmt.Sprintf("runs.%d.newest.run", i)) != newest || got.get(fmt.Sprintf("runs.%d.newest.status", i)) != "failed" {
					r.Errorf("%s: got %s, want run %v in the place of both", path, got.body, newest)
				}
			}
		}
	}
	r.refused(400, "INVALID", "POST", orders+"/o1/retry", "")
	for path, want := range map[string]any{orders + "?origin=o5": again, "/v1/runs?origin=o5&status=failed": again, "/v1/runs?origin=o4444": nil, orders + "?parent=o5": nil} {
		if a := r.want(200, "GET", path, ""); a.get("runs.0.id") != want || want != nil && (a.get("runs.0.origin.run") != "o5" || a.get("runs.1") != nil) {
			r.Errorf("%s: got %s, want %v", path, a.body, want)
		}
	}
	if a := r.want(200, "POST", "/v1/bulk/retry", `{"filter": {"origin": "o5"}, "dryRun": true}`); a.get("count") != 1.0 || a.get("runs.0.run") != again || a.get("runs.0.result") != "matched" {
		r.Errorf("bulk by origin: got %s, want %v", a.body, again)
	}
	r.refused(400, "INVALID", "GET", "/v1/runs?origin=a%20b", "")
	r.refused(400, "INVALID", "GET", "/v1/runs?cause=no%20bank", "")
	r.refused(400, "INVALID", "GET", "/v1/failures?failedSince=soon", "")
	r.refused(400, "INVALID", "POST", "/v1/bulk/retry", `{"filter": {"parent": "a b"}}`)
}

// walkLists reads pages, and filters.
func walkLists(r *rig) {
	for i := range 7 {
		r.want(201, "POST", "/v1/workflows/later/runs", fmt.Sprintf(`{"id": "l%d", "input": {"n": %d, "who": {"name": "x%d"}}, "delay": "1d12h"}`, i, i, i%2))
	}
	var ids []string
	for cursor := ""; ; {
		a := r.want(200, "GET", "/v1/workflows/later/runs?limit=3&status=pending,running&since=1h&cursor="+cursor, "")
		for i := 0; a.get(fmt.Sprintf("runs.%d", i)) != nil; i++ {
			ids = append(ids, a.get(fmt.Sprintf("runs.%d.id", i)).(string))
		}
		next, more := a.get("cursor").(string)
		if !more {
			break
		}
		cursor = next
	}
	if got, want := strings.Join(ids, " "), "l6 l5 l4 l3 l2 l1 l0"; got != want {
		r.Errorf("pages: got %s, want %s", got, want)
	}
	for query, want := range map[string]string{
		"input.n=3": "l3", "input.who.name=x1": "l5 l3 l1", `input.who={"name":"x0"}&limit=2`: "l6 l4", "until=1h": "", "status=failed": "",
		"attr.city=Ulm": "", "payloads=true&input.n=6": "l6",
		"search=l3": "l3", "prefix=l&limit=2": "l6 l5", "status=delayed&limit=1": "l6", "status=blocked,paused": "", "key=none": "", "version=2": "", "roots=true&limit=1": "l6",
		"unpatched=tax&limit=2": "l6 l5", "failedSince=1h": "", "cause=0123456789ab": "", "patch=tax": "", "since=2020-05-01&limit=1": "l6", "since=1d12h&limit=1": "l6", "search=who": "",
	} {
		a := r.want(200, "GET", "/v1/workflows/later/runs?"+strings.ReplaceAll(query, `"`, "%22"), "")
		var got []string
		for i := 0; a.get(fmt.Sprintf("runs.%d", i)) != nil; i++ {
			got = append(got, a.get(fmt.Sprintf("runs.%d.id", i)).(string))
			if input := a.get(fmt.Sprintf("runs.%d.input", i)); (input != nil) != strings.Contains(query, "payloads") {
				r.Errorf("%s: got input %v", query, input)
			}
		}
		if got := strings.Join(got, " "); got != want {
			r.Errorf("%s: got %q, want %q", query, got, want)
		}
	}
	for _, query := range []string{"attr.city=Ulm", "key=k1", "search=k1", "search=city%3DUlm", "search=o1", "prefix=o&roots=true&key=k1", "search=city%3DUlm&status=completed"} {
		if a := r.want(200, "GET", "/v1/runs?"+query, ""); a.get("runs.0.id") != "o1" || a.get("runs.1") != nil || a.get("runs.0.idempotencyKey") != "k1" || a.get("runs.0.priority") != 4.0 {
			r.Errorf("%s: got %s, want o1 alone", query, a.body)
		}
	}
	if got := r.want(200, "GET", "/v1/runs?search=later&limit=1", "").get("runs.0.id"); got != "l6" {
		r.Errorf("by a workflow: got %v, want l6", got)
	}
	for query, says := range map[string]string{
		"status=asleep": "want pending, running, completed, failed, cancelled, blocked, paused, held, delayed, limited, queued, working, retrying, sleeping, waiting, damaged",
		"prefix=a%20b":  "an ID of a run cannot begin with", "version=0": "want a number from 1", "roots=yes": "want true or false", "since=yesterday": "2026-11-27",
	} {
		if a := r.refused(400, "INVALID", "GET", "/v1/runs?"+query, ""); !strings.Contains(string(a.body), says) {
			r.Errorf("%s: got %s, want %q in it", query, a.body, says)
		}
	}
}

// walkShort walks the routes of a run that name no workflow.
func walkShort(r *rig) {
	r.want(201, "POST", orders, `{"id": "s1", "input": {"customer": "eve", "cents": 1}}`)
	r.waiting("s1", "event")
	if a := r.want(200, "GET", "/v1/runs/s1", ""); a.get("startedAt") == nil {
		r.Errorf("a run that was begun does not say when: %s", a.body)
	}
	if got := r.want(200, "GET", "/v1/runs/s1/why", "").get("kind"); got != "event" {
		r.Errorf("why: got %v, want event", got)
	}
	if got := r.want(200, "GET", "/v1/runs/s1/events?limit=1", "").get("events.0.type"); got != "run_created" {
		r.Errorf("events: got %v, want run_created", got)
	}
	if got := r.want(200, "GET", "/v1/runs/s1/steps", "").get("status"); got != "running" {
		r.Errorf("steps: got %v, want running", got)
	}
	r.want(202, "POST", "/v1/runs/s1/pause", `{"reason": "look"}`)
	if got := r.want(200, "GET", "/v1/runs?status=paused", "").get("runs.0.id"); got != "s1" {
		r.Errorf("paused: got %v, want s1", got)
	}
	r.want(202, "POST", "/v1/runs/s1/resume", "")
	r.want(202, "POST", "/v1/runs/s1/signals/paid%2Fin%20full", `{"cents": 1}`)
	r.waiting("s1", "sleep")
	if got := r.want(200, "GET", "/v1/runs?status=sleeping&search=s1", "").get("runs.0.id"); got != "s1" {
		r.Errorf("sleeping: got %v, want s1", got)
	}
	r.want(202, "POST", "/v1/runs/s1/wake", "")
	r.waiting("s1", "hook")
	r.want(201, "POST", "/v1/runs/s1/restart", `{"id": "s2"}`)
	third := r.want(200, "GET", "/v1/runs/s1/events", "").get("events.2.eventId").(string)
	if got := r.want(200, "GET", "/v1/runs/s1/events?limit=1&cursor="+third, "").get("events.0.seq"); got != 4.0 {
		r.Errorf("behind %s: got event %v, want 4", third, got)
	}
	r.want(201, "POST", "/v1/runs/s1/fork", `{"at": "`+third+`", "id": "s3"}`)
	if got := r.want(200, "GET", "/v1/runs/s3", "").get("origin.seq"); got != 3.0 {
		r.Errorf("the fork at %s began behind event %v, want 3", third, got)
	}
	r.refused(400, "INVALID", "POST", "/v1/runs/s2/fork", `{"at": "`+third+`"}`)
	r.refused(400, "INVALID", "GET", "/v1/runs/s2/events?cursor="+third, "")
	if a := r.send("POST", "/v1/runs/o5/retry", ""); a.status != 200 && a.status != 201 { // whether the newest of it has failed by now
		r.Errorf("a retry: got %d, %s", a.status, a.body)
	}
	r.refused(404, "NOT_FOUND", "GET", "/v1/runs/s9/steps", "")
}

// walkBulk acts on many.
func walkBulk(r *rig) {
	filter := `"filter": {"workflow": "later", "input": {"who": {"name": "x1"}}}`
	before := r.events()
	a := r.want(200, "POST", "/v1/bulk/cancel", `{`+filter+`, "dryRun": true}`)
	if a.get("runs.2.run") != "l1" || a.get("runs.3") != nil || a.get("done") != 0.0 || a.get("count") != 3.0 || a.get("atLeast") != nil {
		r.Errorf("dry run: got %s, want l5 l3 l1 and nothing done", a.body)
	}
	if a := r.want(200, "POST", "/v1/bulk/cancel", `{`+filter+`, "dryRun": true, "limit": 1}`); a.get("count") != 1.0 || a.get("atLeast") != true || a.get("cursor") == nil {
		r.Errorf("dry run of 1: got %s, want that there are more", a.body)
	}
	if got := r.events(); got != before {
		r.Errorf("dry run: %d events and mail, want %d", got, before)
	}
	for _, is := range []struct{ act, more string }{{"pause", `, "reason": "why"`}, {"resume", ""}, {"signal", `, "event": "e", "deliveryId": "b1"`}} {
		if got := r.want(200, "POST", "/v1/bulk/"+is.act, `{`+filter+is.more+`}`).get("done"); got != 3.0 {
			r.Errorf("bulk %s: got %v done, want 3", is.act, got)
		}
	}
	if a := r.want(200, "POST", "/v1/bulk/wake", `{"filter": {"workflow": "later", "status": ["pending"]}}`); a.get("unchanged") != 7.0 {
		r.Errorf("bulk wake: got %s, want 7 in which nothing sleeps", a.body)
	}
	n := 0.0
	for cursor := ""; ; {
		a := r.want(200, "POST", "/v1/bulk/cancel", fmt.Sprintf(`{"filter": {"workflow": "later"}, "limit": 3, "cursor": %q}`, cursor))
		n += a.get("done").(float64)
		next, more := a.get("cursor").(string)
		if !more {
			break
		}
		cursor = next
	}
	if n != 7 {
		r.Errorf("bulk cancel by pages: got %v done, want 7", n)
	}
	a = r.want(200, "POST", "/v1/bulk/retry", `{"filter": {"workflow": "order", "status": ["completed"]}}`)
	if a.get("refused") != 1.0 || a.get("runs.0.code") != "INVALID" || a.get("runs.0.result") != "refused" {
		r.Errorf("bulk retry of what did not fail: got %s, want it refused", a.body)
	}
	r.refused(400, "INVALID", "POST", "/v1/bulk/cancel", `{}`)
	r.refused(400, "INVALID", "POST", "/v1/bulk/cancel", `{"all": true, "event": "e"}`)
	r.refused(404, "NO_ROUTE", "POST", "/v1/bulk/explode", `{"all": true}`)
}

// walkSystem asks how the system stands.
func walkSystem(r *rig) {
	a := r.want(200, "GET", "/v1/workflows", "")
	if a.get("1.name") != "order" || a.get("1.completed") != 1.0 || a.get("1.cancelled") != 3.0 {
		r.Errorf("workflows: got %s, want later, and order with 1 completed, 3 cancelled", a.body)
	}
	if a := r.want(200, "GET", "/v1/workflows/order", ""); a.get("version") != 1.0 || a.get("input.type") == nil {
		r.Errorf("what the workflow takes: got %s", a.body)
	}
	if a := r.want(200, "GET", "/v1/workflows/order/versions", ""); a.get("versions.0.version") != 1.0 || a.get("versions.0.workers") != 1.0 {
		r.Errorf("versions: got %s, want version 1, and a worker that has it", a.body)
	}
	if a := r.want(200, "GET", "/v1/failures", ""); a.get("more") != false {
		r.Errorf("failures: got %s", a.body)
	}
	if got := r.want(200, "GET", "/v1/workers", "").get("0.workflows.0.workflow"); got != "order" {
		r.Errorf("workers: got %v, want one that knows order", got)
	}
	r.want(200, "GET", ManifestPath, "")
	for _, path := range []string{"/healthz", "/readyz"} {
		a := r.want(200, "GET", path, "")
		if a.get("healthy") != true || a.get("endpoint") != path || a.get("specVersion") != float64(world.LogFormat) {
			r.Errorf("%s: got %s", path, a.body)
		}
	}
	r.want(200, "GET", "/openapi.json", "")
	if got := r.want(200, "GET", "/metrics", "").body; string(got) != "up 1\n" {
		r.Errorf("metrics: got %s", got)
	}
	if a := r.refused(405, "METHOD_NOT_ALLOWED", "PUT", orders, ""); a.header.Get("Allow") != "GET, HEAD, POST" {
		r.Errorf("Allow: got %q, want GET, HEAD, POST", a.header.Get("Allow"))
	}
	resp, err := http.Head(r.base + "/v1/workflows")
	if err != nil || resp.StatusCode != 200 {
		r.Errorf("HEAD: got %v, %v, want 200", resp, err)
	} else if err := resp.Body.Close(); err != nil {
		r.Error(err)
	}
	r.server.Drain()
	r.refused(503, "NOT_READY", "GET", "/readyz", "")
	r.want(200, "GET", "/healthz", "")
}
