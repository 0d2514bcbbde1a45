package wdk

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell/world"
)

// TestLegality: what each event comes to, as the run stands.
func TestLegality(t *testing.T) {
	t.Parallel()
	const (
		ok       = ""
		conflict = "EntityConflictError"
		gone     = "RunExpiredError"
		noRun    = "WorkflowRunNotFoundError"
		noHook   = "HookNotFoundError"
		bad      = "WorkflowWorldError"
		early    = "TooEarlyError"
	)
	created := stepEvent("created", "step_9", `'stepName': 's', 'input': 1`)
	cases := []struct {
		event                          string
		missing, pending, running, end string
	}{
		{runCreated, ok, conflict, conflict, conflict},
		{runStarted, noRun, ok, ok, gone},
		{resilient, ok, ok, ok, gone},
		{runCompleted, noRun, ok, ok, conflict},
		{runFailed, noRun, ok, ok, conflict},
		{runCancelled, noRun, ok, ok, conflict},
		{attrSet, noRun, ok, ok, conflict},
		{created, noRun, ok, ok, conflict},
		{lazy("step_9"), noRun, ok, ok, conflict},
		{lazy("step_1"), noRun, conflict, conflict, conflict},
		{stepEvent("started", "step_1", ``), noRun, ok, ok, gone},
		{stepEvent("started", "step_3", ``), noRun, conflict, conflict, gone},
		{stepEvent("started", "step_4", ``), noRun, early, early, gone},
		{stepEvent("started", "step_8", ``), noRun, bad, bad, gone},
		{stepEvent("completed", "step_2", `'result': 1`), noRun, ok, ok, ok},
		{stepEvent("failed", "step_2", `'error': 1`), noRun, ok, ok, ok},
		{stepEvent("started", "step_2", ``), noRun, ok, ok, gone},
		{stepEvent("completed", "step_1", `'result': 1`), noRun, ok, ok, gone},
		{stepEvent("completed", "step_3", `'result': 1`), noRun, conflict, conflict, gone},
		{stepEvent("failed", "step_3", `'error': 1`), noRun, conflict, conflict, gone},
		{stepEvent("retrying", "step_2", `'error': 1`), noRun, ok, ok, ok},
		{hookEvent("created", "hook_9", `'token': 'other-RUN'`), noRun, ok, ok, conflict},
		{hookEvent("created", "hook_1", `'token': 'other-RUN'`), noRun, conflict, conflict, conflict},
		{hookEvent("received", "hook_1", `'payload': 1`), noRun, ok, ok, gone},
		{hookEvent("received", "hook_2", `'payload': 1`), noRun, noHook, noHook, gone},
		{hookEvent("received", "hook_8", `'payload': 1`), noRun, noHook, noHook, gone},
		{hookEvent("disposed", "hook_1", ``), noRun, ok, ok, noHook},
		{hookEvent("disposed", "hook_2", ``), noRun, noHook, noHook, noHook},
		{waitEvent("created", "wait_9", `'resumeAt': '2030-01-01T00:00:00.000Z'`), noRun, ok, ok, conflict},
		{waitEvent("created", "wait_1", `'resumeAt': '2030-01-01T00:00:00.000Z'`), noRun, conflict, conflict, conflict},
		{waitEvent("completed", "wait_1", ``), noRun, ok, ok, bad},
		{waitEvent("completed", "wait_2", ``), noRun, conflict, conflict, conflict},
		{waitEvent("completed", "wait_8", ``), noRun, bad, bad, bad},
	}
	r := newRig(t, "memory")
	for i, test := range cases {
		for status, want := range map[string]string{"missing": test.missing, "pending": test.pending, "running": test.running, "over": test.end} {
			id := fmt.Sprintf("wrun_%d-%s", i, status)
			if status != "missing" {
				r.event(id, runCreated)
				if status != "pending" {
					r.event(id, runStarted)
				}
				r.fill(id)
				if status == "over" {
					r.event(id, runCompleted)
				}
			}
			if _, got := r.call(r.host, "events.create", eventOf(id, strings.ReplaceAll(test.event, "RUN", id))); got != want {
				t.Errorf("%s of a run that is %s: got %q, want %q", test.event, status, got, want)
			}
			if status != "missing" {
				r.types(id)
			}
		}
	}
}

