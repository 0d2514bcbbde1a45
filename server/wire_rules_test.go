package server

// The doors of remote workers hold the rules that the others hold, and a key to what is its own.

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/webhook"
	"github.com/stepwell/stepwell/world"
)

const (
	otherSecret   = "other-worker-secret-0123"
	limitedSecret = "limited-worker-secret-01"
)

func wireRig(t *testing.T, kind string, more ...stepwell.Definition) *rig {
	t.Helper()
	extra, err := ParseKeys("worker:otto:" + otherSecret + " worker?workflow=mail&step=send%20it:lim:" + limitedSecret)
	if err != nil {
		t.Fatal(err)
	}
	return newRig(t, kind, Options{Keys: append(testKeys(t), extra...)}, more...)
}

func as(secret string) []string { return []string{"Authorization", bearer(secret)} }

// birthOf is the start of a run over the wire; more are members of its birth.
func birthOf(run, workflow, time, input, more string) string {
	return fmt.Sprintf(`{"id": "%032x", "run": %q, "first": 1, "events": [{"type": "run_created", "time": %q, "payload": %s, "birth": {"workflow": %q, "version": 1, "priority": 1%s}}]}`,
		[]byte(run + "0123456789abcdef")[:16], run, time, input, workflow, more)
}

// TestWireStartsAreStarts: a start over the wire gets what one over the API gets.
func TestWireStartsAreStarts(t *testing.T) {
	t.Parallel()
	r := wireRig(t, "memory")
	now := world.Now().Format(time.RFC3339)
	r.call("commit", birthOf("long", "nobody", now, "1", `, "retention": 6311520000000000000`), as(operatorSecret)...)
	for _, e := range r.log1("long") {
		if e.Birth != nil && e.Birth.Retention != 365*24*time.Hour {
			t.Errorf("a retention of 200 years became %s, want that of the server's limit", e.Birth.Retention)
		}
	}
	ids := 0
	for what, bad := range map[string]string{
		"in year 1":                    birthOf("b", "nobody", "0001-01-01T00:00:00Z", "1", ""),
		"in year 9000":                 birthOf("b", "nobody", "9000-01-01T00:00:00Z", "1", ""),
		"timeout -1":                   birthOf("b", "nobody", now, "1", `, "timeout": -1`),
		"not JSON":                     birthOf("b", "nobody", now, `{"$base64": "eA=="}`, ""),
		"an input with a member twice": birthOf("b", "nobody", now, `{"$base64": "eyJhIjoxLCJhIjoyfQ=="}`, ""), // {"a":1,"a":2}
		"an attribute with one":        birthOf("b", "nobody", now, "1", `, "attributes": {"a": {"$base64": "eyJhIjoxLCJhIjoyfQ=="}}`),
		"an input of no order":         birthOf("b", "order", now, `{"cents": "five"}`, ""),
		"a large input of no order":    birthOf("b", "order", now, `{"cents": "`+strings.Repeat("5", 3<<19)+`"}`, ""),
		"an attribute that is no JSON": birthOf("b", "nobody", now, "1", `, "attributes": {"a": {"$base64": "eyB9IHg="}}`),
		"another's child":              birthOf("b", "nobody", now, "1", `, "parent": {"run": "long", "step": "step_1"}`),
		"a version beyond":             strings.Replace(birthOf("b", "nobody", now, "1", ""), `"version": 1`, `"version": 3000000000`, 1),
		"an attribute of 9 KiB":        birthOf("b", "nobody", now, "1", `, "attributes": {"a": "`+strings.Repeat("x", 9<<10)+`"}`),
	} {
		ids++ // none is a copy of another
		bad = strings.Replace(bad, `"id": "62`, fmt.Sprintf(`"id": "%02x`, ids), 1)
		a := r.send("POST", inWorld+"commit", bad, as(operatorSecret)...)
		if a.status < 400 || a.status >= 500 {
			t.Errorf("%s: got %d, %.200s, want a refusal", what, a.status, a.body)
		}
	}
	r.call("commit", strings.Replace(birthOf("plain", "nobody", now, "1", ""), `"type": "run_created"`, `"type": "run_created", "by": "root", "reason": "r", "token": "t", "name": "n"`, 1), as(operatorSecret)...)
	if e := r.log1("plain")[0]; e.By+e.Reason+e.Token+e.Name != "" {
		t.Errorf("an operator's start says %+v, want what a start says", e)
	}
	r.refused(404, "NOT_FOUND", "POST", inWorld+"run", `{"run": "b"}`, as(operatorSecret)...)
	twice := `{"run": "long", "events": [{"type": "signal_received", ` + at + `, "name": "a", "payload": {"$base64": "eyJhIjoxLCJhIjoyfQ=="}}]}`
	if a := r.refused(400, "INVALID", "POST", inWorld+"deliver", twice, as(operatorSecret)...); !strings.Contains(a.get("detail").(string), `"/a" twice`) {
		t.Errorf("a payload with a member twice: %s", a.body)
	}
	big := `{"run": "long", "events": [{"type": "signal_received", ` + at + `, "name": "a", "payload": "` + strings.Repeat("x", 3<<19) + `"}]}`
	r.refused(413, "TOO_LARGE", "POST", inWorld+"deliver", big, as(operatorSecret)...)
}

