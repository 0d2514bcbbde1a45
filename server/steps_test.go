package server

// Step workers: what they take, what becomes of it, and that their key opens nothing else.

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/world"
)

const (
	stepsSecret = "resize-steps-secret-0123"
	blurSecret  = "blur-steps-secret-012345"
)

// picture is what the remote step of the tests takes.
type picture struct {
	Name string `json:"name"`
	Size int    `json:"size"`
}

var (
	resize = stepwell.DefineRemoteStep[picture, string]("resize",
		stepwell.Retry{Attempts: 3, Base: time.Millisecond}, stepwell.Timeout(time.Hour))
	shop = stepwell.Define("pictures", func(ctx stepwell.Context, in picture) (string, error) {
		return resize.Run(ctx, in)
	})
)

// stepRig is a server with a worker in Go, and keys of step workers.
type stepRig struct {
	*rig
	worker string
	number int
}

func newStepRig(t *testing.T, kind string) *stepRig {
	t.Helper()
	more, err := ParseKeys("steps?step=resize:py:" + stepsSecret + " steps?step=blur:ts:" + blurSecret)
	if err != nil {
		t.Fatal(err)
	}
	return &stepRig{rig: newRig(t, kind, Options{Keys: append(testKeys(t), more...)}, shop, resize)}
}

// steps asks a step worker's door, with the key of the tests.
func (r *stepRig) steps(status int, call string, body any, secret ...string) *reply {
	r.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		r.Fatal(err)
	}
	return r.want(status, "POST", stepsPrefix+"/"+call, string(text), as(append(secret, stepsSecret)[0])...)
}

func (r *stepRig) join() {
	r.Helper()
	a := r.steps(200, "take", object{"steps": []string{"resize"}, "name": "tester"})
	r.worker = a.get("worker").(string)
	r.number = 0
	if a.get("leaseMs") != 10000.0 || a.get("heartbeatMs") != 1000.0 || len(a.get("tasks").([]any)) > 0 {
		r.Fatalf("joined: got %s", a.body)
	}
}

// given is a task as it was given.
type given struct {
	Receipt, Step, ID, Run, Workflow string
	Attempt                          int
	Input, Progress                  json.RawMessage
	TimeoutMs                        int64
}

func (r *stepRig) claim(most int, wait string, holds ...string) []given {
	r.Helper()
	r.number++
	a := r.steps(200, "take", object{"worker": r.worker, "steps": []string{"resize"}, "most": most, "wait": wait, "holds": append([]string{}, holds...), "number": r.number})
	var got struct{ Tasks []given }
	if err := json.Unmarshal(a.body, &got); err != nil {
		r.Fatal(err)
	}
	return got.Tasks
}

func (r *stepRig) claimOne(holds ...string) given {
	r.Helper()
	got := r.claim(1, "20s", holds...)
	if len(got) != 1 {
		r.Fatalf("got %d tasks, want one; log: %s", len(got), r.log)
	}
	return got[0]
}

func (r *stepRig) begin(id string) {
	r.Helper()
	r.want(201, "POST", "/v1/workflows/pictures/runs", fmt.Sprintf(`{"id": %q, "input": {"name": %q, "size": 64}}`, id, id), as(operatorSecret)...)
}

func (r *stepRig) result(id string) *reply {
	r.Helper()
	return r.want(200, "GET", "/v1/runs/"+id+"?wait=20s", "", as(operatorSecret)...)
}

// attempts are what the log has of the step's attempts.
func (r *stepRig) attempts(id string) (said []string) {
	r.Helper()
	page, err := r.world.Events(r.Context(), id, world.EventQuery{})
	if err != nil {
		r.Fatal(err)
	}
	for _, e := range page.Events {
		if e.Attempt > 0 {
			text := fmt.Sprint(e.Type, " ", e.Attempt)
			if e.Error != nil {
				text += " " + e.Error.Code + " " + e.Error.Message
			}
			said = append(said, text)
		}
	}
	return said
}

