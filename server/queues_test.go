package server

// Queues over HTTP: a walk through all of it, what is refused, who may, and a consumer that is killed.

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell/api"
	"github.com/stepwell/stepwell/world"
)

// receives receives, and returns the receipts; texts are the payloads that must come, in order.
func (r *rig) receives(body string, texts ...string) (receipts []string) {
	r.Helper()
	a := r.want(200, "POST", "/v1/queues/mails/receive", body)
	var got api.ReceivedMessages
	if err := json.Unmarshal(a.body, &got); err != nil || len(got.Messages) != len(texts) {
		r.Fatalf("received %s, %v; want %q", a.body, err, texts)
	}
	for i, m := range got.Messages {
		if string(m.Payload) != texts[i] {
			r.Errorf("message %d: got %s, want %s", i, m.Payload, texts[i])
		}
		receipts = append(receipts, m.Receipt)
	}
	return receipts
}

// settles ends receives, and holds how many held.
func (r *rig) settles(how, more string, held, old int, receipts ...string) {
	r.Helper()
	b, err := json.Marshal(receipts)
	if err != nil {
		r.Fatal(err)
	}
	a := r.want(200, "POST", "/v1/queues/mails/"+how, fmt.Sprintf(`{"receipts": %s%s}`, b, more))
	if list, _ := a.get("old").([]any); a.get("settled") != float64(held) || len(list) != old {
		r.Errorf("%s: got %s, want %d settled and %d old", how, a.body, held, old)
	}
}

// has holds the counts of a queue: "ready 1 dead 2"; others are 0.
func (r *rig) has(want string) {
	r.Helper()
	a := r.want(200, "GET", "/v1/queues/mails", "")
	var got []string
	for _, state := range []string{"ready", "delayed", "out", "parked", "dead"} {
		if n := a.get("counts." + state); n != 0.0 {
			got = append(got, fmt.Sprintf("%s %v", state, n))
		}
	}
	if text := strings.Join(got, " "); text != want {
		r.Errorf("the queue has %q, want %q", text, want)
	}
}

// TestQueueLimits: a queue that is declared to have limits holds those who send and receive over REST to them, and its
// limits are seen and changed as others are.
func TestQueueLimits(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sqlite", Options{})
	const q = "/v1/queues/calls"
	a := r.want(200, "PUT", q, `{"limits": [{"number": 1, "path": "to", "weights": {"ann": 2}}]}`)
	if a.get("limits.0.weights.ann") != 2.0 || r.want(200, "GET", "/v1/limits/calls", "").get("weights.ann") != 2.0 {
		t.Fatalf("the weights are not kept: %s", a.body)
	}
	a = r.want(200, "PUT", q, `{"limits": [{"number": 1, "path": "to"}, {"name": "line", "number": 100, "per": "1s", "burst": 50}]}`)
	if a.get("limits.0.name") != "calls" || a.get("limits.0.path") != "to" || a.get("limits.1.per") != "1s" || a.get("limits.1.burst") != 50.0 {
		r.Errorf("the queue is declared: %s", a.body)
	}
	r.want(200, "PUT", q, `{"visibility": "1m"}`) // nothing is said of limits: they stay
	r.want(201, "POST", q+"/messages", `{"messages": [{"payload": {"to": "ann", "n": 1}}, {"payload": {"to": "ann", "n": 2}}, {"payload": {"to": 7, "n": 3}}]}`)
	receive := func(want ...float64) (receipts []any) {
		t.Helper()
		a := r.want(200, "POST", q+"/receive", `{"most": 10}`)
		var got []float64
		for i := range want {
			n, _ := a.get(fmt.Sprintf("messages.%d.payload.n", i)).(float64)
			got, receipts = append(got, n), append(receipts, a.get(fmt.Sprintf("messages.%d.receipt", i)))
		}
		if more := a.get(fmt.Sprintf("messages.%d", len(want))); fmt.Sprint(got) != fmt.Sprint(want) || more != nil {
			t.Errorf("received %s, want %v", a.body, want)
		}
		return receipts
	}
	first := receive(1, 3)
	receive()
	if a := r.want(200, "GET", q, ""); a.get("counts.out") != 2.0 || a.get("counts.parked") != 1.0 {
		r.Errorf("the queue: %s", a.body)
	}
	if a := r.want(200, "GET", "/v1/limits/calls", ""); a.get("messages") != true || a.get("runs") != nil || a.get("keys.1.key") != "ann" || a.get("keys.1.used") != 1.0 || a.get("keys.1.waiting") != 1.0 {
		r.Errorf("the limit: %s", a.body)
	}
	r.want(200, "PUT", "/v1/limits/calls", `{"number": 0}`)
	r.want(200, "POST", q+"/ack", fmt.Sprintf(`{"receipts": [%q]}`, first[0]))
	receive()
	r.want(200, "PUT", "/v1/limits/calls", `{"number": null}`)
	receive(2)
	r.want(200, "PUT", q, `{"limits": []}`)
	r.want(201, "POST", q+"/messages", `{"payload": {"to": "ann", "n": 4}}`)
	receive(4)
}