// TestWireStartsWithLargeInputs: an input over 1 MiB is held against the same rules, within the start or kept apart
// before it.
func TestWireStartsWithLargeInputs(t *testing.T) {
	t.Parallel()
	for _, kind := range sample.OneKey(t, kinds) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := wireRig(t, kind)
			now, op := world.Now().Format(time.RFC3339), as(operatorSecret)
			large := func(cents string) string {
				return `{"customer":"` + strings.Repeat("x", 3<<19) + `","cents":` + cents + `}`
			}
			keep := func(run, value string) world.Apart {
				sum := sha256.Sum256([]byte(value))
				of := world.Apart{ID: world.NewID(world.PrefixApart, world.Now()), Size: int64(len(value)), SHA256: hex.EncodeToString(sum[:])}
				for number := 0; len(value) > 0; number++ {
					n := min(len(value), world.ApartPiece)
					data := base64.StdEncoding.EncodeToString(append([]byte{0}, value[:n]...))
					r.call("keepPiece", fmt.Sprintf(`{"run": %q, "value": %q, "number": %d, "data": %q}`, run, of.ID, number, data), op...)
					value = value[n:]
				}
				return of
			}
			start := func(run, workflow string, of world.Apart) string {
				return strings.Replace(birthOf(run, workflow, now, string(of.JSON()), ""), `"payload":`, `"apart": "`+of.ID+`", "payload":`, 1)
			}
			r.call("commit", birthOf("within", "nobody", now, large(`1`), ""), op...)
			r.call("commit", start("apart", "order", keep("apart", large(`1`))), op...)
			for _, run := range []string{"within", "apart"} {
				id, _ := r.want(200, "GET", "/v1/runs/"+run, "", op...).get("input.stepwell:apart.id").(string)
				if a := r.want(200, "GET", "/v1/runs/"+run+"/values/"+id, "", op...); string(a.body) != large(`1`) {
					t.Errorf("%s: the input has %d bytes, want what was sent", run, len(a.body))
				}
			}
			of := func(run, value string, change func(*world.Apart)) world.Apart {
				of := keep(run, value)
				change(&of)
				return of
			}
			same := func(*world.Apart) {}
			nowhere := world.Apart{ID: world.NewID(world.PrefixApart, world.Now()), Size: 3 << 19, SHA256: strings.Repeat("0", 64)}
			for run, c := range map[string]struct {
				code   string
				status int
				start  string
			}{
				"b1": {"UNFIT", 422, birthOf("b1", "order", now, large(`"five"`), "")},
				"b2": {"UNFIT", 422, start("b2", "order", of("b2", large(`"five"`), same))},
				"b3": {"INVALID", 400, start("b3", "nobody", of("b3", large(`{`), same))},
				"b4": {"INVALID", 400, start("b4", "nobody", of("b4", large(`1`), func(of *world.Apart) { of.SHA256 = strings.Repeat("0", 64) }))},
				"b5": {"INVALID", 400, start("b5", "nobody", of("b5", large(`1`), func(of *world.Apart) { of.Size-- }))},
				"b6": {"INVALID", 400, start("b6", "nobody", nowhere)},
				"b7": {"TOO_LARGE", 413, start("b7", "nobody", of("b7", large(`1`), func(of *world.Apart) { of.Size = 64<<20 + 1 }))},
			} {
				r.refused(c.status, c.code, "POST", inWorld+"commit", c.start, op...)
				r.refused(404, "NOT_FOUND", "POST", inWorld+"run", `{"run": "`+run+`"}`, op...)
			}
		})
	}
}

