package server

// JSON that two readers would read in two ways is refused at each door, and says which member it is about.

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

func TestStrictBodies(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", Options{})
	r.want(201, "POST", orders, `{"id": "a1", "delay": "1h", "input": {}}`)
	before := r.events()
	const start = `{` + firstID + `, "run": "b1", "first": 1, "events": [{"type": "run_created", `
	for _, test := range []struct{ path, body, names string }{
		{orders, `{"id": "x", "id": "y"}`, "/id"},
		{orders, `{"id": "x", "i\u0064": "y"}`, "/id"}, // the same name, written otherwise
		{orders, `{"input": {"cents": 1, "cents": 2}}`, "/input/cents"},
		{orders, `{"attributes": {"a": 1, "b": [{"c": 1, "c": 2}]}}`, "/attributes/b/0/c"},
		{orders, `{"ID": "x"}`, "/ID"},
		{orders, `{"Input": {}}`, "/Input"},
		{orders, `{"idempotencykey": "k"}`, "/idempotencykey"},
		{orders, `{"input": "\ud800"}`, "surrogate"},
		{orders + "/a1/signals/e", `{"a": 1, "a": 1}`, "/a"},
		{orders + "/a1/pause", `{"Reason": "x"}`, "/Reason"},
		{orders + "/a1/resume", `{"x": {"y": 1}}`, "/x"},
		{orders + "/a1/fork", `{"At": 1}`, "/At"},
		{"/v1/bulk/cancel", `{"filter": {"Workflow": "order"}}`, "/filter/Workflow"},
		{"/v1/bulk/cancel", `{"all": false, "all": true}`, "/all"},
		{inWorld + "run", `{"run": "a1", "Run": "a2"}`, "/Run"},
		{inWorld + "commit", start + at + `, "birth": {"workflow": "w", "Version": 1}}]}`, "/events/0/birth/Version"},
		{inWorld + "commit", start + at + `, "birth": {"workflow": "w", "version": 1, "version": 2}}]}`, "/events/0/birth/version"},
		{inWorld + "commit", start + at + `, "payload": {"a": 1, "a": 2}, "birth": {"workflow": "w"}}]}`, "/events/0/payload/a"},
	} {
		a := r.refused(400, "INVALID", "POST", test.path, test.body)
		if detail, _ := a.get("detail").(string); !strings.Contains(detail, test.names) {
			t.Errorf("%s %s: the detail %q does not name %s", test.path, test.body, detail, test.names)
		}
	}
	if got := r.events(); got != before {
		t.Errorf("%d events and mail, want %d: nothing written", got, before)
	}
}

// TestStrictMessage: a message that is pushed may have members of a newer server, and none twice.
func TestStrictMessage(t *testing.T) {
	t.Parallel()
	r := newFlowRig(t, "memory", FlowOptions{Secrets: testSecrets})
	for _, body := range []string{`{"runId": "a", "runId": "` + r.run + `"}`, `{"x": {"y": 1}, "x": 2}`, `{"runId": "` + r.run + `"} {}`, `{"runId"`} {
		if got := r.post(body, nil); got.Code != 400 {
			t.Errorf("%s: got %d, want 400", body, got.Code)
		}
	}
	if got := r.post(`{"runId": "`+r.run+`", "newer": [{}, 1]}`, nil); got.Code != 200 {
		t.Errorf("a member of a newer server: got %d %s", got.Code, got.Body)
	}
}

// TestNoTypesOfGo: who sends JSON that does not fit is told what does in words of JSON, on each route; types of Go are not theirs.
func TestNoTypesOfGo(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", Options{})
	r.want(201, "POST", orders, `{"id": "a1", "delay": "1h", "input": {}}`)
	inGo := regexp.MustCompile(`\b(server|wire|world|stepwell|time|json)\.[A-Za-z]|\[\]|map\[|\*[a-z]|\b(u?int|float)(64|32)\b|\bGo\b`)
	tried := 0
	for _, rt := range routes() {
		if rt.op.body == "" || rt.raw || rt.method == "GET" {
			continue
		}
		path := pathParam.ReplaceAllString(openAPIPath(rt.path), "a1")
		for _, body := range []string{`[1]`, `"x"`, `7`, `true`} {
			a := r.send(rt.method, path, body)
			if a.status != 400 && a.status != 422 {
				continue // any JSON may be a payload
			}
			tried++
			if detail := fmt.Sprint(a.get("detail")); inGo.MatchString(detail) {
				t.Errorf("%s %s %s: the answer says %q: %s", rt.method, path, body, inGo.FindString(detail), detail)
			}
		}
	}
	for body, want := range map[string]string{
		`{"version": "x"}`: "want a whole number", `{"id": 7}`: "want a string", `{"attributes": []}`: "want an object", `[]`: "want an object",
		`{"delay": "soon"}`: `"/delay": a JSON string does not fit: duration "soon": write it like 90s`, `{"delay": 5}`: "want a string like", `{"input": {}, "timeout": [1]}`: `"/timeout"`,
	} {
		detail := fmt.Sprint(r.refused(400, "INVALID", "POST", orders, body).get("detail"))
		if !strings.Contains(detail, want) || inGo.MatchString(detail) {
			t.Errorf("%s: %v, want %q, and no Go", body, detail, want)
		}
	}
	for body, want := range map[string]string{`{"input": 5}`: "the whole: expected an object, got 5", `{"input": {"cents": "x"}}`: "/cents: expected a whole number, got the text"} {
		detail := fmt.Sprint(r.refused(422, "UNFIT", "POST", orders, body).get("detail"))
		if !strings.Contains(detail, want) || inGo.MatchString(detail) {
			t.Errorf("%s: %v, want %q, and no Go", body, detail, want)
		}
	}
	if tried < 40 {
		t.Errorf("%d requests were refused: that is no proof", tried)
	}
}
