package server

// The protocol of remote workers as others speak it: JSON by hand. docs/protocol.md shows the same.

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/world/remote/wire"
)

const (
	inWorld = "/v1/world/"
	firstID = `"id": "00112233445566778899aabbccddeeff"`
	otherID = `"id": "00112233445566778899aabbccddee00"`
)

// at is the time of all events.
var at = `"time": "` + time.Now().UTC().Format(time.RFC3339) + `"`

// call makes a call that is answered.
func (r *rig) call(name, body string, headers ...string) *reply {
	r.Helper()
	return r.answer(r.want(200, "POST", inWorld+name, body, headers...))
}

// answer is what stands in the answer of the wire.
func (r *rig) answer(a *reply) *reply {
	r.Helper()
	var in struct {
		Answer json.RawMessage `json:"answer"`
	}
	if err := json.Unmarshal(a.body, &in); err != nil || in.Answer == nil {
		r.Fatalf("got %.500s, want an answer", a.body)
	}
	a.body = in.Answer
	return a
}

// is ends the test unless an answer has a value at a path.
func (r *rig) is(a *reply, path string, want any) {
	r.Helper()
	if got := a.get(path); got != want {
		r.Fatalf("%s: got %v, want %v, in %.500s", path, got, want, a.body)
	}
}

