package server

// References to values that are kept apart: nobody makes one, over REST or the wire, to what is another run's.

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/world"
)

// TestNobodyForgesAReference: a payload that looks like a reference to another run's value is that payload, whatever
// door it came through; one that is said to be one is refused, also of a limited key that works on runs of its own.
func TestNobodyForgesAReference(t *testing.T) {
	t.Parallel()
	for _, kind := range sample.OneKey(t, kinds) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := wireRig(t, kind)
			op, lim := as(operatorSecret), as(limitedSecret)
			secret := `"` + strings.Repeat("secret", 300_000) + `"`
			r.want(201, "POST", "/v1/workflows/bank/runs", `{"id": "theirs", "version": 1, "input": `+secret+`}`, op...)
			theirs, err := r.world.Run(t.Context(), "theirs")
			if err != nil || theirs.InputApart == "" {
				t.Fatalf("%+v, %v", theirs, err)
			}
			ref, id := string(theirs.Input), theirs.InputApart
			plain := func(run string) {
				r.Helper()
				row, err := r.world.Run(t.Context(), run)
				if err != nil || row.InputApart != "" || string(row.Input) != ref {
					t.Errorf("run %s: %+v, %v; want the JSON that was sent", run, row, err)
				}
				r.refused(404, "NOT_FOUND", "GET", "/v1/runs/"+run+"/values/"+id, "", op...)
				r.refused(404, "NOT_FOUND", "POST", inWorld+"piece", `{"run": "`+run+`", "value": "`+id+`", "number": 0}`, op...)
			}
			r.want(201, "POST", "/v1/workflows/mail/runs", `{"id": "rest", "version": 1, "delay": "1h", "input": `+ref+`}`, op...)
			plain("rest")
			now := world.Now().Format(time.RFC3339)
			named := func(body string) string {
				return strings.Replace(body, `"payload":`, `"apart": "`+id+`", "payload":`, 1)
			}
			r.call("commit", birthOf("wire", "mail", now, ref, ""), op...)
			plain("wire")
			r.want(202, "POST", "/v1/runs/rest/signals/a", ref, op...)

			r.refused(400, "INVALID", "POST", inWorld+"commit", named(birthOf("f1", "mail", now, ref, "")), op...)
			r.refused(403, "FORBIDDEN", "POST", inWorld+"commit", named(birthOf("f2", "mail", now, ref, `, "origin": {"run": "theirs", "seq": 1}`)), lim...)
			r.refused(404, "NOT_FOUND", "POST", inWorld+"commit", named(birthOf("f3", "mail", now, ref, `, "origin": {"run": "nobody", "seq": 1}`)), lim...)
			r.call("deliver", `{"run": "rest", "events": [{"type": "signal_received", `+at+`, "name": "a", "apart": "`+id+`", "payload": `+ref+`}]}`, op...) // a signal says no more than its name and payload

			r.call("join", `{"id": "wrkr_l", "name": "l", "classes": [{"workflow": "mail", "version": 1}], "steps": ["send it"], "lease": 60000000000}`, lim...)
			claimed := r.call("claim", `{"worker": "wrkr_l", "classes": [{"workflow": "mail", "version": 1}], "runs": 10, "n": 2}`, lim...)
			r.is(claimed, "runs.0.run", "wire")
			commit := func(run, events string) string {
				return fmt.Sprintf(`{"id": "%032x", "run": %q, "worker": "wrkr_l", "take": 1, "first": 2, "events": [{"type": "run_started", `+at+`}, %s]}`, []byte(run + events + "0123456789abcdef")[:16], run, events)
			}
			step := `{"type": "step_created", ` + at + `, "id": "step_1", "kind": "closure", "name": "a"}`
			r.refused(400, "INVALID", "POST", inWorld+"commit", commit("wire", step+`, {"type": "step_completed", `+at+`, "id": "step_1", "apart": "`+id+`", "payload": `+ref+`}`), lim...)
			r.refused(400, "INVALID", "POST", inWorld+"commit", commit("wire", `{"type": "run_completed", `+at+`, "apart": "`+id+`", "payload": `+ref+`}`), lim...)
			r.refused(403, "FORBIDDEN", "POST", inWorld+"piece", `{"run": "theirs", "value": "`+id+`", "number": 0}`, lim...)
			r.refused(403, "FORBIDDEN", "POST", inWorld+"keepPiece", `{"run": "theirs", "value": "`+id+`", "number": 9, "data": "AAA="}`, lim...)
			r.refused(404, "NOT_FOUND", "POST", inWorld+"keepPiece", `{"run": "wire", "value": "`+id+`", "number": 0, "data": "AAA="}`, lim...)
			r.call("commit", commit("wire", `{"type": "run_completed", `+at+`, "payload": `+ref+`}`), lim...)
			if row, err := r.world.Run(t.Context(), "wire"); err != nil || row.OutputApart != "" || string(row.Output) != ref {
				t.Errorf("the output is %+v, %v; want the JSON that the worker wrote", row, err)
			}
		})
	}
}
