package ui_test

// Blobs that payloads name can be loaded from the pages that show these.

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/blob"
	"github.com/stepwell/stepwell/server"
)

func TestBlobsAreLoaded(t *testing.T) {
	t.Parallel()
	type made struct{ File blob.Ref }
	maker := stepwell.Define("maker", func(ctx stepwell.Context, _ string) (made, error) {
		ref, err := stepwell.Step(ctx, "make", func(ctx context.Context) (blob.Ref, error) { return blob.From(ctx, strings.NewReader("<b>hello</b>")) })
		return made{ref}, err
	})
	s := newSite(t, server.Options{}, maker)
	if _, err := maker.Start(t.Context(), s.App, "", stepwell.RunID("m-1")); err != nil {
		t.Fatal(err)
	}
	s.Until("m-1", stepwell.WhyOver)
	p := s.want("/ui/runs/m-1", "Load the blob valu_", ", 12 B")
	links := regexp.MustCompile(`href="(/ui/runs/m-1/values/valu_[0-9A-Z]+)" download`).FindAllStringSubmatch(p.body, -1)
	if len(links) != 2 || links[0][1] != links[1][1] {
		t.Fatalf("got links %q, want one at the step's output and one at the run's", links)
	}
	got := s.get(links[0][1])
	if got.status != 200 || got.body != "<b>hello</b>" || got.header.Get("Content-Type") != "application/octet-stream" || !strings.HasPrefix(got.header.Get("Content-Disposition"), "attachment") {
		t.Errorf("got %d, %q, %v", got.status, got.body, got.header)
	}
	if p := s.get("/ui/runs/m-1/values/valu_01JD3V7Q61QK1ZXW0D8F4T6S2B"); p.status != 404 {
		t.Errorf("a value that the run does not hold: %d, want 404", p.status)
	}
	var last string
	for e, err := range s.App.Events(t.Context(), "m-1", stepwell.EventFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		last = strings.TrimPrefix(string(e.Type), "run_")
	}
	if last != "completed" {
		t.Errorf("the run is %s", last)
	}
}