func (r *stepRig) wantAttempts(id string, want ...string) {
	r.Helper()
	if got := strings.Join(r.attempts(id), "\n"); got != strings.Join(want, "\n") {
		r.Errorf("the log of run %s has\n%s\nwant\n%s", id, got, strings.Join(want, "\n"))
	}
}

// TestRemoteStep: from a workflow in Go to a step worker and back.
func TestRemoteStep(t *testing.T) {
	t.Parallel()
	for _, kind := range sample.OneKey(t, kinds) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := newStepRig(t, kind)
			r.begin("p1")
			r.until("why to say that nobody has the step", func() bool {
				return strings.Contains(string(r.want(200, "GET", "/v1/runs/p1/why", "", as(operatorSecret)...).body), "resize")
			})
			r.join()
			got := r.claimOne()
			if got.Step != "resize" || got.Run != "p1" || got.Workflow != "pictures" || got.Attempt != 1 || got.TimeoutMs != 3_600_000 || string(got.Input) != `{"name":"p1","size":64}` {
				t.Fatalf("got %+v", got)
			}
			r.steps(413, "heartbeat", object{"worker": r.worker, "tasks": []object{ // of all that it says nothing is written
				{"receipt": got.Receipt, "progress": object{"rows": 2}}, {"receipt": got.Receipt, "progress": strings.Repeat("x", world.MaxProgress)},
			}})
			r.steps(200, "heartbeat", object{"worker": r.worker, "tasks": []object{{"receipt": got.Receipt, "progress": object{"rows": 3}, "position": 0}}})
			r.steps(200, "write", object{"receipt": got.Receipt, "stream": "words", "chunks": []any{"a", 1, nil}})
			r.steps(200, "write", object{"receipt": got.Receipt, "stream": "words", "chunks": []any{"a", 1, nil}}) // again
			r.steps(200, "write", object{"receipt": got.Receipt, "stream": "words", "position": 3, "close": true})
			if a := r.want(200, "GET", "/v1/runs/p1/steps", "", as(operatorSecret)...); !strings.Contains(string(a.body), `"rows":3`) {
				t.Errorf("the journal does not show the progress: %s", a.body)
			}
			r.steps(202, "complete", object{"receipt": got.Receipt, "output": "small p1"})
			if a := r.result("p1"); a.get("output") != "small p1" {
				t.Errorf("got %s", a.body)
			}
			r.wantAttempts("p1", "step_started 1", "step_completed 1")
			words := string(r.want(200, "GET", "/v1/runs/p1/streams/words", "", append(as(operatorSecret), "Accept", eventStream)...).body)
			if strings.Count(words, `"value":"a"`) != 1 || !strings.Contains(words, "event: end") {
				t.Errorf("the stream has %s", words)
			}
			r.steps(409, "complete", object{"receipt": got.Receipt, "output": "again"})
			r.steps(202, "leave", object{"worker": r.worker})
		})
	}
}