// TestWireStartsKeepToMaxValue: the limit of values is the server's, whoever starts.
func TestWireStartsKeepToMaxValue(t *testing.T) {
	t.Parallel()
	w := kinds["memory"](t)
	defer func() { _ = w.Close() }()
	app, err := stepwell.New(w, stepwell.Config{MaxValue: 2 << 20})
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(app, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for size, want := range map[int]int{2<<20 - 2: 200, 2<<20 - 1: 413} { // and two quotes
		run := fmt.Sprint("r", size)
		body := birthOf(run, "nobody", world.Now().Format(time.RFC3339), `"`+strings.Repeat("x", size)+`"`, "")
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, inWorld+"commit", strings.NewReader(body))
		req.Host = "127.0.0.1"
		req.Header.Set("Content-Type", "application/json")
		answer := httptest.NewRecorder()
		s.ServeHTTP(answer, req)
		if answer.Code != want {
			t.Errorf("an input of %d bytes, of 2 MiB: got %d, %.300s; want %d", size+2, answer.Code, answer.Body, want)
		}
	}
}

func (r *rig) log1(run string) []world.Event {
	r.Helper()
	page, err := r.world.Events(r.Context(), run, world.EventQuery{})
	if err != nil {
		r.Fatal(err)
	}
	return page.Events
}

// TestWireWebhooks: a webhook takes requests through its own door, which looks at signatures, whatever an operator says.
func TestWireWebhooks(t *testing.T) {
	t.Parallel()
	signed := stepwell.Define("signed", func(ctx stepwell.Context, _ int) (string, error) {
		w, err := webhook.New(ctx, webhook.Signed(webhook.Standard, "shop"))
		if err != nil {
			return "", err
		}
		req, _, err := w.Wait(ctx)
		return string(req.Body), err
	})
	r := wireRig(t, "memory", signed)
	r.want(201, "POST", "/v1/workflows/signed/runs", `{"id": "s1", "input": 1}`, as(operatorSecret)...)
	r.until("the webhook", func() bool { return r.send("GET", "/v1/hooks?run=s1", "", as(operatorSecret)...).get("0.token") != nil })
	h := r.want(200, "GET", "/v1/hooks?run=s1", "", as(operatorSecret)...)
	forged := `"events": [{"type": "hook_received", ` + at + `%s, "payload": {"method": "POST", "body": "forged"}}]}`
	for what, body := range map[string]string{
		"by its token":             fmt.Sprintf(`{"token": %q, `+forged, h.get("0.token"), ""),
		"by its ID":                fmt.Sprintf(`{"run": "s1", `+forged, fmt.Sprintf(`, "id": %q`, h.get("0.id"))),
		"by the ID of one to come": fmt.Sprintf(`{"run": "s1", `+forged, `, "id": "hook_00VHNCZB00V4J143A0H43E0DGR"`),
	} {
		if a := r.refused(403, "FORBIDDEN", "POST", inWorld+"deliver", body, as(operatorSecret)...); !strings.Contains(a.get("detail").(string), "webhook") {
			t.Errorf("%s: got %s, want that it is a webhook's", what, a.body)
		}
	}
	for _, e := range r.log1("s1") {
		if e.Type == world.HookReceived {
			t.Errorf("event %d is a forged request", e.Seq)
		}
	}
}