// fill gives a run a pending step, a running one, one that is over and one that waits for its retry; a hook, a
// disposed one, a wait, an ended one.
func (r *rig) fill(id string) {
	r.Helper()
	for _, e := range []string{
		stepEvent("created", "step_1", `'stepName': 's', 'input': 1`),
		lazy("step_2"), lazy("step_3"), stepEvent("completed", "step_3", `'result': 1`),
		lazy("step_4"), stepEvent("retrying", "step_4", `'error': 1, 'retryAfter': '2999-01-01T00:00:00.000Z'`),
		hookEvent("created", "hook_1", `'token': '1-`+id+`'`), hookEvent("created", "hook_2", `'token': '2-`+id+`'`), hookEvent("disposed", "hook_2", ``),
		waitEvent("created", "wait_1", `'resumeAt': '2999-01-01T00:00:00.000Z'`),
		waitEvent("created", "wait_2", `'resumeAt': '2020-01-01T00:00:00.000Z'`), waitEvent("completed", "wait_2", ``),
	} {
		r.event(id, e)
	}
}

// TestAnswers: what the answers to events tell.
func TestAnswers(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory")
	id := r.begin()
	if again := r.event(id, runStarted); again["event"] != nil || len(again["events"].([]any)) != 2 || again["cursor"] != "2" || again["hasMore"] != false {
		t.Errorf("run_started of a running run: %v, want its first page and no event", again)
	}
	got := r.event(id, lazy("step_1"))
	st := got["step"].(map[string]any)
	if got["stepCreated"] != true || st["status"] != "running" || st["attempt"] != 1.0 || st["stepName"] != "step//./a//one" || st["input"] == nil {
		t.Errorf("a lazy step_started: %v", got)
	}
	r.event(id, stepEvent("retrying", "step_1", `'error': {'$text': 'devl[\"no\"]'}`))
	if st := r.event(id, stepEvent("started", "step_1", ``))["step"].(map[string]any); st["attempt"] != 2.0 || st["input"] == nil {
		t.Errorf("the second attempt: %v", st)
	}
	delta, _ := r.call(r.host, "events.create", `{'runId': '`+id+`', 'params': {'sinceCursor': '4'}, 'event': {`+stepEvent("completed", "step_1", `'result': {'$text': 'done'}`)+`}}`)
	if n := len(delta["events"].([]any)); n != 3 || delta["cursor"] != "7" {
		t.Errorf("behind position 4 there are %d events, up to %v; want 3, up to 7", n, delta["cursor"])
	}
	r.event(id, attrSet)
	r.event(id, waitEvent("created", "wait_1", `'resumeAt': '2030-01-02T03:04:05.000Z'`))
	skipped, _ := r.call(r.host, "events.create", `{'runId': '`+id+`', 'params': {'eventCount': 7}, 'event': {`+waitEvent("completed", "wait_1", ``)+`}}`)
	if n := len(skipped["events"].([]any)); n != 2 || skipped["cursor"] != nil {
		t.Errorf("who has seen 7 events is told of %d others, with the cursor %v; want 2, and none", n, skipped["cursor"])
	}
	want := []string{"run_created", "run_started", "step_created", "step_started", "step_retrying", "step_started", "step_completed", "attr_set",
		"wait_created", "wait_completed"}
	if diff := cmp.Diff(want, r.types(id)); diff != "" {
		t.Error(diff)
	}
	set, _ := r.call(r.host, "events.get", `{'runId': '`+id+`', 'eventId': 'evnt_00000000000000000000000008'}`)
	wantSet := map[string]any{
		"changes": []any{map[string]any{"key": "a", "value": "1"}, map[string]any{"key": "b", "value": nil}},
		"writer":  map[string]any{"type": "step", "stepId": "step_1", "attempt": 2.0},
	}
	if diff := cmp.Diff(wantSet, set["eventData"]); diff != "" {
		t.Error(diff)
	}
	r.event(id, runFailed)
	run, _ := r.call(r.host, "runs.get", `{'runId': '`+id+`'}`)
	for member, want := range map[string]any{"status": "failed", "errorCode": "USER_ERROR", "workflowName": "workflow//./a//f", "deploymentId": "d"} {
		if run[member] != want {
			t.Errorf("%s: got %v, want %v", member, run[member], want)
		}
	}
	if diff := cmp.Diff(map[string]any{"a": "1"}, run["attributes"]); diff != "" {
		t.Error(diff)
	}
	row, err := r.world.Run(t.Context(), id)
	if err != nil || row.Error == nil || row.Error.Message != "broken" {
		t.Errorf("the run's row says %v, %v; want broken", row.Error, err)
	}
	list, _ := r.call(r.host, "runs.list", `{'workflowName': 'workflow//./a//f', 'status': ['failed']}`)
	if all := list["data"].([]any); len(all) != 1 || all[0].(map[string]any)["errorCode"] != "USER_ERROR" {
		t.Errorf("the list of failed runs: %v", list)
	}
}