// TestRemoteStepFails: the definition in Go says how often a step is tried, and its worker which errors are final.
func TestRemoteStepFails(t *testing.T) {
	t.Parallel()
	r := newStepRig(t, sample.OneKey(t, kinds)[0])
	r.join()
	fail := func(receipt string, more object) *reply {
		body := object{"receipt": receipt, "error": object{"message": "no colour", "code": "COLOUR", "name": "ValueError"}}
		for name, v := range more {
			body[name] = v
		}
		return r.steps(200, "fail", body)
	}
	r.begin("f1")
	for i := 1; i <= 3; i++ {
		got := r.claimOne()
		if got.Attempt != i || i == 2 && string(got.Progress) != `"half"` {
			t.Fatalf("attempt %d: got %+v", i, got)
		}
		if i == 1 {
			r.steps(200, "heartbeat", object{"worker": r.worker, "tasks": []object{{"receipt": got.Receipt, "progress": "half"}}})
		}
		if i == 3 {
			key := world.TaskKey{Run: got.Run, Step: got.ID, Attempt: 3}
			r.server.stepper.forget(r.worker, key) // another server hears of it
		}
		if a := fail(got.Receipt, nil); (a.get("retryAt") == nil) != (i == 3) {
			t.Errorf("attempt %d: got %s", i, a.body)
		}
	}
	if a := r.result("f1"); a.get("status") != "failed" || !strings.Contains(string(a.body), "no colour") {
		t.Errorf("got %s", a.body)
	}
	r.wantAttempts("f1", "step_started 1", "step_retrying 1 COLOUR no colour", "step_started 2", "step_retrying 2 COLOUR no colour",
		"step_started 3", "step_failed 3 COLOUR no colour")

	r.begin("f2")
	if a := fail(r.claimOne().Receipt, object{"final": true}); a.get("retryAt") != nil {
		t.Errorf("a final error: got %s", a.body)
	}
	if a := r.result("f2"); a.get("status") != "failed" {
		t.Errorf("got %s", a.body)
	}
	r.wantAttempts("f2", "step_started 1", "step_failed 1 COLOUR no colour")

	r.begin("f3")
	now := time.Now()
	a := fail(r.claimOne().Receipt, object{"delay": "1h"})
	at, err := time.Parse(time.RFC3339, fmt.Sprint(a.get("retryAt")))
	if err != nil || at.Sub(now) < 59*time.Minute {
		t.Errorf("a delay of an hour: got %s, %v", a.body, err)
	}
}

// TestRemoteStepIsCancelled: its worker hears of it with the next heartbeat, and of the end of its time.
func TestRemoteStepIsCancelled(t *testing.T) {
	t.Parallel()
	r := newStepRig(t, sample.OneKey(t, kinds)[0])
	r.join()
	r.begin("c1")
	got := r.claimOne()
	r.want(202, "DELETE", "/v1/runs/c1", "", as(operatorSecret)...)
	r.until("the heartbeat to say so", func() bool {
		a := r.steps(200, "heartbeat", object{"worker": r.worker, "tasks": []object{{"receipt": got.Receipt}}})
		return a.get("ended.0.receipt") == got.Receipt && a.get("ended.0.why") == "ended"
	})
	r.steps(409, "fail", object{"receipt": got.Receipt, "error": object{"message": "stopped"}})
	if a := r.result("c1"); a.get("status") != "cancelled" {
		t.Errorf("got %s", a.body)
	}

	r.begin("c2")
	late := r.claimOne()
	rc, err := readReceipt(late.Receipt)
	if err != nil {
		t.Fatal(err)
	}
	rc.Began -= (2 * time.Hour).Microseconds() // as if the time had passed
	a := r.steps(200, "heartbeat", object{"worker": r.worker, "tasks": []object{{"receipt": rc.text()}}})
	if a.get("ended.0.why") != "timeout" {
		t.Errorf("got %s, want that its time is up", a.body)
	}
	r.steps(200, "fail", object{"receipt": rc.text(), "error": object{"message": "stopped"}, "final": true})
	if a := r.result("c2"); !strings.Contains(string(a.body), "timed out after 1h0m0s: stopped") {
		t.Errorf("got %s", a.body)
	}
}