// walkQueues goes through all that queues have.
func walkQueues(r *rig) {
	const q = "/v1/queues/mails"
	if a := r.want(200, "PUT", q, `{"visibility": "5m", "maxReceives": 2}`); a.get("visibility") != "5m" || a.get("maxReceives") != 2.0 || a.get("oldest") != nil {
		r.Errorf("declared: got %s", a.body)
	}
	a := r.want(201, "POST", q+"/messages", `{"payload": {"to": "ann"}, "headers": {"trace": "1"}, "dedupeId": "a"}`)
	id := a.get("messages.0.id")
	if a = r.want(201, "POST", q+"/messages", `{"payload": {"to": "bob"}}`, "Idempotency-Key", "a"); a.get("messages.0.id") != id || a.get("messages.0.duplicate") != true {
		r.Errorf("sent twice: got %s, want %v, a duplicate", a.body, id)
	}
	r.want(201, "POST", q+"/messages", `{"messages": [{"payload": 1, "group": "g"}, {"payload": 2, "group": "g"}, {"payload": "late", "delay": "1h"}, {"payload": "first", "priority": 4}]}`)
	r.has("ready 3 delayed 1 parked 1")
	if a := r.want(200, "GET", "/v1/queues", ""); a.get("queues.0.name") != "mails" || a.get("queues.0.counts.ready") != 3.0 || a.get("queues.0.oldest") == nil {
		r.Errorf("the list: got %s", a.body)
	}
	if a := r.want(200, "GET", q+"/messages?state=delayed", ""); a.get("messages.0.payload") != "late" || a.get("messages.1") != nil || a.get("messages.0.state") != "delayed" || a.get("messages.0.receipt") != nil {
		r.Errorf("peek: got %s", a.body)
	}
	a = r.want(200, "GET", q+"/messages?limit=2", "")
	if a = r.want(200, "GET", q+"/messages?limit=2&cursor="+a.get("cursor").(string), ""); a.get("messages.0.payload") != 2.0 {
		r.Errorf("the second page begins with %s, want 2", a.body)
	}
	r.receives(`{"match": {"to": "bob"}}`)
	r.settles("ack", "", 1, 0, r.receives(`{"match": {"to": "ann"}}`, `{"to":"ann"}`)...)
	first := r.receives("", `"first"`)
	r.settles("extend", `, "visibility": "1m"`, 1, 0, first...)
	r.settles("bury", `, "error": "no such address"`, 1, 0, first...)
	r.settles("bury", "", 0, 1, first...)
	one := r.receives(`{"most": 10}`, "1")
	r.settles("nack", `, "error": "busy"`, 1, 0, one...)
	one = r.receives(`{"most": 10}`, "1")
	r.settles("ack", "", 1, 0, one...)
	r.settles("ack", "", 1, 1, append(r.receives(`{"most": 10}`, "2"), one...)...)
	r.has("delayed 1 dead 1")
	if a := r.want(200, "GET", q+"/messages?state=dead", ""); a.get("messages.0.error") != "no such address" || a.get("messages.0.receives") != 1.0 {
		r.Errorf("dead letters: got %s", a.body)
	}
	if a := r.want(200, "POST", q+"/pause", `{"reason": "the mail server moves"}`); a.get("paused.reason") != "the mail server moves" {
		r.Errorf("paused: got %s", a.body)
	}
	if a := r.want(200, "POST", q+"/redrive", ""); a.get("messages") != 1.0 || a.get("more") != false {
		r.Errorf("redrive: got %s", a.body)
	}
	r.receives("")
	if a := r.want(200, "POST", q+"/resume", ""); a.get("paused") != nil {
		r.Errorf("resumed: got %s", a.body)
	}
	r.receives("", `"first"`)
	r.refused(409, "CONFLICT", "DELETE", q, "")
	if a := r.want(200, "POST", q+"/purge", ""); a.get("messages") != 2.0 {
		r.Errorf("purge: got %s", a.body)
	}
	r.want(204, "DELETE", q, "")
	if a := r.refused(404, "NOT_FOUND", "GET", q, ""); !strings.Contains(fmt.Sprint(a.get("detail")), "PUT /v1/queues/mails") {
		r.Errorf("a queue that is not there: got %s, want what to do", a.body)
	}
}