// TestRaces: of several that create a step, one does; two servers of a database write to one run; positions stay
// dense.
func TestRaces(t *testing.T) {
	t.Parallel()
	for _, kind := range stores {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, kind)
			other := hostOn(t, r.world)
			id := r.begin()
			const steps, writers = 10, 4
			var mu sync.Mutex
			created := map[string]int{}
			var all sync.WaitGroup
			for n := range writers {
				all.Go(func() {
					h := r.host
					if n%2 == 1 {
						h = other
					}
					for i := range steps {
						at := fmt.Sprintf("step_%d", i)
						_, refusal := r.call(h, "events.create", eventOf(id, lazy(at)))
						if refusal != "" {
							continue
						}
						mu.Lock()
						created[at]++
						mu.Unlock()
						if _, refusal := r.call(h, "events.create", eventOf(id, stepEvent("completed", at, `'result': 1`))); refusal != "" {
							r.Errorf("%s: refused: %s", at, refusal)
						}
					}
				})
			}
			all.Wait()
			for i := range steps {
				if n := created[fmt.Sprintf("step_%d", i)]; n != 1 {
					t.Errorf("step %d was created %d times", i, n)
				}
			}
			if n := len(r.types(id)); n != 2+3*steps {
				t.Errorf("there are %d events, want %d", n, 2+3*steps)
			}
		})
	}
}

