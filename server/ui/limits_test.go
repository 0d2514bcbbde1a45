package ui_test

// Limits: what pages show of them and of their keys.

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell/server"
	"github.com/stepwell/stepwell/world"
)

func TestLimitPages(t *testing.T) {
	t.Parallel()
	s := newSite(t, server.Options{})
	s.want("/ui/limits", "There is no limit", "How many runs, steps and messages")
	for i := range 104 { // and so 102 keys: of 101 the last is on the page too
		if i == 103 {
			if p := s.want("/ui/limits/bank", "tenant-100"); strings.Contains(p.body, ">More<") {
				t.Error("a page holds one key alone")
			}
		}
		key := fmt.Sprintf("<b>tenant-%03d", max(i-2, 0)) // three runs of the first
		c := &world.Commit{ID: [16]byte{9, byte(i)}, Run: fmt.Sprint("under-", i), First: 1, Events: []world.Event{{
			Type: world.RunCreated, Time: world.Now(), Payload: []byte("1"),
			Birth: &world.Birth{Workflow: "import", Version: 7, Priority: 1, Places: []world.Place{{Limit: "bank", Key: key, Number: 2}}},
		}}}
		if _, err := s.World.Commit(s.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	s.want("/ui/limits", `<a href="/ui/limits/bank">bank</a>`, `data-label="places">2<`, "while a run works")
	p := s.want("/ui/limits/bank", "<code>&lt;b&gt;tenant-000</code>", `href="/ui/limits/bank?holders=%3Cb%3Etenant-000#holders" aria-label="2 in use: by what">2</a>`, `data-label="waiting">1<`, ">More<")
	if strings.Contains(p.body, "tenant-100") {
		t.Error("a page shows more than a hundred keys")
	}
	s.want("/ui/limits/bank?after=%3Cb%3Etenant-099", "tenant-100", "tenant-101")
	p = s.want("/ui/limits/bank?holders=%3Cb%3Etenant-000", "What holds <code>&lt;b&gt;tenant-000</code>", `<a href="/ui/runs/under-0"><code>under-0</code></a>`, "run of import", "under-1")
	if strings.Contains(p.body, "under-2<") {
		t.Error("who stands in line is among those that hold a place")
	}
	s.want("/ui/limits/bank?holders=nobody", "Nothing holds a place of it now.")
	none := 0
	if err := s.World.Limits().SetLimit(s.Context(), "bank", &none); err != nil {
		t.Fatal(err)
	}
	s.want("/ui/limits", "admits nobody", `data-label="as in the code">2<`)
	s.want("/ui/limits/bank", "0, and 2 as in the code")
	if p := s.get("/ui/limits/none"); p.status != 404 {
		t.Errorf("a limit that is none: got %d, want 404", p.status)
	}
}

// TestRatePages: a rate says its period, and of a key when the next has its turn.
func TestRatePages(t *testing.T) {
	t.Parallel()
	s := newSite(t, server.Options{})
	for i := range 2 {
		c := &world.Commit{ID: [16]byte{8, byte(i)}, Run: fmt.Sprint("paced-", i), First: 1, Events: []world.Event{{
			Type: world.RunCreated, Time: world.Now(), Payload: []byte("1"),
			Birth: &world.Birth{Workflow: "call", Version: 7, Priority: 1, Places: []world.Place{{Limit: "bank", Key: "ann", Number: 3, Per: time.Hour, Burst: 2}}},
		}}}
		if _, err := s.World.Commit(s.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	s.want("/ui/limits", "a rate: this many begin in 1h")
	s.want("/ui/limits/bank", "1h, 2 at one moment", `data-label="next">20`)
}