// TestProtocol: a worker of another language joins, claims a run, appends to it, runs a step and ends it.
func TestProtocol(t *testing.T) {
	t.Parallel()
	for _, kind := range sample.OneKey(t, kinds) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, kind, Options{})
			hello := r.answer(r.want(200, "GET", "/v1/world", ""))
			r.is(hello, "protocol", 1.0)
			r.is(hello, "scope", "admin")
			server := hello.get("server").(string)

			r.want(201, "POST", "/v1/workflows/mail/runs", `{"id": "m1", "version": 1, "input": {"to":"ann"}}`)
			heartbeat := r.call("join", `{"id": "wrkr_py1", "name": "mailer", "classes": [{"workflow": "mail", "version": 1}], "steps": ["smtp"], "lease": 60000000000}`)
			r.is(heartbeat, "server", server)
			claim := `{"worker": "wrkr_py1", "classes": [{"workflow": "mail", "version": 1}], "runs": 1, "steps": ["smtp"], "tasks": 1, "waitMs": 20000, "n": `
			claimed := r.call("claim", claim+`1}`)
			r.is(claimed, "runs.0.run", "m1")
			r.is(claimed, "runs.0.take", 1.0)
			again := r.call("claim", claim+`1, "again": true, "server": "`+server+`"}`)
			if string(again.body) != string(claimed.body) {
				t.Errorf("the claim again: got %s, want the same as before, %s", again.body, claimed.body)
			}
			r.is(r.call("events", `{"run": "m1"}`), "events.0.payload.to", "ann")

			commit := `{` + firstID + `, "run": "m1", "worker": "wrkr_py1", "take": 1, "build": "py", "first": 2, "events": [
				{"type": "run_started", ` + at + `},
				{"type": "step_created", ` + at + `, "id": "step_1", "kind": "task", "name": "smtp", "queued": true, "payload": {"$base64": "eyAidG8iIDogMSB9"}}],
				"tasks": [{"step": "step_1", "name": "smtp", "workflow": "mail", "input": {"to":1}, "priority": 1}]`
			r.refused(404, "NOT_FOUND", "POST", inWorld+"outcome", commit+`}`)
			r.call("commit", commit+`}`)
			r.call("outcome", commit+`}`)
			r.call("commit", commit+`}`) // a copy of it: one is written, both are answered
			r.call("commit", commit+`, "again": true}`)
			r.refused(409, "LEASE_LOST", "POST", inWorld+"commit", strings.Replace(commit, firstID, otherID, 1)+`}`)
			r.is(r.call("events", `{"run": "m1", "types": ["step_created"]}`), "events.1", nil)
			r.is(r.call("events", `{"run": "m1", "types": ["step_created"]}`), "events.0.payload.$base64", "eyAidG8iIDogMSB9")

			r.is(r.call("ready", `{"steps": ["smtp"]}`), "items.0.step", "step_1")
			claimed = r.call("claim", claim+`2}`)
			r.is(claimed, "tasks.0.step", "step_1")
			r.is(r.call("tasks", `{"run": "m1"}`), "0.worker", "wrkr_py1")
			all := r.call("held", `{"worker": "wrkr_py1", "n": 3}`)
			r.is(all, "runs.0.run", "m1")
			r.is(all, "runs.0.take", 1.0)
			r.is(all, "tasks.0.attempt", 1.0)
			r.refused(409, "CONFLICT", "POST", inWorld+"claim", claim+`2}`)
			held := `{"run": "m1", "step": "step_1", "attempt": 1}`
			r.call("append", `{"run": "m1", "worker": "wrkr_py1", "task": `+held+`, "stream": "log", "step": "step_1", "attempt": 1, "chunks": ["sending", {"n": 1}]}`)
			r.is(r.call("chunks", `{"run": "m1", "stream": "log", "from": 1}`), "chunks.0.value.n", 1.0)
			r.is(r.call("streams", `{"run": "m1"}`), "0.next", 2.0)
			r.is(r.call("deliver", `{"worker": "wrkr_py1", "task": `+held+`, "events": [
				{"type": "step_started", "id": "step_1", "attempt": 1, `+at+`}, {"type": "step_completed", "id": "step_1", "attempt": 1, `+at+`, "payload": "sent"}]}`), "owner", "wrkr_py1")
			heartbeat = r.call("heartbeat", `{"worker": "wrkr_py1", "tasks": [`+held+`]}`)
			r.is(heartbeat, "ended.0.step", "step_1")
			r.is(heartbeat, "mail.0.events.1.payload", "sent")

			const value = "valu_01JD3V7Q61QK1ZXW0D8F4T6S2B"
			piece := `{"run": "m1", "value": "` + value + `", "number": 0`
			r.call("keepPiece", piece+`, "data": "ACJzZW50Ig=="}`) // 0 and "sent"
			r.call("keepPiece", piece+`, "data": "ACJzZW50Ig=="}`)
			r.is(r.call("piece", piece+`}`), "", "ACJzZW50Ig==")
			r.refused(404, "NOT_FOUND", "POST", inWorld+"piece", strings.Replace(piece, `"number": 0`, `"number": 1`, 1)+`}`)
			r.refused(404, "NOT_FOUND", "POST", inWorld+"piece", strings.Replace(piece, `"m1"`, `"m2"`, 1)+`}`)
			r.is(r.call("valueKeys", `{}`), "0.runs", 1.0)
			r.call("dropValue", `{"run": "m1", "value": "`+value+`"}`) // no event names it
			r.refused(404, "NOT_FOUND", "POST", inWorld+"piece", piece+`}`)
			r.refused(400, "INVALID", "POST", inWorld+"dropValue", `{"run": "m1", "value": "x"}`)
			r.refused(400, "INVALID", "POST", inWorld+"keepPiece", strings.Replace(piece, value, "x", 1)+`, "data": "AA=="}`)

			r.refused(413, "TOO_LARGE", "POST", inWorld+"heartbeat", `{"worker": "`+strings.Repeat("x", wire.MaxBody)+`"}`)
			r.call("commit", `{`+otherID+`, "run": "m1", "worker": "wrkr_py1", "take": 1, "first": 4, "mail": [`+fmt.Sprint(heartbeat.get("mail.0.row"))+`], "events": [
				{"type": "step_started", "id": "step_1", "attempt": 1, `+at+`}, {"type": "step_completed", "id": "step_1", "attempt": 1, `+at+`, "payload": "sent"},
				{"type": "run_completed", `+at+`, "payload": {"mails": 1}}]}`)
			r.is(r.call("run", `{"run": "m1"}`), "output.mails", 1.0)
			r.is(r.call("runs", `{"workflow": "mail", "status": ["completed"]}`), "runs.0.id", "m1")
			r.call("hooks", `{"run": "m1"}`)
			r.is(r.call("bindKey", `{"id": "k1", "print": "AQID"}`), "print", "AQID")
			r.is(r.call("bindKey", `{"id": "k1", "print": "BAUG"}`), "print", "AQID")
			r.call("define", `{"definitions": [{"workflow": "mail", "version": 2, "retention": 3600000000000}]}`)
			r.is(r.call("defined", `{"workflows": ["mail"]}`), "definitions.0.version", 2.0)
			r.call("schemas", `{"workflow": "mail", "version": 2}`)
			r.is(r.call("limitRetention", `{"retention": 7200000000000}`), "now", 7200000000000.0)
			r.call("keepMetrics", `{"process": "prcs_1", "revision": 1, "says": [{"metric": "workflow_signals_total", "workflow": "mail", "name": "sum", "count": 2}]}`)
			r.is(r.call("metrics", `{}`), "0.says.0.count", 2.0)
			r.call("declareQueue", `{"name": "mails", "visibility": 60000000000}`)
			id := r.call("sendMessages", `{"messages": [{"queue": "mails", "payload": {"to": "ann"}}]}`).get("0.id")
			r.is(r.call("peekMessages", `{"queue": "mails", "limit": 10}`), "messages.0.id", id.(string))
			got := r.call("receiveMessages", `{"queue": "mails", "limit": 1}`)
			r.is(got, "messages.0.payload.to", "ann")
			r.is(r.call("settleMessages", `{"settlements": [{"receipt": "`+got.get("messages.0.receipt").(string)+`", "kind": "bury", "error": "no"}]}`), "0", true)
			r.is(r.call("queues", `{"names": ["mails"]}`), "0.counts.dead", 1.0)
			r.is(r.call("redriveMessages", `{"queue": "mails"}`), "messages", 1.0)
			r.call("pauseQueue", `{"queue": "mails", "pause": {"reason": "tea"}}`)
			r.call("pauseQueue", `{"queue": "mails"}`)
			r.refused(409, "CONFLICT", "POST", inWorld+"dropQueue", `{"queue": "mails"}`)
			r.is(r.call("purgeMessages", `{"queue": "mails"}`), "messages", 1.0)
			r.call("dropQueue", `{"queue": "mails"}`)
			r.refused(404, "NOT_FOUND", "POST", inWorld+"receiveMessages", `{"queue": "mails", "limit": 1}`)
			r.refused(400, "INVALID", "POST", inWorld+"sendMessages", `{}`)
			due := r.call("due", `{"limit": 1}`)
			subscribed := fmt.Sprintf(`{"revision": %v, "subscribe": {"name": "s", "pattern": "#", "endpoint": {"url": "https://example.com", "secrets": ["%s"]}}}`, cmp.Or(due.get("revision"), any(0.0)), standard)
			r.is(r.call("spread", subscribed), "", true)
			a := r.call("subscriptions", `{"names": ["s"]}`)
			if r.is(a, "0.endpoint.url", "https://example.com"); strings.Contains(string(a.body), "whsec") {
				t.Errorf("a secret goes out: %s", a.body)
			}
			id = r.call("publish", `{"publications": [{"topic": "a.b", "payload": 7, "delay": 3600000000000}]}`).get("0.id")
			r.is(r.call("publications", `{"topic": "a.*"}`), "publications.0.id", id.(string))
			r.refused(400, "INVALID", "POST", inWorld+"publish", `{}`)
			r.refused(400, "INVALID", "POST", inWorld+"spread", `{"revision": 1, "subscribe": {"name": "inner", "pattern": "a", "endpoint": {"url": "http://127.0.0.1:9/in"}}}`)
			r.refused(400, "INVALID", "POST", inWorld+"spread", `{"revision": 1, "mail": [null]}`)
			r.call("shapes", `{}`)
			r.call("listeners", `{"limit": 1}`)
			r.is(r.call("putSchedule", `{"name": "nightly", "says": {"workflow": "mail", "times": ["0 3 * * *"], "input": {"to": "ann"}}}`), "", true)
			stands := r.call("schedules", `{"names": ["nightly"]}`)
			r.is(stands, "0.says.workflow", "mail")
			r.is(r.call("putSchedule", fmt.Sprintf(`{"name": "nightly", "change": %.0f, "says": {"workflow": "mail", "times": ["0 4 * * *"]}}`, stands.get("0.change"))), "", true)
			r.is(r.call("dueSchedules", `{"limit": 1}`), "schedules.0", nil)
			r.refused(400, "INVALID", "POST", inWorld+"putSchedule", `{"name": "never", "says": {"workflow": "mail", "times": ["0 0 30 2 *"]}}`)
			r.call("deleteSchedule", `{"name": "nightly"}`)
			r.call("hold", `{"workflow": "bill", "note": "the bank is down"}`)
			r.is(r.call("holds", `{}`), "0.note", "the bank is down")
			r.call("release", `{"workflow": "bill"}`)
			r.is(r.call("holds", `{}`), "0", nil)
			r.refused(400, "INVALID", "POST", inWorld+"hold", `{"workflow": "a b"}`)
			r.refused(404, "NOT_FOUND", "POST", inWorld+"setLimit", `{"limit": "bank", "number": 1}`)
			r.is(r.call("listLimits", `{}`), "0", nil)
			placed := `{"first": 1, "events": [{"type": "run_created", ` + at + `, "payload": 1, "birth": {"workflow": "pay", "version": 1, "seed": 7, "priority": 1,
				"places": [{"limit": "bank", "key": "ann", "number": 1}]}}]`
			for _, run := range []string{"p1", "p2"} {
				r.call("commit", placed+`, "id": "`+strings.Repeat(strings.Replace(run, "p", "a", 1), 16)+`", "run": "`+run+`"}`)
			}
			r.call("setLimit", `{"limit": "bank", "number": 1}`)
			r.is(r.call("listLimits", `{}`), "0.set", 1.0)
			r.is(r.call("listLimitKeys", `{"limit": "bank", "most": 10}`), "0.waiting", 1.0)
			r.is(r.call("listHolders", `{"limit": "bank", "key": "ann", "most": 10}`), "0.run", "p1")
			r.is(r.call("inLine", `{"run": "p2"}`), "inLine.before", 0.0)
			r.refused(400, "INVALID", "POST", inWorld+"setLimit", `{"limit": "bank", "number": -1}`)
			r.is(r.call("stats", `{}`), "workflows.0.completed", 1.0)
			r.is(r.call("sweep", `{"limit": 10}`), "", 0.0)
			if kind == "sqlite" {
				r.is(r.call("examine", `{}`), "0.health", "good")
			} else {
				r.refused(404, "NOT_FOUND", "POST", inWorld+"examine", `{}`)
			}
			r.call("leave", `{"worker": "wrkr_py1"}`)
			r.refused(409, "LEASE_LOST", "POST", inWorld+"heartbeat", `{"worker": "wrkr_py1"}`)

			r.server.Drain() // or the notices have no end
			a = r.want(200, "GET", "/v1/world/notices", "")
			if want := "event: open\ndata: {\"beatMs\":15000}\n\n"; string(a.body) != want {
				t.Errorf("notices begin with %q, want %q", a.body, want)
			}
			if missing := r.notVisited(true, "worldExamine"); len(missing) > 0 {
				t.Errorf("these routes were not walked: %v", missing)
			}
		})
	}
}

