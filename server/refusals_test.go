package server

// What is refused for reasons of security is logged, once each; so is what operators do.

import (
	"strings"
	"testing"
)

// TestRefusalsAreLogged: one line for each, with where it came from and what to do, and without what was sent; of many of a kind ten.
func TestRefusalsAreLogged(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", Options{Keys: testKeys(t), MaxBody: 4096})
	viewer, operator := []string{"Authorization", bearer(viewerSecret)}, []string{"Authorization", bearer(operatorSecret)}
	const guessed = "guessed-secret-0123456789"
	lines := func(why string) (n int) {
		for line := range strings.Lines(r.log.String()) {
			if strings.Contains(line, `level=WARN msg="request refused"`) && (why == "" || strings.HasSuffix(line, "why="+why+"\n") || strings.HasSuffix(line, `why="`+why+"\"\n")) {
				n++
			}
		}
		return n
	}
	for _, c := range []struct {
		why    string
		status int
		code   string
		ask    []string // method, path, body, headers
	}{
		{"no key", 401, "UNAUTHENTICATED", []string{"GET", "/v1/workflows", ""}},
		{"wrong key", 401, "UNAUTHENTICATED", []string{"GET", "/v1/workflows", "", "Authorization", bearer(guessed)}},
		{"forbidden", 403, "FORBIDDEN", append([]string{"POST", orders, `{}`}, viewer...)},
		{"cross-origin", 403, "CROSS_ORIGIN", append([]string{"POST", orders, `{}`, "Origin", "https://evil.example"}, operator...)},
		{"oversized", 413, "TOO_LARGE", append([]string{"POST", orders, `{"input": "` + strings.Repeat("x", 5000) + `"}`}, operator...)},
		{"unknown token", 404, "NOT_FOUND", []string{"POST", "/v1/hooks/" + guessed, `{}`}},
	} {
		before := lines("")
		r.refused(c.status, c.code, c.ask[0], c.ask[1], c.ask[2], c.ask[3:]...)
		if n, all := lines(c.why), lines(""); n != 1 || all != before+1 {
			t.Errorf("%s: %d lines, and %d of all kinds more, want one:\n%s", c.why, n, all-before, r.log)
		}
	}
	for range 50 {
		r.refused(401, "UNAUTHENTICATED", "GET", "/v1/workflows", "", "Authorization", bearer(guessed))
		r.refused(404, "NOT_FOUND", "POST", "/v1/hooks/"+guessed, `{}`)
	}
	for _, why := range []string{"wrong key", "unknown token"} {
		if n := lines(why); n != 10 {
			t.Errorf("%s: %d lines of 51, want 10", why, n)
		}
	}
	r.server.Drain()
	for _, want := range []string{"lines were left out", "left_out=41", "route=/v1/hooks/{token}", "from=127.0.0.1:", "who=vic", "hint="} {
		if !strings.Contains(r.log.String(), want) {
			t.Errorf("the log does not have %q:\n%s", want, r.log)
		}
	}
	if strings.Contains(r.log.String(), guessed) {
		t.Errorf("the log has what was guessed:\n%s", r.log)
	}
}

// TestStartsAndSignalsAreAudited: as all that is done over REST.
func TestStartsAndSignalsAreAudited(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", Options{Keys: testKeys(t)})
	operator := []string{"Authorization", bearer(operatorSecret)}
	r.want(201, "POST", orders, `{"id": "a1", "input": {"customer": "gus", "cents": 5}}`, operator...)
	r.want(202, "POST", orders+"/a1/signals/paid%2Fin%20full", `{}`, operator...)
	r.refused(404, "NOT_FOUND", "POST", orders+"/nobody/signals/paid", `{}`, operator...)
	r.until("the hook", func() bool {
		return r.send("GET", "/v1/hooks?run=a1", "", operator...).get("0.run") == "a1"
	})
	r.want(202, "POST", "/v1/hooks/courier%2Fgus", `"Bob"`)
	r.want(202, "POST", "/v1/hooks/courier%2Fgus", `"Bob"`, operator...)
	r.want(200, "POST", "/v1/bulk/pause", `{"filter": {"workflow": "order", "status": ["running"], "attributes": {"city": "Ulm"}}}`, "Authorization", bearer(adminSecret))
	r.want(200, "POST", "/v1/bulk/pause", `{"filter": {"key": "gus-1"}, "dryRun": true}`, "Authorization", bearer(adminSecret))
	log := r.log.String()
	for _, want := range []string{
		`what=bulk from=127.0.0.1:`, `act=pause filter="attr.city=...&status=running&workflow=order" runs_done=0 runs_refused=0`,
		`act=pause filter="key=..." dry_run=true runs_done=0 runs_refused=0`, "msg=audit who=olga what=startRun from=127.0.0.1:", "run_id=a1 workflow.name=order", "who=olga what=signalRun", `run_id=a1 act="paid/in full"`,
		"run_id=nobody act=paid workflow.name=order refused=NOT_FOUND", "who=anonymous what=sendHook", "who=olga what=sendHook",
	} {
		if !strings.Contains(log, want) {
			t.Errorf("the log does not have %q:\n%s", want, log)
		}
	}
	for line := range strings.Lines(log) {
		if strings.Contains(line, "what=sendHook") && !strings.Contains(line, "run_id=a1") {
			t.Errorf("the log does not say which run the hook is of: %s", line)
		}
	}
	if strings.Contains(log, "courier/gus") || strings.Contains(log, "Bob") {
		t.Errorf("the log has a token or a payload:\n%s", log)
	}
}
