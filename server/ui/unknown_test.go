package ui_test

// What a form or a filter does not know is refused, and nothing is done.

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/uitest"
	"github.com/stepwell/stepwell/server"
)

// TestUnknownNamesAreRefused: a mistyped filter does not stand for all runs, nor a mistyped field for an empty one.
func TestUnknownNamesAreRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t, server.Options{})
	s.Start("o-1", uitest.Order{Customer: "ada", Cents: 4200})
	s.Until("o-1", stepwell.WhyEvent)
	all := []string{"act", "cancel", "all", "yes", "sure", "yes"}
	for name, fields := range map[string][]string{
		"worklow":                          append(all, "query", "worklow=none"),
		"statuss":                          append(all, "query", "statuss=failed"),
		"attribute.city":                   append(all, "query", "attribute.city=Ulm"),
		"attr.city is there 2 times":       append(all, "query", "attr.city=Ulm&attr.city=Bonn"),
		"workflow is there 2 times":        append(all, "query", "workflow=none&workflow=order"),
		"querry":                           append(all, "querry", "workflow=none"),
		"the field query is there 2 times": append(all, "query", "workflow=none", "query", "workflow=order"),
	} {
		name, _, _ = strings.Cut(name, " is there 2")
		if p := s.post("/ui/runs/act", fields...); p.status != http.StatusBadRequest || !strings.Contains(p.body, name) {
			t.Errorf("cancel all of %v: got %d, want 400 and %q", fields[6:], p.status, name)
		}
	}
	for path, fields := range map[string][]string{
		"/ui/runs/o-1/act/cancel":   {"reson", "none"},
		"/ui/workflows/order/start": {"input", "{}", "versoin", "7"},
		"/ui/prefs":                 {"them", "dark"},
	} {
		if p := s.post(path, fields...); p.status != http.StatusBadRequest || !strings.Contains(p.body, fields[len(fields)-2]) {
			t.Errorf("%s %v: got %d, want 400 and the name", path, fields, p.status)
		}
	}
	for path, name := range map[string]string{
		"/ui/runs?statuss=failed": "statuss", "/ui/runs?attr.a=1&attr.a=2": "attr.a", "/ui/failures?worklow=order": "worklow", "/ui/hooks?rum=o-1": "rum",
		"/ui/runs/o-1/events?typ=run_created": "typ", "/ui/failures?workflow=a%20b": "workflow", "/ui/workflows/order/start?version=2abc": "2abc",
		"/ui/workflows/order/start?version=-1": "-1",
	} {
		if p := s.get(path); p.status != http.StatusBadRequest || !strings.Contains(p.body, name) {
			t.Errorf("%s: got %d, want 400 and %q", path, p.status, name)
		}
	}
	s.want("/ui/failures?workflow=none", "<option selected>none</option>", "Nothing failed")
	s.want("/ui/runs?workflow=order&sort=span&refresh=1", "o-1")
	if p := s.post("/ui/workflows/order/start", "input", `{"customer":"ann","cents":1}`, "attributes", "city=Ulm\ncity = Bonn"); p.status != http.StatusBadRequest ||
		!strings.Contains(p.body, "is there twice") {
		t.Errorf("an attribute twice: got %d, want 400", p.status)
	}
	if info, err := s.App.Get(t.Context(), "o-1"); err != nil || info.Status.Terminal() {
		t.Errorf("the run is %s, %v: a form that was refused did something", info.Status, err)
	}
}
