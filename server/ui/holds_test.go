package ui_test

import (
	"strings"
	"testing"

	"github.com/stepwell/stepwell/server"
)

// TestHold: the page of a workflow holds it, says so, and releases it.
func TestHold(t *testing.T) {
	t.Parallel()
	s := newSite(t, server.Options{})
	s.want("/ui/workflows/order", "Hold it")
	s.post("/ui/workflows/order/hold", "note", "the <bank> is down")
	s.want("/ui/workflows/order?did=workflow-hold", "none of its runs begins", "the &lt;bank&gt; is down", "Release")
	s.want("/ui/", "<h2>Held</h2>", `<a href="/ui/workflows/order">order</a>: 0 pending, held`, "the &lt;bank&gt; is down")
	s.want("/ui/workflows", `href="/ui/workflows/order"><span class="mark" aria-hidden="true">‖</span>held</a>`)
	s.post("/ui/workflows/order/start", "input", "{}", "id", "o-held")
	s.want("/ui/runs?status=held", "o-held", "its workflow is held", `value="held" checked`)
	s.want("/ui/runs/o-held", `href="/ui/workflows/order">Release the workflow…`)
	if p := s.get("/ui/runs?status=queued"); strings.Contains(p.body, "o-held") {
		t.Error("what is held is queued")
	}
	s.post("/ui/workflows/order/release")
	s.want("/ui/workflows/order", "Hold it")
}
