package ui_test

// The form that starts a run: what its input takes, and what is told where something does not fit.

import (
	"encoding/json"
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/stepwell/stepwell/server"
)

func TestStartForm(t *testing.T) {
	t.Parallel()
	s := newSite(t, server.Options{})
	page := s.get("/ui/workflows/order/start")
	for _, words := range []string{
		`name="in.text.customer"`, `type="number" step="1"`, `name="in.json.cents"`, `<textarea id="f-in.json.items"`, `a whole number`, `JSON: an array`,
		`name="key"`, `name="id"`, `name="priority"`, `name="attributes"`, `name="delay"`, `name="version"`, `?as=json`,
	} {
		if !strings.Contains(page.body, words) {
			t.Errorf("the form has no %q", words)
		}
	}
	page = s.get("/ui/workflows/order/start?as=json")
	if text := html.UnescapeString(page.body); !strings.Contains(text, "\"customer\": \"\",\n  \"cents\": 0") || !strings.Contains(text, "Fill in fields") {
		t.Error("the JSON to fill in is not there")
	}
	if page := s.get("/ui/workflows/nobody-has-it/start"); !strings.Contains(page.body, "No live worker describes the input") || !strings.Contains(page.body, `name="input"`) {
		t.Error("a workflow that nobody has: no field for JSON")
	}
	for _, c := range []struct{ name, sent, wrong string }{
		{"in.json.cents", `"much"`, `Expected a whole number, got the text "much".`},
		{"in.json.items", `["a", 7]`, `At /1: expected a text, got 7.`},
		{"attributes", "city", `write it like city=Ulm`},
		{"priority", "9", `want 1 to 4`},
		{"attributes", "a=1\na=2", `Attributes: "a" is there twice`},
		{"payload", "7", `no event for it`},
	} {
		p := s.post("/ui/workflows/order/start", "in.text.customer", "ada <b>", c.name, c.sent, "id", "wrun_never")
		if text := html.UnescapeString(p.body); p.status != 422 && p.status != 400 || !strings.Contains(text, c.wrong) || !strings.Contains(text, `value="ada <b>"`) {
			t.Errorf("%s %s: status %d, want %q and what was written in\n%s", c.name, c.sent, p.status, c.wrong, p.body)
		}
	}
	if p := s.get("/ui/runs/wrun_never"); p.status != 404 {
		t.Errorf("a run was written: status %d", p.status)
	}
	p := s.post("/ui/workflows/order/start", "in.text.customer", "5", "in.json.cents", "12", "in.json.items", "", "id", "by-hand", "key", "k-9", "priority", "3",
		"attributes", "tenant=acme\nn = 7\n", "delay", "1h", "event", "paid", "payload", `{"by": "card"}`)
	if !regexp.MustCompile(`/ui/runs/by-hand\?did=start`).MatchString(p.at.String()) {
		t.Fatalf("status %d, to %q, want the run's page\n%s", p.status, p.at, p.body)
	}
	info, err := s.App.Get(t.Context(), "by-hand")
	if err != nil {
		t.Fatal(err)
	}
	var in map[string]any
	if err := json.Unmarshal(info.Input, &in); err != nil || in["customer"] != "5" || in["cents"] != 12.0 || len(in) != 2 {
		t.Errorf("input = %s, %v", info.Input, err)
	}
	if info.Key != "k-9" || info.Priority != 3 || string(info.Attributes["tenant"]) != `"acme"` || string(info.Attributes["n"]) != "7" || info.Queue.WakeAt.Sub(info.CreatedAt).Minutes() < 59 {
		t.Errorf("the run is %+v", info)
	}
	s.want("/ui/runs/by-hand/events", "signal_received", "<strong>paid</strong>", "card")
}