// TestWorkersAreBoundToKeys: no other key speaks for a worker, after a restart of the server either.
func TestWorkersAreBoundToKeys(t *testing.T) {
	t.Parallel()
	for _, kind := range sample.OneKey(t, kinds) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := wireRig(t, kind)
			r.call("join", `{"id": "wrkr_w", "name": "one (key otto)", "classes": [{"workflow": "mail", "version": 1}], "lease": 60000000000}`, as(workerSecret)...)
			r.want(201, "POST", "/v1/workflows/mail/runs", `{"id": "m1", "version": 1, "input": 1}`, as(operatorSecret)...)
			r.is(r.call("claim", `{"worker": "wrkr_w", "classes": [{"workflow": "mail", "version": 1}], "runs": 1, "n": 1}`, as(workerSecret)...), "runs.0.run", "m1")
			turn := `{` + firstID + `, "run": "m1", "worker": "wrkr_w", "take": 1, "first": 2, "events": [{"type": "run_started", ` + at + `}]}`
			for _, behind := range []string{"at once", "a restart"} {
				for call, body := range map[string]string{
					"heartbeat": `{"worker": "wrkr_w"}`, "claim": `{"worker": "wrkr_w", "n": 2}`, "held": `{"worker": "wrkr_w", "n": 9}`, "leave": `{"worker": "wrkr_w"}`,
					"commit": turn, "outcome": turn,
					"append":  `{"run": "m1", "worker": "wrkr_w", "take": 1, "stream": "s", "chunks": [1]}`,
					"deliver": `{"worker": "wrkr_w", "task": {"run": "m1", "step": "step_1", "attempt": 1}, "events": [{"type": "step_completed", "id": "step_1", "attempt": 1, ` + at + `}]}`,
				} {
					for _, secret := range []string{otherSecret, adminSecret} {
						if a := r.send("POST", inWorld+call, body, as(secret)...); a.status != 403 {
							t.Errorf("%s, %s in another's name: got %d %s, want 403", behind, call, a.status, a.body)
						}
					}
				}
				r.server.guard.joined = joined{} // another process knows what the database has
			}
			r.call("heartbeat", `{"worker": "wrkr_w"}`, as(workerSecret)...)
			r.call("commit", turn, as(workerSecret)...)
			r.call("leave", `{"worker": "wrkr_w"}`, as(workerSecret)...)
			if n := len(r.log1("m1")); n != 2 {
				t.Errorf("the log has %d events, want the birth and the worker's own", n)
			}
		})
	}
}

