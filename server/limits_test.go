package server

// Limits over HTTP: what is listed, shown and changed, what a start by name computes, and what is refused.

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
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
	}, stepwell.Limit{AtOnce: 1, By: "tenant"})
	r := newRigOn(t, memory.New(), Options{}, slow)
	var ids []string
	for range 3 {
		ids = append(ids, r.want(201, "POST", "/v1/workflows/slow/runs", `{"input": {"tenant": "ann"}}`).get("id").(string))
	}
	r.until("two are in line", func() bool {
		a := r.want(200, "GET", "/v1/limits/slow", "")
		return a.get("keys.0.key") == "ann" && a.get("keys.0.used") == 1.0 && a.get("keys.0.waiting") == 2.0
	})
	if a := r.want(200, "GET", "/v1/limits/slow/holders?key=ann", ""); a.get("holders.0.run") != ids[0] || a.get("holders.0.name") != "slow" || a.get("holders.1") != nil {
		t.Errorf("holders: got %s, want the first run alone", a.body)
	}
	if a := r.want(200, "GET", "/v1/limits/slow/holders", ""); a.get("holders.0") != nil {
		t.Errorf("holders without a key: got %s, want none", a.body)
	}
	r.want(404, "GET", "/v1/limits/nobody/holders", "")
	r.want(400, "GET", "/v1/limits/slow/holders?of=ann", "")
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
	r.want(400, "PUT", "/v1/limits/slow", `{}`) // null ends what an operator has set; nothing does not
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

// TestRates: a rate is listed and shown; a start that it refuses says when to come again.
func TestRates(t *testing.T) {
	t.Parallel()
	greet := func(_ stepwell.Context, in map[string]string) (string, error) { return in["tenant"], nil }
	waits := stepwell.Define("waits", greet, stepwell.Limit{Rate: 1, Per: time.Hour, By: "tenant"})
	refuses := stepwell.Define("refuses", greet, stepwell.Limit{Rate: 2, Per: time.Hour, Burst: 1, Refuse: true, By: "tenant"})
	r := newRigOn(t, memory.New(), Options{}, waits, refuses)
	var ids []string
	for range 3 {
		ids = append(ids, r.want(201, "POST", "/v1/workflows/waits/runs", `{"input": {"tenant": "ann"}}`).get("id").(string))
	}
	r.until("two are in line", func() bool {
		a := r.want(200, "GET", "/v1/limits/waits", "")
		return a.get("per") == "1h" && a.get("keys.0.waiting") == 2.0 && a.get("keys.0.next") != nil
	})
	if a := r.want(200, "GET", "/v1/runs/"+ids[2]+"/why", ""); a.get("kind") != "limit" || a.get("line.before") != 1.0 || a.get("line.per") != "1h" || a.get("line.at") == nil {
		t.Errorf("why: got %s, want its turn", a.body)
	}
	r.want(201, "POST", "/v1/workflows/refuses/runs", `{"input": {"tenant": "ann"}}`)
	a := r.want(429, "POST", "/v1/workflows/refuses/runs", `{"input": {"tenant": "ann"}}`)
	if after, err := strconv.Atoi(a.header.Get("Retry-After")); err != nil || after < 1700 || after > 1800 || a.get("code") != "RATE_LIMITED" || a.get("limit") != "refuses" {
		t.Errorf("a start beyond the rate: got %s, Retry-After %s; want that it may come in half an hour", a.body, a.header.Get("Retry-After"))
	}
	r.want(201, "POST", "/v1/workflows/refuses/runs", `{"input": {"tenant": "bob"}}`)
}