// TestQueueRefusals: what is wrong is refused, and nothing is written.
func TestQueueRefusals(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", Options{})
	const q = "/v1/queues/mails"
	for _, act := range []string{"messages", "receive", "pause", "resume", "purge", "redrive"} {
		body := ""
		if act == "messages" {
			body = `{"payload": 1}`
		}
		if a := r.refused(404, "NOT_FOUND", "POST", q+"/"+act, body); !strings.Contains(fmt.Sprint(a.get("detail")), "PUT /v1/queues/mails") {
			r.Errorf("%s: got %s, want what to do", act, a.body)
		}
	}
	r.refused(404, "NOT_FOUND", "DELETE", q, "")
	r.refused(404, "NOT_FOUND", "GET", q+"/messages", "")
	r.want(200, "PUT", q, "")
	for _, body := range []string{`{"visibility": "100ms"}`, `{"visibility": "13h"}`, `{"maxReceives": -1}`, `{"maxReceives": 1001}`, `{"retries": 3}`,
		`{"limits": [{}]}`, `{"limits": [{"number": 0}]}`, `{"limits": [{"number": 1, "untilEnd": true}]}`, `{"limits": [{"number": 1, "path": "a..b"}]}`,
		`{"limits": [{"number": 1}, {"number": 2}]}`, `{"limits": [{"number": 1, "per": "367d"}]}`, `{"limits": [{"number": 1, "burst": 2}]}`, `{"limits": [{"number": 1, "weights": {"ann": 2}}]}`, `{"limits": 3}`,
	} {
		r.refused(400, "INVALID", "PUT", q, body)
	}
	r.want(200, "PUT", "/v1/queues/limited", `{"limits": [{"number": 1, "path": "to"}]}`)
	for _, body := range []string{`{"payload": 1}`, `{"payload": {"from": "ann"}}`, `{"payload": {"to": ["ann"]}}`, `{"messages": [{"payload": {"to": "ann"}}, {"payload": {}}]}`} {
		r.refused(400, "INVALID", "POST", "/v1/queues/limited/messages", body)
	}
	r.refused(400, "INVALID", "PUT", "/v1/queues/a%20b", "")
	for _, body := range []string{
		`{}`, `{"messages": []}`, `{"payload": 1, "messages": [{"payload": 1}]}`, `{"group": "g", "messages": [{"payload": 1}]}`, `{"messages": [{"payload": 1}, {"group": "g"}]}`,
		`{"payload": 1, "priority": 5}`, `{"payload": 1, "priority": -1}`, `{"payload": 1, "delay": "366d"}`, `{"payload": 1, "delay": 30}`, `{"payload": 1, "delay": "1m", "group": "g"}`,
		`{"payload": 1, "dedupeId": "a", "dedupeWindow": "8d"}`, `{"payload": 1, "headers": {"": "x"}}`, `{"payload": 1, "topic": "x"}`,
		`{"messages": [{"payload": 1, "dedupeId": "a"}, {"payload": 2, "dedupeId": "a"}]}`, `{"messages": [{"payload": 1}, {"payload": 2, "priority": 9}]}`,
	} {
		r.refused(400, "INVALID", "POST", q+"/messages", body)
	}
	r.refused(400, "INVALID", "POST", q+"/messages", `{"payload": 1, "dedupeId": "a"}`, "Idempotency-Key", "b")
	r.refused(400, "INVALID", "POST", q+"/messages", `{"messages": [{"payload": 1}]}`, "Idempotency-Key", "b")
	r.refused(413, "TOO_LARGE", "POST", q+"/messages", `{"payload": "`+strings.Repeat("x", world.MaxMessage)+`"}`)
	for _, body := range []string{`{"most": 0}`, `{"most": 101}`, `{"wait": "31s"}`, `{"visibility": "1ms"}`, `{"where": {}}`} {
		r.refused(400, "INVALID", "POST", q+"/receive", body)
	}
	for _, how := range []string{"ack", "nack", "extend", "bury"} {
		for _, body := range []string{`{}`, `{"receipts": []}`, `{"receipts": ["mesg_1"], "visibility": "1m"}`, `{"receipts": ["rcpt_zz"]}`} {
			r.refused(400, "INVALID", "POST", q+"/"+how, body)
		}
	}
	receipt := world.Receipt(1, 1)
	r.refused(400, "INVALID", "POST", q+"/nack", `{"receipts": ["`+receipt+`"], "delay": "366d"}`)
	r.refused(400, "INVALID", "POST", q+"/extend", `{"receipts": ["`+receipt+`"]}`)
	r.settles("ack", "", 0, 1, receipt)
	r.refused(400, "INVALID", "GET", q+"/messages?state=gone", "")
	r.refused(400, "INVALID", "GET", q+"/messages?cursor=x", "")
	r.refused(400, "INVALID", "GET", q+"/messages?limit=0", "")
	r.refused(400, "INVALID", "POST", q+"/redrive", `{"ids": []}`)
	r.refused(400, "INVALID", "POST", q+"/redrive", `{"ids": ["wrun_1"]}`)
	r.refused(400, "INVALID", "POST", q+"/pause", `{"reason": "`+strings.Repeat("x", 1001)+`"}`)
	r.has("")
}