// TestAgain: what is sent again under its name, to a server that has just started, is written once.
func TestAgain(t *testing.T) {
	t.Parallel()
	for _, kind := range stores {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, kind)
			holder, id := r.begin(), world.NewID(world.PrefixRun, time.Now())
			r.event(holder, hookEvent("created", "hook_1", `'token': 'taken'`))
			want := []string{"run_created", "run_started", "step_created", "step_started", "step_completed", "hook_conflict", "hook_created",
				"hook_received", "attr_set", "wait_created", "wait_completed", "hook_disposed", "run_completed"}
			for i, e := range []string{runCreated, runStarted, lazy("step_1"), stepEvent("completed", "step_1", `'result': 1`),
				hookEvent("created", "hook_1", `'token': 'taken'`), hookEvent("created", "hook_2", `'token': 'free'`),
				hookEvent("received", "hook_2", `'payload': 1`), attrSet, waitEvent("created", "wait_1", `'resumeAt': '2030-01-01T00:00:00.000Z'`),
				waitEvent("completed", "wait_1", ``), hookEvent("disposed", "hook_2", ``), runCompleted} {
				call := eventOf(id, e)
				first, refusal := r.call(r.host, "events.create", call)
				if refusal != "" {
					t.Fatalf("%s: refused: %s", e, refusal)
				}
				again, refusal := r.call(hostOn(t, r.world), "events.create", strings.Replace(call, "{", "{'again': true, ", 1))
				if refusal != "" {
					t.Fatalf("%s, again: refused: %s", e, refusal)
				}
				if diff := cmp.Diff(first["event"], again["event"]); diff != "" {
					t.Errorf("call %d, again: %s", i, diff)
				}
				if first["stepCreated"] != again["stepCreated"] {
					t.Errorf("call %d: stepCreated %v, again %v", i, first["stepCreated"], again["stepCreated"])
				}
			}
			if diff := cmp.Diff(want, r.types(id)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestResumeID: a payload is delivered once under its ID, also where its hook is gone.
func TestResumeID(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory")
	id := r.begin()
	r.event(id, hookEvent("created", "hook_1", `'token': 't', 'metadata': {'$text': 'm'}`))
	if e := r.event(id, hookEvent("created", "hook_2", `'token': 'u'`))["event"].(map[string]any); e["eventData"].(map[string]any)["token"] != "u" {
		t.Errorf("the hook's event is %v, want its token in it", e)
	}
	if k, _ := r.call(r.host, "hooks.token", `{'token': 't'}`); k["hookId"] != "hook_1" || k["metadata"] == nil {
		t.Errorf("the hook is %v", k)
	}
	send := func(hook string) (string, string) {
		out, refusal := r.call(r.host, "events.create",
			`{'runId': '`+id+`', 'params': {'resumeId': 'r1'}, 'event': {`+hookEvent("received", hook, `'payload': {'$text': 'p'}`)+`}}`)
		if refusal != "" {
			return "", refusal
		}
		return out["event"].(map[string]any)["eventId"].(string), ""
	}
	first, _ := send("hook_1")
	r.event(id, hookEvent("disposed", "hook_1", ``))
	if again, refusal := send("hook_1"); again != first {
		t.Errorf("the same payload again: %s %s, want %s", again, refusal, first)
	}
	if _, refusal := send("hook_2"); refusal != "EntityConflictError" {
		t.Errorf("the same ID for another hook: %q", refusal)
	}

	r.event(id, hookEvent("created", "hook_3", `'token': 'v'`))
	for _, test := range []struct{ digest, refusal string }{{"d1", ""}, {"d1", ""}, {"d2", "EntityConflictError"}, {"", ""}} {
		out, refusal := r.call(hostOn(t, r.world), "events.create", `{'runId': '`+id+`', 'params': {'resumeId': 'r2', 'resumePayloadDigest': '`+test.digest+`'},
			'event': {`+hookEvent("received", "hook_3", `'payload': 1`)+`}}`)
		if refusal != test.refusal {
			t.Errorf("with digest %q: %q, want %q", test.digest, refusal, test.refusal)
		}
		if b, err := json.Marshal(out); err != nil || strings.Contains(string(b), "igest") {
			t.Errorf("the digest is shown: %s", b)
		}
	}
}

// TestOperators: what people send to a run over Stepwell, its code takes up, and is woken.
func TestOperators(t *testing.T) {
	t.Parallel()
	for _, kind := range stores {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, kind)
			id, other := r.begin(), r.begin()
			r.event(id, hookEvent("created", "hook_1", `'token': 'ask'`))
			r.event(id, waitEvent("created", "wait_1", `'resumeAt': '2999-01-01T00:00:00.000Z'`))
			for _, d := range []world.Delivery{
				{Token: "ask", Events: []world.Event{{Type: world.HookReceived, Payload: json.RawMessage(`{"n":[1,"x",null]}`)}}},
				{Run: id, Events: []world.Event{{Type: world.WaitCompleted, ID: "wait_1", Outcome: world.OutcomeWoken}}},
				{Run: other, Events: []world.Event{{Type: world.CancelRequested, By: "ann", Reason: "enough"}}},
			} {
				if _, err := r.world.Deliver(t.Context(), &d); err != nil {
					t.Fatal(err)
				}
			}
			want := []string{"run_created", "run_started", "hook_created", "wait_created", "hook_received", "wait_completed"}
			wantOther := []string{"run_created", "run_started", "run_cancelled"}
			for end := time.Now().Add(20 * time.Second); len(r.types(id)) < len(want) || len(r.types(other)) < len(wantOther); <-time.After(time.Millisecond) {
				if time.Now().After(end) {
					break
				}
			}
			if diff := cmp.Diff(want, r.types(id)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(wantOther, r.types(other)); diff != "" {
				t.Error(diff)
			}
			got, _ := r.call(r.host, "events.get", `{'runId': '`+id+`', 'eventId': 'evnt_00000000000000000000000005'}`)
			payload := got["eventData"].(map[string]any)["payload"].(map[string]any)["$text"].(string)
			if wantPayload := `devl[{"n":1},[2,3,4],1,"x",null]`; payload != wantPayload {
				t.Errorf("the payload is %s, want %s", payload, wantPayload)
			}
			woken, _ := r.call(r.host, "queue.receive", `{'deploymentId': 'd', 'most': 10}`)
			if all := woken["it"].([]any); len(all) != 2 || all[0].(map[string]any)["queueName"] != "__wkf_workflow_workflow//./a//f" {
				t.Errorf("its code is woken by %v, want two messages", woken["it"])
			}
		})
	}
}

