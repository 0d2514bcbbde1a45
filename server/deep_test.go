package server

import (
	"strings"
	"testing"
)

// TestDeepPayload: what Go's reader of JSON could not read again inside of an answer comes through no door: it would stop those who ask.
func TestDeepPayload(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", Options{})
	r.want(201, "POST", "/v1/workflows/mail/runs", `{"id": "m1", "version": 1}`)
	r.want(201, "POST", orders, `{"id": "o1", "input": {"customer": "ada", "cents": 5}}`)
	hook := "/v1/hooks/courier%2Fada"
	r.until("the hook", func() bool { return r.send("GET", hook, "").status == 200 })
	for _, levels := range []int{1001, 9_999} {
		deep := strings.Repeat("[", levels) + strings.Repeat("]", levels)
		r.refused(400, "INVALID", "POST", "/v1/workflows/mail/runs", `{"id": "m2", "version": 1, "input": `+deep+`}`)
		r.refused(400, "INVALID", "POST", "/v1/workflows/mail/runs/m1/signals/go", deep)
		r.refused(400, "INVALID", "POST", hook, deep)
	}
}
