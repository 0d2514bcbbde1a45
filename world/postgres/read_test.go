package postgres

import (
	"testing"

	"github.com/stepwell/stepwell/world"
)

// Texts that no row can have are looked for in vain, not refused by the server.
func TestTextsThatNoRowHas(t *testing.T) {
	t.Parallel()
	w := open(t)
	for _, id := range []string{"", "a\x00b", "\xff", "wrun_none"} {
		_, err := w.Run(t.Context(), id)
		wantErr(t, err, world.ErrNotFound)
		_, err = w.Events(t.Context(), id, world.EventQuery{})
		wantErr(t, err, world.ErrNotFound)
		for _, q := range []world.HookQuery{{Run: id}, {Token: id}} {
			if got, err := w.Hooks(t.Context(), q); err != nil || len(got) != 0 {
				t.Errorf("hooks %+v: got %v, %v", q, got, err)
			}
		}
		for _, q := range []world.RunQuery{{Workflow: id}, {Status: []world.Status{world.Status(id)}}} {
			if got, err := w.Runs(t.Context(), q); err != nil || len(got.Runs) != 0 || got.Cursor != "" {
				t.Errorf("runs %+v: got %v, %v", q, got, err)
			}
		}
		if got, err := w.Tasks(t.Context(), id); err != nil || len(got) != 0 {
			t.Errorf("tasks of %q: got %v, %v", id, got, err)
		}
	}
}
