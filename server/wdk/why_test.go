package wdk

import (
	"strings"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world/memory"
)

// TestWhyNoAppTakesIt: why says how the message about a run stands, and names the app that has its code.
func TestWhyNoAppTakesIt(t *testing.T) {
	t.Parallel()
	store := memory.New()
	t.Cleanup(func() { _ = store.Close() })
	app, err := stepwell.New(store, stepwell.Config{})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t, app.World(), hostOn(t, app.World())}
	id := r.begin()
	why := func(what string, want ...string) {
		t.Helper()
		got, err := app.Why(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range want {
			if !strings.Contains(got.String(), part) {
				t.Errorf("%s: %s; want %q in it", what, got, part)
			}
		}
	}
	info, err := app.Get(t.Context(), id)
	if err != nil || info.Owner() != "Workflow DevKit (app d)" {
		t.Errorf("its owner is %q, %v", info.Owner(), err)
	}
	if got := info.Why(nil, info.CreatedAt).String(); !strings.Contains(got, "Workflow DevKit (app d)") {
		t.Errorf("a list says: %s", got)
	}
	why("no message", `no message for it is in queue "wdk.d"`)
	r.call(r.host, "queue.send", `{'queueName': '__wkf_workflow_f', 'message': {'runId': '`+id+`'}, 'deploymentId': 'd'}`)
	why("nobody asks", `from queue "wdk.d", where it is ready since`, "no app is asking for it")
	receive := func() string {
		got, _ := r.call(r.host, "queue.receive", `{'deploymentId': 'd'}`)
		return got["it"].([]any)[0].(map[string]any)["receipt"].(string)
	}
	receipt := receive()
	why("an app has it", "which has its message, attempt 1")
	r.call(r.host, "queue.settle", `{'receipts': ['`+receipt+`'], 'kind': 'unread', 'seconds': 60, 'error': 'http://app/flow did not answer: that is no attempt'}`)
	why("the app sleeps", `from queue "wdk.d" at `, "earlier error: http://app/flow did not answer: that is no attempt")
}
