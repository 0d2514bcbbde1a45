package ui_test

// Runs that are encrypted with a key that the server does not have.

import (
	"strings"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/uitest"
	"github.com/stepwell/stepwell/keyring"
	"github.com/stepwell/stepwell/server"
)

// TestSealed: of a run that the server cannot read, the pages show what is not encrypted, and say so in the place of the rest.
func TestSealed(t *testing.T) {
	t.Parallel()
	s := newSite(t, server.Options{})
	key, err := keyring.NewKey("k1")
	if err != nil {
		t.Fatal(err)
	}
	ring, err := keyring.New(key)
	if err != nil {
		t.Fatal(err)
	}
	owner, err := stepwell.New(s.World, stepwell.Config{Encryption: ring, Definitions: []stepwell.Definition{uitest.Shop}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := uitest.Shop.Start(t.Context(), owner, uitest.Order{Customer: "ada", Cents: 1}, stepwell.RunID("e-1")); err != nil {
		t.Fatal(err)
	}
	s.Until("e-1", stepwell.WhyBlocked)
	const says = "encrypted with key k1, which this server does not have"
	for path, text := range map[string]string{
		"/ui/runs/e-1": says, "/ui/runs/e-1/events": says, "/ui/runs/e-1/events/1": says, "/ui/runs/e-1/act/fork": "It cannot be shown here",
		"/ui/runs/e-1/act/restart": "It cannot be shown here", "/ui/runs": "NO_KEY",
	} {
		p := s.want(path, text)
		if strings.Contains(p.body, "sealed:") {
			t.Errorf("%s shows what is encrypted", path)
		}
		wellFormed(t, path, p.body)
	}
	if p := s.get("/ui/runs/e-1/events/1/payload"); p.status != 409 || !strings.Contains(p.body, "NO_KEY") {
		t.Errorf("the payload alone: got %d, want 409: %.300s", p.status, p.body)
	}
}