// TestLimitedKeys: a worker's key for some workflows and steps works on these, and sees nothing else.
func TestLimitedKeys(t *testing.T) {
	t.Parallel()
	for _, kind := range sample.OneKey(t, kinds) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := wireRig(t, kind)
			lim := as(limitedSecret)
			r.want(201, "POST", "/v1/workflows/mail/runs", `{"id": "mine", "version": 1, "input": 1}`, as(operatorSecret)...)
			r.want(201, "POST", "/v1/workflows/bank/runs", `{"id": "theirs", "version": 1, "input": 1}`, as(operatorSecret)...)
			r.want(201, "POST", "/v1/workflows/bank/runs", `{"id": "ended", "version": 1, "input": 1}`, as(operatorSecret)...)
			const mail, bank = `[{"workflow": "mail", "version": 1}]`, `[{"workflow": "bank", "version": 1}]`
			forbidden := map[string]string{
				"join":   `{"id": "wrkr_x", "classes": ` + bank + `}`,
				"events": `{"run": "theirs"}`, "run": `{"run": "theirs"}`, "tasks": `{"run": "theirs"}`, "streams": `{"run": "theirs"}`, "chunks": `{"run": "theirs", "stream": "s"}`,
				"runs": `{"workflow": "bank"}`, "ready": `{"classes": ` + bank + `}`, "examine": `{}`,
				"append":  `{"run": "theirs", "worker": "", "stream": "s", "chunks": [1]}`,
				"deliver": `{"run": "theirs", "events": [{"type": "wait_completed", ` + at + `, "id": "wait_1", "outcome": "due"}, {"type": "signal_received", ` + at + `, "name": "a"}]}`,
				"commit":  birthOf("b", "bank", world.Now().Format(time.RFC3339), "1", ""),
				"outcome": birthOf("b", "bank", world.Now().Format(time.RFC3339), "1", ""),
			}
			for call, body := range forbidden {
				r.refused(403, "FORBIDDEN", "POST", inWorld+call, body, lim...)
			}
			child := birthOf("b", "mail", world.Now().Format(time.RFC3339), "1", `, "parent": {"run": "theirs", "step": "step_1"}`)
			r.refused(403, "FORBIDDEN", "POST", inWorld+"commit", child, lim...)
			r.refused(403, "FORBIDDEN", "POST", inWorld+"commit", birthOf("b", "mail", world.Now().Format(time.RFC3339), "1", `, "origin": {"run": "theirs", "seq": 1}`), lim...)
			r.call("join", `{"id": "wrkr_l", "name": "l", "classes": `+mail+`, "steps": ["send it"], "lease": 60000000000}`, lim...)
			for call, body := range map[string]string{
				"claim":  `{"worker": "wrkr_l", "classes": ` + bank + `, "runs": 1, "n": 1}`,
				"commit": `{` + otherID + `, "run": "mine", "worker": "wrkr_l", "take": 1, "first": 2, "events": [{"type": "run_started", ` + at + `}], "send": [{"run": "theirs", "events": [{"type": "signal_received", ` + at + `, "name": "a"}]}]}`,
			} {
				r.refused(403, "FORBIDDEN", "POST", inWorld+call, body, lim...)
			}
			for _, more := range []string{`"messages": [{"queue": "q", "payload": 1}]`, `"published": [{"topic": "a", "payload": 1}]`} {
				r.refused(403, "FORBIDDEN", "POST", inWorld+"commit", `{`+otherID+`, "run": "mine", "worker": "wrkr_l", "take": 1, "first": 2, "events": [{"type": "run_started", `+at+`}], `+more+`}`, lim...)
			}
			r.refused(403, "FORBIDDEN", "POST", inWorld+"commit", strings.Replace(birthOf("b", "mail", world.Now().Format(time.RFC3339), "1", ""), `{`, `{"ack": "1-1", `, 1), lim...)
			for _, ask := range [][2]string{{"GET", "/v1/workflows"}, {"GET", "/v1/workflows/mail/runs/mine"}, {"POST", "/v1/workflows/mail/runs"}, {"GET", "/v1/hooks"}, {"GET", "/v1/workers"}} {
				if a := r.send(ask[0], ask[1], "", lim...); a.status != 403 {
					t.Errorf("%s %s: got %d, want 403", ask[0], ask[1], a.status)
				}
			}
			r.is(r.call("runs", `{}`, lim...), "runs.0.id", "mine")
			if a := r.call("runs", `{}`, lim...); strings.Contains(string(a.body), "theirs") {
				t.Errorf("a limited key lists the runs of others: %s", a.body)
			}
			if a := r.call("stats", `{}`, lim...); strings.Contains(string(a.body), "bank") {
				t.Errorf("a limited key counts the runs of others: %s", a.body)
			}
			r.is(r.call("sweep", `{"limit": 10}`, lim...), "", 0.0)
			r.want(202, "DELETE", "/v1/workflows/bank/runs/ended", "", as(operatorSecret)...) // any worker may be given it, to end it
			claimed := r.call("claim", `{"worker": "wrkr_l", "classes": `+mail+`, "runs": 10, "steps": ["send it"], "tasks": 1, "n": 2}`, lim...)
			r.is(claimed, "runs.0.run", "mine")
			if strings.Contains(string(claimed.body), "ended") {
				t.Errorf("a limited key was given another's run: %s", claimed.body)
			}
			r.until("the other's end", func() bool {
				return r.send("GET", "/v1/workflows/bank/runs/ended", "", as(operatorSecret)...).get("status") == "cancelled"
			})
			r.call("commit", `{`+otherID+`, "run": "mine", "worker": "wrkr_l", "take": 1, "first": 2, "events": [{"type": "run_started", `+at+`}, {"type": "run_completed", `+at+`, "payload": 1}]}`, lim...)
			r.is(r.call("run", `{"run": "mine"}`, lim...), "status", "completed")
			r.call("leave", `{"worker": "wrkr_l"}`, lim...)
		})
	}
	for text, want := range map[string]string{
		"operator?workflow=a:n:0123456789abcdef": "only a worker's key", "worker?:n:0123456789abcdef": "workflow=NAME", "worker?run=a:n:0123456789abcdef": "workflow=NAME",
		"worker?workflow=%20:n:0123456789abcdef": "workflow name",
	} {
		if _, err := ParseKeys(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}
