package server

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stepwell/stepwell/world"
)

// TestReasonsHaveOneBound: what a person says of an act is taken up to one length at each door, and refused beyond it.
func TestReasonsHaveOneBound(t *testing.T) {
	onRigs(t, func(t *testing.T, r *rig) {
		if err := r.world.Messages().DeclareQueue(t.Context(), world.MessageQueue{Name: "q"}); err != nil {
			t.Fatal(err)
		}
		op, admin := as(operatorSecret), as(adminSecret)
		r.want(201, "POST", orders, `{"id": "o-1", "delay": "1h", "input": {}}`, op...)
		r.want(200, "PUT", "/v1/schedules/s", `{"workflow": "order", "times": ["@daily"]}`, op...)
		r.want(200, "PUT", "/v1/subscriptions/sub", `{"pattern": "a", "workflow": {"name": "order"}}`, op...)
		for _, door := range []struct{ path, body string }{
			{"/v1/queues/q/pause", `{"reason": %q}`},
			{"/v1/schedules/s/pause", `{"reason": %q}`},
			{"/v1/subscriptions/sub/pause", `{"reason": %q}`},
			{orders + "/o-1/pause", `{"reason": %q}`},
			{"/v1/workflows/order/hold", `{"note": %q}`},
			{inWorld + "messages", `{"pause": {"queue": "q", "pause": {"reason": %q}}}`},
			{inWorld + "schedule", `{"put": {"name": "t", "says": {"workflow": "order", "times": ["@daily"]}, "paused": {"reason": %q}}}`},
			{inWorld + "hold", `{"workflow": "w", "hold": true, "note": %q}`},
			{inWorld + "deliver", `{"run": "o-1", "act": true, "events": [{"type": "run_paused", ` + at + `, "reason": %q}]}`},
			{inWorld + "deliver", `{"run": "o-1", "events": [{"type": "cancel_requested", ` + at + `, "reason": %q}]}`},
		} {
			const method = "POST"
			for _, headers := range [][]string{op, admin} {
				r.refused(400, "INVALID", method, door.path, fmt.Sprintf(door.body, strings.Repeat("x", world.MaxReason+1)), headers...)
			}
			if a := r.send(method, door.path, fmt.Sprintf(door.body, strings.Repeat("x", world.MaxReason)), op...); a.status >= 300 {
				t.Errorf("%s: a reason of %d bytes: got %d %s", door.path, world.MaxReason, a.status, a.body)
			}
		}
	})
}
