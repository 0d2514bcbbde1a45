package server

// Limits over HTTP: what is listed, shown and changed, what a start by name computes, and what is refused.

import (
	"context"
	"testing"

	"github.com/stepwell/stepwell"
	limits "github.com/stepwell/stepwell/limit"
	"github.com/stepwell/stepwell/world/memory"
)

func TestLimits(t *testing.T) {
	t.Parallel()
	free := make(chan struct{})
	slow := stepwell.Define("slow", func(ctx stepwell.Context, in map[string]string) (string, error) {
		return stepwell.Step(ctx, "work", func(ctx context.Context) (string, error) {
			select {
			case <-free:
			case <-ctx.Done():
			}
			return in["tenant"], nil
		})
	}, limits.Concurrency(1, limits.Path("tenant")))
	r := newRigOn(t, memory.New(), Options{}, slow)
	var ids []string
	for range 3 {
		ids = append(ids, r.want(201, "POST", "/v1/workflows/slow/runs", `{"input": {"tenant": "ann"}}`).get("id").(string))
	}
	r.until("two are in line", func() bool {
		a := r.want(200, "GET", "/v1/limits/slow", "")
		return a.get("keys.0.key") == "ann" && a.get("keys.0.used") == 1.0 && a.get("keys.0.waiting") == 2.0
	})
	if a := r.want(200, "GET", "/v1/runs/"+ids[2]+"/why", ""); a.get("kind") != "limit" || a.get("line.before") != 1.0 || a.get("line.key") != "ann" {
		t.Errorf("why: got %s, want its place in line", a.body)
	}
	if a := r.want(200, "GET", "/v1/limits", ""); a.get("limits.0.name") != "slow" || a.get("limits.0.number") != 1.0 {
		t.Errorf("limits: got %s", a.body)
	}
	r.want(400, "POST", "/v1/workflows/slow/runs", `{"input": {"other": "ann"}}`)
	r.want(404, "GET", "/v1/limits/nobody", "")
	r.want(404, "PUT", "/v1/limits/nobody", `{"number": 1}`)
	r.want(400, "PUT", "/v1/limits/slow", `{"number": -1}`)
	r.want(400, "PUT", "/v1/limits/slow", `{"many": 1}`)
	r.want(400, "GET", "/v1/limits/slow?cursor=~", "")
	if a := r.want(200, "PUT", "/v1/limits/slow", `{"number": 3}`); a.get("number") != 3.0 || a.get("said") != 1.0 || a.get("set") != 3.0 {
		t.Errorf("set: got %s", a.body)
	}
	r.until("all are at work", func() bool { return r.want(200, "GET", "/v1/limits/slow?limit=1", "").get("keys.0.used") == 3.0 })
	if a := r.want(200, "PUT", "/v1/limits/slow", `{"number": null}`); a.get("number") != 1.0 || a.get("set") != nil {
		t.Errorf("taken back: got %s", a.body)
	}
	close(free)
	for _, id := range ids {
		r.until("run "+id+" ends", func() bool { return r.want(200, "GET", "/v1/runs/"+id, "").get("status") == "completed" })
	}
}