// TestLostStepTasks: what an answer had that was lost is ready again with the next take, and so is what a worker holds
// that leaves: no failure is counted. A copy of a take that comes late takes nothing.
func TestLostStepTasks(t *testing.T) {
	t.Parallel()
	r := newStepRig(t, sample.OneKey(t, kinds)[0])
	r.join()
	r.begin("l1")
	first := r.claimOne() // and say that this was lost
	again := r.claimOne()
	if again.Run != first.Run || again.Attempt != 2 {
		t.Errorf("got %+v, want the second attempt of %+v", again, first)
	}
	if got := r.claim(1, "0s", again.Receipt); len(got) > 0 {
		t.Errorf("got %+v, and holds it", got)
	}
	late := object{"worker": r.worker, "steps": []string{"resize"}, "holds": []string{}, "number": 1}
	if a := r.steps(409, "take", late); a.get("code") != "CONFLICT" {
		t.Errorf("a late copy: got %s", a.body)
	}
	r.steps(202, "leave", object{"worker": r.worker})
	r.steps(409, "complete", object{"receipt": again.Receipt, "output": "late"})
	gone := r.worker
	r.join()
	third := r.claimOne()
	if third.Attempt != 3 {
		t.Errorf("got %+v, want the third attempt", third)
	}
	if a := r.steps(409, "take", object{"worker": gone, "steps": []string{"resize"}}); a.get("code") != "LEASE_LOST" {
		t.Errorf("one that has left: got %s", a.body)
	}
	r.steps(202, "complete", object{"receipt": third.Receipt, "output": "there"})
	if a := r.result("l1"); a.get("output") != "there" {
		t.Errorf("got %s", a.body)
	}
	r.wantAttempts("l1", "step_started 1", "step_retrying 1 ABANDONED its worker never heard of it",
		"step_started 2", "step_retrying 2 ABANDONED its worker shut down", "step_started 3", "step_completed 3")
}

// TestLeaveWhileATakeWaits: a worker that leaves does not take again what it gives back, so no attempt is without end: that
// would count as a death.
func TestLeaveWhileATakeWaits(t *testing.T) {
	t.Parallel()
	r := newStepRig(t, sample.OneKey(t, kinds)[0])
	r.join()
	r.begin("w1")
	first := r.claimOne()
	body, err := json.Marshal(object{"worker": r.worker, "steps": []string{"resize"}, "wait": "20s", "holds": []string{first.Receipt}, "number": r.number + 1})
	if err != nil {
		t.Fatal(err)
	}
	waited := make(chan *reply, 1)
	go func() { waited <- r.send("POST", stepsPrefix+"/take", string(body), as(stepsSecret)...) }()
	claims := &r.server.stepper.claims
	r.until("the take waits", func() bool {
		claims.mu.Lock()
		defer claims.mu.Unlock()
		return claims.last[r.worker].n == int64(r.number)+1
	})
	r.steps(202, "leave", object{"worker": r.worker})
	if a := <-waited; a.status != 409 || a.get("code") != "LEASE_LOST" {
		t.Errorf("the take: got %d %s", a.status, a.body)
	}
	r.join()
	r.steps(202, "complete", object{"receipt": r.claimOne().Receipt, "output": "there"})
	r.result("w1")
	r.wantAttempts("w1", "step_started 1", "step_retrying 1 ABANDONED its worker shut down", "step_started 2", "step_completed 2")
}

// TestStepThatEndsItsWorkers: one whose workers die runs alone among its like, and fails in the end.
func TestStepThatEndsItsWorkers(t *testing.T) {
	t.Parallel()
	r := newStepRig(t, "memory")
	r.begin("d1")
	for i := 1; i <= 7; i++ {
		r.join()
		if got := r.claimOne(); got.Attempt != i {
			t.Fatalf("got %+v, want attempt %d", got, i)
		}
		if err := r.world.Leave(t.Context(), r.worker); err != nil { // as the lease of a dead one ends
			t.Fatal(err)
		}
	}
	r.join()
	r.until("the step to fail", func() bool {
		r.claim(1, "0s")
		return r.want(200, "GET", "/v1/runs/d1", "", as(operatorSecret)...).get("status") == "failed"
	})
	if a := r.result("d1"); !strings.Contains(string(a.body), "ended its process 7 times") {
		t.Errorf("got %s", a.body)
	}
}