// TestQueueScopes: who reads sees payloads, who may send to runs may send and receive here, and what operators do is
// in the audit log.
func TestQueueScopes(t *testing.T) {
	t.Parallel()
	keys, err := ParseKeys("viewer:eva:" + strings.Repeat("v", 32) + ",operator:otto:" + strings.Repeat("o", 32) + ",worker?workflow=order:willi:" + strings.Repeat("w", 32))
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, "sqlite", Options{Keys: keys})
	const q = "/v1/queues/mails"
	as := func(letter string) []string { return []string{"Authorization", "Bearer " + strings.Repeat(letter, 32)} }
	r.want(200, "PUT", q, "", as("o")...)
	r.want(201, "POST", q+"/messages", `{"payload": {"to": "ann"}}`, as("o")...)
	if a := r.want(200, "GET", q+"/messages", "", as("v")...); a.get("messages.0.payload.to") != "ann" {
		t.Errorf("a viewer peeks: got %s", a.body)
	}
	r.want(200, "GET", "/v1/queues", "", as("v")...)
	r.want(200, "GET", q, "", as("v")...)
	for _, act := range []string{"messages", "receive", "ack", "nack", "extend", "bury", "pause", "resume", "purge", "redrive"} {
		r.refused(403, "FORBIDDEN", "POST", q+"/"+act, `{}`, as("v")...)
		r.refused(403, "FORBIDDEN", "POST", q+"/"+act, `{}`, as("w")...)
		r.refused(401, "UNAUTHENTICATED", "POST", q+"/"+act, `{}`)
	}
	r.refused(403, "FORBIDDEN", "PUT", q, "", as("v")...)
	r.refused(403, "FORBIDDEN", "DELETE", q, "", as("v")...)
	if a := r.want(200, "POST", q+"/pause", `{"reason": "tea"}`, as("o")...); a.get("paused.by") != "otto" {
		t.Errorf("paused: got %s, want by otto", a.body)
	}
	for _, what := range []string{"declareQueue", "pauseQueue"} {
		if want := "who=otto what=" + what; !strings.Contains(r.log.String(), want) {
			t.Errorf("the audit log has no %q", want)
		}
	}
	if !strings.Contains(r.log.String(), "queue=mails") || strings.Contains(r.log.String(), "ann") {
		t.Error("the audit log should have the queue, and no payload")
	}
}

