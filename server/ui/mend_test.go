package ui_test

// A form that is refused is there again, with what was written in it, and can be mended.

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/server"
	"github.com/stepwell/stepwell/world"
)

var deliveryField = regexp.MustCompile(`name="delivery" value="([^"]+)"`)

// TestARefusedFormIsMended: whatever was wrong with a payload, its text is there to be corrected, and the correction is a delivery of its own.
func TestARefusedFormIsMended(t *testing.T) {
	t.Parallel()
	s := busySite(t, server.Options{})
	s.Until("o-1", stepwell.WhyEvent)
	const path = "/ui/runs/o-1/act/signal"
	sent := s.post(path, "event", "other", "payload", `{"n": 1}`, "delivery", "form-1")
	if sent.status != 200 || sent.at.Path != "/ui/runs/o-1" {
		t.Fatalf("got %d at %s, want the run", sent.status, sent.at)
	}
	large := `"` + strings.Repeat("é", 3<<18) + `"` // 1.5 MiB, three times that as it is sent
	seen := map[string]bool{"form-1": true}
	for what, c := range map[string]struct {
		payload string
		status  int
		says    string
	}{
		"another payload from the same form": {`{"n": 2}`, 409, "Send it again to send both"},
		"no JSON":                            {`{"n": `, 400, "Payload: it is not JSON: it ends in the middle"},
		"a member twice":                     {`{"n": 1, "n": 2}`, 400, `Payload: it has the member "/n" twice`},
		"over the limit of a payload":        {large, 413, "the limit is 1048576 bytes"},
		"over the limit of a body":           {`"` + strings.Repeat("x", 3<<20) + `"`, 413, "more than 2097152"},
	} {
		p := s.post(path, "event", "other", "payload", c.payload, "delivery", "form-1")
		if p.status != c.status || !strings.Contains(html.UnescapeString(p.body), c.says) {
			t.Errorf("%s: got %d, want %d and %q: %.600s", what, p.status, c.status, c.says, p.body)
			continue
		}
		if !strings.Contains(html.UnescapeString(p.body), ">"+c.payload+"</textarea>") || !strings.Contains(p.body, `name="event" value="other"`) {
			t.Errorf("%s: what was written is lost", what)
		}
		id := deliveryField.FindStringSubmatch(p.body)
		if id == nil || seen[id[1]] {
			t.Fatalf("%s: the form has the delivery ID %q, want a new one", what, id)
		}
		seen[id[1]] = true
		mended := s.post(path, "event", "other", "payload", fmt.Sprintf(`{"mended": %q}`, what), "delivery", id[1])
		if mended.status != 200 || mended.at.Query().Get("did") != "signal" {
			t.Errorf("%s: mended: got %d at %s, want it sent: %.600s", what, mended.status, mended.at, mended.body)
		}
	}
	s.Until("o-1", stepwell.WhyEvent)
	row, err := s.World.Run(t.Context(), "o-1")
	if err != nil {
		t.Fatal(err)
	}
	got := row.Queue.Mail
	for e, err := range s.App.Events(t.Context(), "o-1", stepwell.EventFilter{Types: []world.EventType{world.SignalReceived}}) {
		if got++; err != nil || e.Name != "other" {
			t.Fatalf("got %q, %v", e.Name, err)
		}
	}
	if got != 6 {
		t.Errorf("%d payloads were sent, want 6", got)
	}
	tooLarge := `"` + strings.Repeat("x", 2<<20) + `"`
	if p := s.post("/ui/workflows/later/start", "input", tooLarge, "key", "k-7"); p.status != 413 || !strings.Contains(html.UnescapeString(p.body), tooLarge) || !strings.Contains(p.body, `value="k-7"`) {
		t.Errorf("a start: got %d, want 413 and the form again", p.status)
	}
	if p := s.post("/ui/workflows/later/start", "input", large, "key", "k-7", "id", "large"); p.status != 200 || p.at.Path != "/ui/runs/large" {
		t.Errorf("a start with more than a payload may have, as an input may: got %d at %s, want the run", p.status, p.at)
	}
	if row, err := s.World.Run(t.Context(), "large"); err != nil || row.InputApart == "" {
		t.Errorf("its input is %.100s, %v; want a reference", row.Input, err)
	}
	if p := s.post("/ui/runs/o-1/act/restart", "input", `{"a": 1, "a": 2}`); p.status != 400 || !strings.Contains(html.UnescapeString(p.body), `{"a": 1, "a": 2}</textarea>`) {
		t.Errorf("a restart: got %d, want 400 and the form again", p.status)
	}
}