// TestStepKeys: a key of scope steps opens the door of step workers, for its own steps and its own workers, and no
// other; what it cannot be is refused. TestScopes has all routes.
func TestStepKeys(t *testing.T) {
	t.Parallel()
	r := newStepRig(t, "memory")
	r.join()
	r.begin("k1")
	got := r.claimOne()
	blur := as(blurSecret)
	r.refused(403, "FORBIDDEN", "POST", stepsPrefix+"/take", `{"steps": ["resize"]}`, blur...)
	r.refused(403, "FORBIDDEN", "POST", stepsPrefix+"/take", `{"steps": ["blur", "resize"]}`, blur...)
	for call, body := range map[string]string{
		"take":      `{"worker": "` + r.worker + `", "steps": ["blur"]}`,
		"heartbeat": `{"worker": "` + r.worker + `"}`,
		"complete":  `{"receipt": "` + got.Receipt + `", "output": 1}`,
		"fail":      `{"receipt": "` + got.Receipt + `", "error": {"message": "m"}}`,
		"write":     `{"receipt": "` + got.Receipt + `", "stream": "s", "chunks": [1]}`,
		"leave":     `{"worker": "` + r.worker + `"}`,
	} {
		r.refused(403, "FORBIDDEN", "POST", stepsPrefix+"/"+call, body, blur...)
	}
	other := r.want(200, "POST", stepsPrefix+"/take", `{"steps": ["blur"]}`, blur...).get("worker").(string)
	rc, err := readReceipt(got.Receipt)
	if err != nil {
		t.Fatal(err)
	}
	rc.Worker = other // a forged receipt, in the name of a worker of its own
	for call, body := range map[string]string{
		"complete": `{"receipt": "` + rc.text() + `", "output": 1}`,
		"fail":     `{"receipt": "` + rc.text() + `", "error": {"message": "m"}}`,
		"write":    `{"receipt": "` + rc.text() + `", "stream": "s", "chunks": [1]}`,
	} {
		r.refused(409, "LEASE_LOST", "POST", stepsPrefix+"/"+call, body, blur...)
	}
	a := r.want(200, "POST", stepsPrefix+"/heartbeat", `{"worker": "`+other+`", "tasks": [{"receipt": "`+rc.text()+`", "progress": 1}]}`, blur...)
	if a.get("ended.0.why") != "ended" {
		t.Errorf("another's task: got %s", a.body)
	}
	r.refused(400, "INVALID", "POST", stepsPrefix+"/heartbeat", `{"worker": "`+other+`", "tasks": [{"receipt": "`+got.Receipt+`"}]}`, blur...)
	for _, path := range []string{"/v1/runs/k1", "/v1/runs/k1/events", "/v1/runs/k1/streams/words", "/v1/workers", "/v1/world", "/metrics", "/.well-known/workflow/v1/manifest.json"} {
		r.refused(403, "FORBIDDEN", "GET", path, "", as(stepsSecret)...)
	}
	r.want(200, "POST", stepsPrefix+"/take", `{"steps": ["any"]}`, as(workerSecret)...)
	r.refused(403, "FORBIDDEN", "POST", stepsPrefix+"/take", `{"steps": ["any"]}`, as(operatorSecret)...)
	r.refused(400, "INVALID", "POST", stepsPrefix+"/write", `{"receipt": "`+got.Receipt+`", "stream": "progress/`+got.ID+`", "chunks": [1]}`, as(stepsSecret)...)
	for _, bad := range []string{"", "x", "e30", got.Receipt[1:], strings.Repeat("e", mostReceipt+1)} {
		r.refused(400, "INVALID", "POST", stepsPrefix+"/complete", `{"receipt": "`+bad+`"}`, as(stepsSecret)...)
	}
	if _, ok := (uiHost{r.server}).Identify(stepsSecret); ok {
		t.Error("the pages take a key of scope steps")
	}
	for text, want := range map[string]string{
		"steps:py:0123456789abcdef":                          "names its steps",
		"steps?workflow=pictures:py:0123456789abcdef":        "names its steps",
		"steps?step=a&workflow=pictures:py:0123456789abcdef": "names its steps",
		"steps?step=:py:0123456789abcdef":                    "step",
		"admin?step=resize:py:0123456789abcdef":              "only a worker's key",
	} {
		if _, err := ParseKeys(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error about %q", text, err, want)
		}
	}
	bare, err := NewKey(Steps, "py", "0123456789abcdef")
	if err != nil {
		t.Fatal(err)
	}
	if err := checkKeys([]Key{bare}); !errors.Is(err, stepwell.ErrInvalid) {
		t.Errorf("a key of scope steps that names none: got %v", err)
	}
}

