package wdk

import (
	"strings"
	"testing"
)

// TestHealth: the check goes to the app's queue, and the answer comes back by another server, once, though there is
// no such run.
func TestHealth(t *testing.T) {
	t.Parallel()
	for _, kind := range stores {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, kind)
			r.call(r.host, "queue.send", `{'queueName': '__wkf_workflow_health_check', 'message': {'__healthCheck': true, 'correlationId': 'C', 'runId': 'wrun_new'}, 'deploymentId': 'd'}`)
			if got, _ := r.call(r.host, "queue.receive", `{'deploymentId': 'd'}`); len(got["it"].([]any)) != 1 {
				t.Fatalf("received %v", got)
			}
			const stream = `{'runId': 'wrun_hc_C', 'name': '__health_check__C'`
			read := func(h *Host, rest string) map[string]any {
				out, refusal := r.call(h, "streams.read", stream+rest)
				if refusal != "" {
					t.Fatal(refusal)
				}
				return out
			}
			if got := read(r.host, `}`); len(got["chunks"].([]any)) != 0 || got["done"] != false {
				t.Errorf("before the answer: %v", got)
			}
			other := hostOn(t, r.world)
			answered := make(chan map[string]any)
			go func() { answered <- read(other, `, 'waitMs': 20000}`) }()
			write := stream + `, 'chunks': [{'$text': 'healthy'}]}`
			r.call(r.host, "streams.write", write)
			r.call(other, "streams.write", strings.Replace(write, "{", "{'again': true, ", 1))
			if got := <-answered; got["next"] != 1.0 {
				t.Errorf("who waits is told %v", got)
			}
			r.call(r.host, "streams.write", stream+`, 'close': true}`)
			r.call(r.host, "streams.write", write) // too late
			got := read(other, `, 'from': 0}`)
			chunks := got["chunks"].([]any)
			if len(chunks) != 1 || chunks[0].(map[string]any)["data"].(map[string]any)["$text"] != "healthy" || got["done"] != true {
				t.Errorf("the answer is %v", got)
			}
			if got := read(other, `, 'from': 1}`); got["done"] != true {
				t.Errorf("behind the answer: %v", got)
			}
		})
	}
}
