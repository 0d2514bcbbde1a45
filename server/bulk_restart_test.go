package server

import "testing"

// TestBulkRestart: what failed begins anew, in its place, once however often that is asked for.
func TestBulkRestart(t *testing.T) {
	onRigs(t, func(t *testing.T, r *rig) {
		admin := as(adminSecret)
		r.want(201, "POST", orders, `{"id": "f1", "input": {"customer": "bob", "cents": 0}}`, admin...)
		r.until("it to fail", func() bool { return r.send("GET", orders+"/f1", "", admin...).get("status") == "failed" })
		dry := r.want(200, "POST", "/v1/bulk/restart", `{"filter": {"workflow": "order"}, "dryRun": true}`, admin...)
		r.is(dry, "count", 1.0)
		done := r.want(200, "POST", "/v1/bulk/restart", `{"filter": {"workflow": "order"}}`, admin...)
		r.is(done, "done", 1.0)
		r.is(done, "runs.0.result", "created")
		page := r.want(200, "GET", "/v1/runs?key=retry:f1", "", admin...)
		if id := page.get("runs.0.id"); id == nil || id == "f1" {
			t.Errorf("what is in its place: %s", page.body)
		}
		r.refused(403, "FORBIDDEN", "POST", "/v1/bulk/restart", `{"all": true}`, as(operatorSecret)...)
	})
}