// TestRemoteStepUnderALimit: the limits of its definition hold for step workers.
func TestRemoteStepUnderALimit(t *testing.T) {
	t.Parallel()
	bank := stepwell.DefineRemoteStep[picture, string]("resize", stepwell.Limit{AtOnce: 1})
	one := stepwell.Define("limited", func(ctx stepwell.Context, in picture) (string, error) { return bank.Run(ctx, in) })
	more, err := ParseKeys("steps?step=resize:py:" + stepsSecret)
	if err != nil {
		t.Fatal(err)
	}
	r := &stepRig{rig: newRig(t, sample.OneKey(t, kinds)[0], Options{Keys: append(testKeys(t), more...)}, one, bank)}
	r.join()
	for _, id := range []string{"u1", "u2", "u3"} {
		r.want(201, "POST", "/v1/workflows/limited/runs", fmt.Sprintf(`{"id": %q, "input": {"name": "n"}}`, id), as(operatorSecret)...)
	}
	for range 3 {
		got := r.claim(5, "20s")
		if len(got) != 1 {
			t.Fatalf("got %d tasks, want one at a time", len(got))
		}
		if more := r.claim(5, "0s", got[0].Receipt); len(more) > 0 {
			t.Fatalf("got %+v beside the one that runs", more)
		}
		r.steps(202, "complete", object{"receipt": got[0].Receipt, "output": "done"})
	}
	for _, id := range []string{"u1", "u2", "u3"} {
		if a := r.result(id); a.get("output") != "done" {
			t.Errorf("got %s", a.body)
		}
	}
}

// TestRemoteStepThatDoesNotFit: an output that the type in Go cannot hold blocks the run, and why says which step, which
// step worker, what does not fit and what to do: a fork with another result goes on, and nothing runs again.
func TestRemoteStepThatDoesNotFit(t *testing.T) {
	t.Parallel()
	r := newStepRig(t, sample.OneKey(t, kinds)[0])
	r.join()
	r.begin("u1")
	r.steps(202, "complete", object{"receipt": r.claimOne().Receipt, "output": object{"file": "small"}})
	var why *reply
	r.until("the run to be blocked", func() bool {
		why = r.want(200, "GET", "/v1/runs/u1/why", "", as(operatorSecret)...)
		return why.get("kind") == "blocked"
	})
	text := fmt.Sprint(why.get("text"))
	for _, says := range []string{
		"blocked (DECODE)", `the recorded result of step "resize" does not fit: decode: a JSON object at offset 1 does not fit: want a string`,
		"step worker " + r.worker + " (key py) gave this result: deploy Go code whose type fits it, or fork the run with another result; nothing is lost",
	} {
		if !strings.Contains(text, says) {
			t.Errorf("why is\n%s\nwant %q in it", text, says)
		}
	}
	if by := why.get("by"); by != r.worker+" (key py)" {
		t.Errorf("it is by %v", by)
	}
	if a := r.want(200, "GET", "/v1/runs/u1/steps", "", as(operatorSecret)...); !strings.Contains(string(a.body), `"by":"`+r.worker+` (key py)"`) {
		t.Errorf("the journal does not say whose result it is: %s", a.body)
	}
	r.want(201, "POST", "/v1/runs/u1/fork", `{"id": "u2", "results": {"resize": "small"}}`, as(operatorSecret)...)
	if a := r.result("u2"); a.get("output") != "small" {
		t.Errorf("the fork: got %s", a.body)
	}
	if got := r.claim(1, "0s"); len(got) > 0 {
		t.Errorf("the step runs again: %+v", got)
	}
}
