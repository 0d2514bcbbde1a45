package main

// Limits on the command line.

import (
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/limit"
	"github.com/stepwell/stepwell/world/sqlite"
)

func TestLimits(t *testing.T) {
	onPlaces(t, sqlite.Options{Now: func() time.Time { return now }}, func(t *testing.T, w *sqlite.World) {
		imports := stepwell.Define("import", func(_ stepwell.Context, in string) (string, error) { return in, nil },
			limit.Concurrency(2, limit.Key(func(in string) string { return in })), limit.Concurrency(9, limit.Name("all"), limit.UntilEnd()))
		app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{imports}})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 4 {
			id := "r" + string(rune('0'+i))
			if _, err := imports.Start(t.Context(), app, "ann", stepwell.RunID(id)); err != nil {
				t.Fatal(err)
			}
		}
	}, walkLimits)
}

func walkLimits(s *prompt) {
	out := s.says("import", "limits", "list")
	if !strings.Contains(out, "runs until their end") || !strings.Contains(out, "runs at work") {
		s.Errorf("limits list: got %q", out)
	}
	s.says(`{"name":"import","number":2,"said":2}`, "limits", "list", "--json")
	s.says("limit import: 2 at once of each key; counts runs at work\nKEY  IN USE  IN LINE  OLDEST\nann       2        2  ", "limits", "show", "import")
	s.says(`in line for limit "import", key "ann", of which 2 may be at work at once: behind one run`, "runs", "show", "r3")
	s.says("look:    stepwell limits show import", "runs", "show", "r3")
	lists := s.says(`in line for limit "import", key "ann"`, "runs", "list", "--status", "limited")
	if strings.Contains(lists, "r1") || !strings.Contains(lists, "r2") || !strings.Contains(lists, "r3") {
		s.Errorf("runs list: got %s", lists)
	}
	s.says(`"limit":"import","limitKey":"ann"`, "runs", "list", "--json")
	s.says("limit import: 3 at once", "limits", "set", "import", "3")
	s.says("code says 2", "limits", "show", "import")
	s.says(`"keys":[{"key":"ann","used":3,"waiting":1,"oldest":"`, "limits", "show", "import", "--json")
	s.says(`"number":0`, "limits", "set", "import", "0", "--json")
	s.says("held by limit", "runs", "show", "r3")
	s.says("2 at once, as in the code", "limits", "set", "import", "code")
	s.says("(none)", "limits", "show", "all")
	s.refuses(3, "limits list", "limits", "show", "nobody")
	s.refuses(3, "limits list", "limits", "set", "nobody", "1")
	s.refuses(2, "nothing was changed", "limits", "set", "import", "many")
	s.refuses(2, "nothing was changed", "limits", "set", "import", "1000001")
	s.refuses(2, "want 1 to 1000", "limits", "show", "import", "--limit", "0")
}