// TestQueueConsumerKilled: what a consumer received that died is received by another when its time is over. Its receipt
// is old then.
func TestQueueConsumerKilled(t *testing.T) {
	t.Parallel()
	for kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, kind, Options{})
			r.want(200, "PUT", "/v1/queues/mails", `{"maxReceives": 2}`)
			r.want(201, "POST", "/v1/queues/mails/messages", `{"payload": 1}`)
			killed := r.receives(`{"visibility": "1s"}`, "1")
			r.receives("")
			other := r.receives(`{"wait": "20s", "visibility": "1s"}`, "1")
			r.settles("ack", "", 0, 1, killed...)
			r.settles("extend", `, "visibility": "1s"`, 0, 1, killed...)
			r.settles("nack", "", 1, 0, other...)
			r.receives("")
			r.has("dead 1") // twice is what the queue allows
		})
	}
}

// TestQueueLongPoll: who waits is told at once, and a server that drains sends who waits away with nothing.
func TestQueueLongPoll(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", Options{})
	r.want(200, "PUT", "/v1/queues/mails", "")
	began := time.Now()
	got := make(chan *reply)
	wait := func() { got <- r.send("POST", "/v1/queues/mails/receive", `{"wait": "30s"}`) }
	go wait()
	r.until("somebody to wait", func() bool { return len(r.server.places.waiting) == 1 })
	r.want(201, "POST", "/v1/queues/mails/messages", `{"payload": 7}`)
	if a := <-got; a.get("messages.0.payload") != 7.0 {
		t.Errorf("who waited got %d %s, want 7", a.status, a.body)
	}
	go wait()
	r.until("somebody to wait", func() bool { return len(r.server.places.waiting) == 1 })
	r.server.Drain()
	if a := <-got; a.status != 200 || a.get("messages.0") != nil {
		t.Errorf("who waited when the server drained got %d %s, want nothing", a.status, a.body)
	}
	if d := time.Since(began); d > 15*time.Second {
		t.Errorf("it took %s", d)
	}
	r.until("nobody to wait", func() bool { return len(r.server.places.waiting) == 0 })
}

// TestQueueLargeReceive: an answer ends where it is large. What is behind that is ready again as if nobody had received
// it.
func TestQueueLargeReceive(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sqlite", Options{})
	r.want(200, "PUT", "/v1/queues/mails", "")
	large := `"` + strings.Repeat("x", 900<<10) + `"`
	for range 4 {
		r.want(201, "POST", "/v1/queues/mails/messages", `{"payload": `+large+`}`)
	}
	r.receives(`{"most": 4}`, large, large)
	r.has("ready 2 out 2")
	if a := r.want(200, "GET", "/v1/queues/mails/messages?state=ready", ""); a.get("messages.0.receives") != 0.0 {
		t.Error("a message that nobody has seen counts as received")
	}
}
