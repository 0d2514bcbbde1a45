package server

// Singletons over HTTP: what a start is answered while a run of its key is live.

import (
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world/memory"
)

func TestSingletons(t *testing.T) {
	t.Parallel()
	of := func(name string, replace bool) stepwell.Definition {
		return stepwell.Define(name, func(ctx stepwell.Context, in map[string]string) (string, error) {
			return in["shop"], stepwell.Sleep(ctx, "a while", time.Hour)
		}, stepwell.Singleton{By: "shop", Replace: replace})
	}
	r := newRigOn(t, memory.New(), Options{}, of("keep", false), of("replace", true))
	const ann = `{"input": {"shop": "ann"}}`
	id := r.want(201, "POST", "/v1/workflows/keep/runs", ann).get("id")
	if again := r.want(200, "POST", "/v1/workflows/keep/runs", ann); again.get("id") != id {
		t.Errorf("got %s, want run %s", again.body, id)
	}
	r.want(201, "POST", "/v1/workflows/keep/runs", `{"input": {"shop": "bob"}}`)
	r.want(400, "POST", "/v1/workflows/keep/runs", `{"input": {"other": "ann"}}`)
	old := r.want(201, "POST", "/v1/workflows/replace/runs", ann).get("id").(string)
	next := r.want(201, "POST", "/v1/workflows/replace/runs", ann).get("id").(string)
	r.until("the old one is cancelled, and the new one begins", func() bool {
		return r.want(200, "GET", "/v1/runs/"+old, "").get("status") == "cancelled" && r.want(200, "GET", "/v1/runs/"+next, "").get("status") == "running"
	})
	if again := r.want(409, "POST", "/v1/runs/"+old+"/restart", `{}`); again.get("code") != "RUN_EXISTS" {
		t.Errorf("restart: got %s", again.body)
	}
	if a := r.want(200, "GET", "/v1/limits/singleton:replace", ""); a.get("keys.0.used") != 1.0 || a.get("untilEnd") != true {
		t.Errorf("got %s", a.body)
	}
	r.want(400, "PUT", "/v1/limits/singleton:replace", `{"number": 2}`)
}

// TestMergedKeys: the key of a start that was merged into another finds that run, which says so.
func TestMergedKeys(t *testing.T) {
	t.Parallel()
	write := stepwell.Define("write", func(_ stepwell.Context, all []int) (int, error) { return len(all), nil }, stepwell.Batch{Size: 10, Wait: time.Hour})
	r := newRigOn(t, memory.New(), Options{}, write)
	id := r.want(201, "POST", "/v1/workflows/write/runs", `{"input": [1], "idempotencyKey": "one"}`).get("id")
	r.want(200, "POST", "/v1/workflows/write/runs", `{"input": [2], "idempotencyKey": "two"}`)
	for key, merged := range map[string]any{"one": nil, "two": true} {
		for _, query := range []string{"key=", "search="} {
			got := r.want(200, "GET", "/v1/runs?"+query+key, "")
			if got.get("runs.0.id") != id || got.get("runs.0.merged") != merged || got.get("runs.1") != nil {
				t.Errorf("%s%s: got %s, want run %s, merged: %v", query, key, got.body, id, merged)
			}
		}
	}
}