// TestProtocolScopes: what an operator may not do: write logs, answer for workers, end by force.
func TestProtocolScopes(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", Options{Keys: testKeys(t)})
	operator, worker, viewer := []string{"Authorization", bearer(operatorSecret)}, []string{"Authorization", bearer(workerSecret)}, []string{"Authorization", bearer(viewerSecret)}
	birth := `{` + firstID + `, "run": "b1", "first": 1, "events": [{"type": "run_created", ` + at + `, "payload": 1, "birth": {"workflow": "nobody", "version": 1, "seed": 7, "priority": 1`
	r.call("commit", birth+`}}]}`, operator...)
	for what, body := range map[string]string{
		"a child's birth": birth + `, "parent": {"run": "x", "step": "y"}}}]}`,
		"a fork":          birth + `, "origin": {"run": "x", "seq": 1}}}]}`,
		"a long birth":    birth + `}}, {"type": "run_started", ` + at + `}]}`,
		"mail beside":     birth + `}}], "send": [{"run": "b1", "events": [{"type": "step_completed", ` + at + `, "id": "step_1"}]}]}`,
		"a turn":          `{` + otherID + `, "run": "b1", "worker": "w", "take": 1, "first": 2, "events": [{"type": "run_started", ` + at + `}]}`,
	} {
		for _, path := range []string{"commit", "outcome"} {
			if a := r.refused(403, "FORBIDDEN", "POST", inWorld+path, body, operator...); !strings.Contains(a.get("detail").(string), "needs worker") {
				t.Errorf("%s: got %s, want that it needs worker", what, a.body)
			}
		}
	}
	send := func(event string) string { return `{"run": "b1", "events": [{` + at + `, ` + event + `}]` }
	r.call("deliver", send(`"type": "signal_received", "name": "a", "payload": 1`)+`}`, operator...)
	r.call("deliver", send(`"type": "run_paused", "by": "the boss"`)+`, "act": true}`, operator...)
	r.is(r.call("events", `{"run": "b1", "types": ["run_paused"]}`, viewer...), "events.0.by", "olga")
	for what, body := range map[string]string{
		"a step's end":    send(`"type": "step_completed", "id": "step_1"`) + `}`,
		"a wait's end":    send(`"type": "wait_completed", "id": "wait_1", "outcome": "due"`) + `}`,
		"a task's end":    `{"worker": "w", "task": {"run": "b1", "step": "step_1", "attempt": 1}, "events": [{"type": "step_completed", ` + at + `, "id": "step_1"}]}`,
		"a forced cancel": send(`"type": "run_cancelled"`) + `, "act": true}`,
	} {
		if a := r.refused(403, "FORBIDDEN", "POST", inWorld+"deliver", body, operator...); a.get("detail") == "" {
			t.Errorf("%s: got no detail", what)
		}
	}
	r.refused(403, "FORBIDDEN", "POST", inWorld+"deliver", send(`"type": "run_cancelled"`)+`, "act": true}`, worker...)
	r.refused(403, "FORBIDDEN", "POST", inWorld+"claim", `{"worker": "w"}`, operator...)
	r.refused(403, "FORBIDDEN", "POST", inWorld+"hooks", `{}`, viewer...)
	r.is(r.answer(r.want(200, "GET", "/v1/world", "", worker...)), "scope", "worker")
	if n := r.events(); n != 3 {
		t.Errorf("got %d events and mail, want the birth, the pause and the signal", n)
	}
}
