package draw

import (
	"strings"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// TestValueHint: what a run refers to is shown with the command that reads it, as it is typed; what looks so is shown.
func TestValueHint(t *testing.T) {
	of := world.Apart{ID: "valu_01JD3V7Q61QK1ZXW0D8F4T6S2B", Size: 3 << 20, SHA256: strings.Repeat("0", 64)}
	p := &Run{Story: &stepwell.Story{Run: stepwell.RunInfo{ID: "r1"}}, Command: func(line string) string { return "stepwell " + line }}
	if got, want := p.value(of.JSON(), of.ID), "3.1 MB, kept apart: stepwell runs value r1 "+of.ID+" > file"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := p.value(of.JSON(), ""); !strings.HasPrefix(got, `{"stepwell:apart"`) {
		t.Errorf("what only looks like a reference is shown as %q", got)
	}
}
