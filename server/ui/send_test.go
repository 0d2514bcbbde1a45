package ui_test

// Forms that send to a run: what an event, or a payload of a hook, takes stands there as fields.

import (
	"encoding/json"
	"html"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/server"
)

type verdict struct {
	By    string   `json:"by"`
	Cents int      `json:"cents"`
	OK    bool     `json:"ok,omitempty"`
	Notes []string `json:"notes,omitempty"`
}

var (
	judged = stepwell.Event[verdict]("judged")
	court  = stepwell.Define("court", func(ctx stepwell.Context, in string) ([]verdict, error) {
		hook, err := stepwell.NewHook[verdict](ctx, stepwell.Token("court-"+in), stepwell.HeartbeatTimeout(20*time.Minute))
		if err != nil {
			return nil, err
		}
		first, _, err := judged.Wait(ctx, stepwell.Match{"by": "ada <b>"})
		if err != nil {
			return nil, err
		}
		second, _, err := hook.Wait(ctx)
		return []verdict{first, second}, err
	}, stepwell.Accepts(judged, stepwell.HookPayload[verdict]()))
)

func TestFormsThatSend(t *testing.T) {
	t.Parallel()
	s := newSite(t, server.Options{}, court)
	if _, err := court.Start(t.Context(), s.App, "7", stepwell.RunID("c-1")); err != nil {
		t.Fatal(err)
	}
	s.Until("c-1", stepwell.WhyEvent)
	has := func(p *page, texts ...string) {
		t.Helper()
		text := html.UnescapeString(p.body)
		for _, want := range texts {
			if !strings.Contains(text, want) {
				t.Errorf("the form has no %q:\n%s", want, text)
			}
		}
	}
	const event, hook = "/ui/runs/c-1/act/signal", "/ui/runs/c-1/act/hook"
	has(s.get(event), `name="event" value="judged"`, `name="in.text.by"`, `value="ada <b>"`, `type="number" step="1"`, `name="in.json.ok"`, `JSON: an array`, "as=json")
	has(s.get(event+"?as=json"), `name="payload"`, "Fill in fields", `<option value="judged">`)
	has(s.get(event+"?event=other"), `name="payload"`, `value="other"`)
	has(s.get(hook), `name="hook"`, `value="court-7"`, `name="in.text.by"`, "as=json")
	has(s.get(hook+"?as=json"), `name="payload"`, `"cents": 0`, "Fill in fields")

	p := s.post(event, "event", "judged", "filled", "yes", "in.text.by", "ada <b>", "in.json.cents", `"much"`, "in.json.notes", "", "delivery", "d-1")
	if p.status != 422 {
		t.Errorf("status %d, want 422", p.status)
	}
	has(p, `Expected a whole number, got the text "much".`, `value="ada <b>"`, `name="event" value="judged"`)
	if p := s.post(event, "event", "judged", "filled", "yes", "in.text.by", "ada <b>", "in.json.cents", "5", "in.json.ok", "true", "in.json.notes", `["a"]`, "delivery", "d-2"); p.at.RawQuery != "did=signal" {
		t.Fatalf("status %d, to %s\n%s", p.status, p.at, p.body)
	}
	s.Until("c-1", stepwell.WhyHook)

	// Somebody is still at it.
	has(s.get("/ui/runs/c-1"), "Still working…", `/ui/runs/c-1/act/heartbeat`)
	has(s.get("/ui/runs/c-1/act/heartbeat"), `value="court-7"`, "no heartbeat arrives for 20m")
	if p := s.post("/ui/runs/c-1/act/heartbeat", "hook", "court-7", "payload", `{"page": 3}`); p.at.RawQuery != "did=heartbeat" {
		t.Fatalf("status %d, to %s\n%s", p.status, p.at, p.body)
	}
	if p := s.post("/ui/runs/c-1/act/heartbeat", "hook", "court-9", "payload", ""); p.status != 400 || !strings.Contains(p.body, "no open hook with that token") {
		t.Errorf("another's token: status %d, want 400\n%s", p.status, p.body)
	}
	if got := s.get("/ui/runs/c-1/act/signal?as=json").body; strings.Contains(got, "heartbeat/") {
		t.Error("the form of events offers heartbeats")
	}

	if p := s.post(hook, "hook", "court-7", "filled", "yes", "in.text.by", "bob", "in.json.cents", "7", "delivery", "d-3"); p.at.RawQuery != "did=hook" {
		t.Fatalf("status %d, to %s\n%s", p.status, p.at, p.body)
	}
	got, err := court.Get(s.App, "c-1").Result(t.Context())
	b, _ := json.Marshal(got)
	if want := `[{"by":"ada \u003cb\u003e","cents":5,"ok":true,"notes":["a"]},{"by":"bob","cents":7}]`; err != nil || string(b) != want {
		t.Errorf("got %s, %v; want %s", b, err, want)
	}
}