// TestPause: a paused run's messages wait, and what is written stays as it is for the DevKit; when it is resumed
// they come.
func TestPause(t *testing.T) {
	t.Parallel()
	for _, kind := range stores {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, kind)
			id := r.begin()
			act := func(kind world.EventType) {
				d := world.Delivery{Run: id, Act: true, Events: []world.Event{{Type: kind, By: "ann"}}}
				if _, err := r.world.Deliver(t.Context(), &d); err != nil {
					t.Fatal(err)
				}
			}
			paused := func() bool {
				row, err := r.world.Run(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}
				return row.Queue.Paused && row.Queue.Mail == 0
			}
			act(world.RunPaused)
			r.until("it is paused", paused)
			r.call(r.host, "queue.send", `{'queueName': '__wkf_workflow_f', 'message': {'runId': '`+id+`'}, 'deploymentId': 'd'}`)
			if got, _ := r.call(r.host, "queue.receive", `{'deploymentId': 'd'}`); len(got["it"].([]any)) > 0 {
				t.Errorf("a paused run's message was received: %v", got)
			}
			r.event(id, lazy("step_1")) // of what goes on
			act(world.RunResumed)
			r.until("it is resumed", func() bool { return !paused() })
			got, _ := r.call(r.host, "queue.receive", `{'deploymentId': 'd', 'waitMs': 20000}`) // it is woken at once
			if all := got["it"].([]any); len(all) != 1 {
				t.Errorf("received %v, want the message that wakes its code", got)
			}
			if diff := cmp.Diff([]string{"run_created", "run_started", "step_created", "step_started"}, r.types(id)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// until waits for something to be so.
func (r *rig) until(what string, so func() bool) {
	r.Helper()
	for end := time.Now().Add(20 * time.Second); !so(); <-time.After(time.Millisecond) {
		if time.Now().After(end) {
			r.Fatalf("%s: not within 20 s", what)
		}
	}
}

// TestRunsOfOthers: a run that is none of the DevKit's is not there for it.
func TestRunsOfOthers(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory")
	c := &world.Commit{ID: [16]byte{1}, Run: "ours", First: 1, Events: []world.Event{
		{Type: world.RunCreated, Time: world.Now(), Payload: []byte("{}"), Birth: &world.Birth{Workflow: "order", Version: 1, Seed: 1, Priority: 1}},
	}}
	if _, err := r.world.Commit(context.Background(), c); err != nil {
		t.Fatal(err)
	}
	for call, args := range map[string]string{
		"runs.get": `{'runId': 'ours'}`, "events.list": `{'runId': 'ours'}`, "steps.list": `{'runId': 'ours'}`,
		"events.create": eventOf("ours", runCompleted), "streams.write": `{'runId': 'ours', 'name': 's', 'close': true}`,
		"streams.list": `{'runId': 'ours'}`, "streams.info": `{'runId': 'ours', 'name': 's'}`, "streams.read": `{'runId': 'ours', 'name': 's', 'from': -1}`,
	} {
		if _, refusal := r.call(r.host, call, args); refusal != "WorkflowRunNotFoundError" {
			t.Errorf("%s: got %q, want that there is no such run", call, refusal)
		}
	}
	for event, want := range map[string]string{resilient: "WorkflowRunNotFoundError", runCreated: "EntityConflictError"} {
		if _, refusal := r.call(r.host, "events.create", eventOf("ours", event)); refusal != want {
			t.Errorf("%s: %q, want %s", event, refusal, want)
		}
	}
	id := r.begin()
	for _, n := range []string{"9223372036854775807", "-9223372036854775808"} {
		out, refusal := r.call(r.host, "events.create", strings.Replace(eventOf(id, lazy("step_"+n)), "{", "{'params': {'eventCount': "+n+"}, ", 1))
		if refusal != "" || out["events"] != nil {
			t.Errorf("behind %s events: %q, %v", n, refusal, out)
		}
	}
}

// TestWorkflowName: each name of the DevKit's is a name of ours.
func TestWorkflowName(t *testing.T) {
	t.Parallel()
	for theirs, want := range map[string]string{
		"workflow//./src/order//place":             "wdk.src.order.place",
		"workflow//@acme/flows@1.2.0//Class.place": "wdk.acme.flows.1.2.0.Class.place",
		"": "wdk.",
		"workflow//" + strings.Repeat("x/", 100) + "//last": "wdk." + strings.Repeat("x.", 60) + "last",
	} {
		got := workflowName(theirs)
		if got != want || theirs != "" && world.CheckWorkflowName(got) != nil {
			t.Errorf("%.60q: got %q, want %q", theirs, got, want)
		}
	}
}
