package server

// Workflows that are held, over REST.

import (
	"testing"
)

// TestHold: a workflow is held and released, its starts are accepted meanwhile, and all who look see it.
func TestHold(t *testing.T) {
	t.Parallel()
	for kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, kind, Options{})
			held := r.want(200, "POST", "/v1/workflows/order/hold", `{"note": "the bank is down"}`)
			r.is(held, "0.workflow", "order")
			r.is(held, "0.note", "the bank is down")
			r.want(201, "POST", orders, `{"id": "o-1", "input": {"customer": "ada", "cents": 0}}`)
			why := r.want(200, "GET", orders+"/o-1/why", "")
			r.is(why, "kind", "held")
			r.is(why, "reason", "the bank is down")
			r.is(r.want(200, "GET", "/v1/workflows", ""), "0.held.note", "the bank is down")
			r.want(200, "POST", "/v1/workflows/nobody/hold", "")
			r.is(r.want(200, "GET", "/v1/holds", ""), "0.workflow", "nobody")
			r.is(r.want(200, "GET", orders+"/o-1", ""), "status", "pending")
			r.want(200, "POST", "/v1/workflows/order/release", "")
			r.until("it begins", func() bool { return r.want(200, "GET", orders+"/o-1", "").get("status") != "pending" })
			r.want(200, "POST", "/v1/workflows/nobody/release", "{}")
			r.is(r.want(200, "GET", "/v1/holds", ""), "0", nil)
			r.refused(400, "INVALID", "POST", "/v1/workflows/a%00b/hold", "")
			r.refused(400, "INVALID", "POST", "/v1/workflows/order/hold", `{"note": 7}`)
		})
	}
}
