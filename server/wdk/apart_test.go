package wdk

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// TestLargeValues: values that are kept apart from the log come back whole, also from a server that has just started;
// what is too large is refused, with nothing written.
func TestLargeValues(t *testing.T) {
	t.Parallel()
	ring := aRing(t)
	for name, config := range map[string]stepwell.Config{"plain": {}, "encrypted": {Encryption: ring}} {
		t.Run(name, func(t *testing.T) { largeValues(t, config) })
	}
}

func largeValues(t *testing.T, config stepwell.Config) {
	store := memory.New()
	t.Cleanup(func() { _ = store.Close() })
	app, err := stepwell.New(store, config)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t, app.World(), hostOn(t, app.World())}
	id := "wrun_large"
	large := func(mark string) string { return `{'$text': '` + mark + strings.Repeat("x", 1200<<10) + `'}` }
	r.event(id, strings.Replace(runCreated, `{'$text': 'in'}`, large("in"), 1))
	r.event(id, runStarted)
	r.event(id, lazyWith("step_1", large("step")))
	r.event(id, stepEvent("completed", "step_1", `'result': `+large("result")))
	r.event(id, hookEvent("created", "hook_1", `'token': 'tok'`))
	r.event(id, hookEvent("received", "hook_1", `'payload': `+large("payload")))

	before := len(r.types(id))
	for name, e := range map[string]string{
		"step":  lazyWith("step_2", `{'$text': '`+strings.Repeat("x", 4<<20)+`'}`),
		"hook":  hookEvent("received", "hook_1", `'payload': '`+strings.Repeat("x", 4<<20)+`'`),
		"run":   strings.Replace(runCompleted, `{'$text': 'out'}`, `'`+strings.Repeat("x", 4<<20)+`'`, 1),
		"batch": "",
	} {
		call, args := "events.create", eventOf(id, e)
		if name == "batch" {
			call = "events.batch"
			args = `{'runId': '` + id + `', 'events': [{'event': {` + stepEvent("created", "step_3", `'input': '`+strings.Repeat("x", 4<<20)+`'`) + `}}]}`
		}
		_, err := r.host.Call(t.Context(), call, json.RawMessage(strings.ReplaceAll(args, "'", `"`)))
		if !errors.Is(err, world.ErrTooLarge) {
			t.Errorf("%s: %v, want %v", name, err, world.ErrTooLarge)
		}
	}
	if after := len(r.types(id)); after != before {
		t.Errorf("%d events, want none more", after-before)
	}
	last := eventOf(id, strings.Replace(runCompleted, `{'$text': 'out'}`, large("out"), 1))
	done, refusal := r.call(r.host, "events.create", last)
	if refusal != "" {
		t.Fatal(refusal)
	}
	again, refusal := r.call(hostOn(t, app.World()), "events.create", strings.Replace(last, "{", "{'again': true, ", 1))
	if diff := cmp.Diff(done["event"], again["event"]); diff != "" || refusal != "" {
		t.Errorf("again it is %q, %.2000s", refusal, diff)
	}

	warm := r.host
	r.host = hostOn(t, app.World())
	for _, read := range []string{"runs.get", "steps.list", "events.list", "runs.list"} {
		want, _ := r.call(warm, read, `{'runId': '`+id+`'}`)
		got, _ := r.call(r.host, read, `{'runId': '`+id+`'}`)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s differs behind a restart: %.2000s", read, diff)
		}
		b, err := json.Marshal(got)
		if err != nil || len(b) < 2<<20 || strings.Contains(string(b), "stepwell:apart") {
			t.Errorf("%s has %d bytes, %v: want the values themselves", read, len(b), err)
		}
	}
	list, _ := r.call(r.host, "runs.list", `{'resolveData': 'none'}`)
	if run := list["data"].([]any)[0].(map[string]any); run["workflowName"] != "workflow//./a//f" || run["deploymentId"] != "d" || run["input"] != nil {
		t.Errorf("without values the run is listed as %.500v", run)
	}
}
