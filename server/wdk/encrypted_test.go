package wdk

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// TestEncrypted: behind a server with a key, values lie in the store so that nobody reads them, and come back
// as they were.
func TestEncrypted(t *testing.T) {
	t.Parallel()
	ring := aRing(t)
	store := memory.New()
	t.Cleanup(func() { _ = store.Close() })
	app, err := stepwell.New(store, stepwell.Config{Encryption: ring})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t, app.World(), hostOn(t, app.World())}
	id := r.begin()
	const secret = `{'$text': 'SECRET'}`
	r.event(id, lazyWith("step_1", secret))
	r.event(id, stepEvent("retrying", "step_1", `'error': `+secret))
	r.event(id, stepEvent("started", "step_1", ``))
	r.event(id, stepEvent("completed", "step_1", `'result': `+secret))
	r.event(id, hookEvent("created", "hook_1", `'token': 'tok', 'metadata': `+secret))
	r.event(id, hookEvent("received", "hook_1", `'payload': `+secret))
	if _, refusal := r.call(r.host, "streams.write", `{'runId': '`+id+`', 'name': 's', 'chunks': [`+secret+`]}`); refusal != "" {
		t.Fatal(refusal)
	}
	r.call(r.host, "queue.send", `{'queueName': '__wkf_workflow_f', 'message': {'runId': `+secret+`}, 'deploymentId': 'd'}`)
	if k, _ := r.call(r.host, "hooks.token", `{'token': 'tok'}`); k["metadata"].(map[string]any)["$text"] != "SECRET" {
		t.Errorf("the hook is %v", k)
	}
	r.event(id, `'eventType': 'run_failed', 'eventData': {'error': `+secret+`}`)

	page, err := store.Events(t.Context(), id, world.EventQuery{})
	if err != nil {
		t.Fatal(err)
	}
	chunks, err := store.Chunks(t.Context(), id, "s", world.ChunkQuery{})
	if err != nil {
		t.Fatal(err)
	}
	messages, err := store.Messages().PeekMessages(t.Context(), world.PeekQuery{Queue: "wdk.d"})
	if err != nil {
		t.Fatal(err)
	}
	for what, v := range map[string]any{"events": page.Events, "chunks": chunks.Chunks, "messages": messages.Messages} {
		if b, err := json.Marshal(v); err != nil || bytes.Contains(b, []byte("SECRET")) || len(b) < 100 {
			t.Errorf("%s: a secret lies open: %s, %v", what, b, err)
		}
	}

	r.host = hostOn(t, app.World())
	out, _ := r.call(r.host, "events.list", `{'runId': '`+id+`'}`)
	b, err := json.Marshal(out)
	if n := bytes.Count(b, []byte("SECRET")); err != nil || n != 6 {
		t.Errorf("another server reads %d secrets of 6: %s", n, b)
	}
	read, _ := r.call(r.host, "streams.read", `{'runId': '`+id+`', 'name': 's'}`)
	got, _ := r.call(r.host, "queue.receive", `{'deploymentId': 'd'}`)
	run, _ := r.call(r.host, "runs.get", `{'runId': '`+id+`'}`)
	list, _ := r.call(r.host, "runs.list", `{}`)
	for what, v := range map[string]any{"stream": read, "message": got, "run": run, "list": list} {
		if b, err := json.Marshal(v); err != nil || !bytes.Contains(b, []byte("SECRET")) {
			t.Errorf("%s: %s, %v: want the secret", what, b, err)
		}
	}
}
