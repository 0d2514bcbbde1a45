package behaviour_test

import (
	"path/filepath"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// A filter that nothing fits looks at a bounded number of runs, says how far it came, and goes on behind its cursor.
func TestAPageOfAFilterIsBounded(t *testing.T) {
	t.Parallel()
	const runs = 1200 // more than a page looks at
	for name, w := range map[string]world.World{"memory": memory.New(), "sqlite": openFile(t, filepath.Join(t.TempDir(), "runs.db"))} {
		app, err := stepwell.New(w, stepwell.Config{})
		if err != nil {
			t.Fatal(err)
		}
		flow := stepwell.Define("none", func(stepwell.Context, int) (int, error) { return 0, nil })
		for i := range runs {
			if _, err := flow.Start(t.Context(), app, i); err != nil {
				t.Fatal(err)
			}
		}
		f := stepwell.ListFilter{Input: -1}
		first, err := app.Page(t.Context(), f, "", 10)
		if err != nil || len(first.Runs) != 0 || first.Cursor == "" || first.Reached.IsZero() {
			t.Errorf("%s: the first page is %+v, %v; want it empty, with a cursor and a time", name, first, err)
		}
		second, err := app.Page(t.Context(), f, first.Cursor, 10)
		if err != nil || len(second.Runs) != 0 || second.Cursor != "" {
			t.Errorf("%s: the second page is %+v, %v; want it to be the end", name, second, err)
		}
	}
}
