package cli

// Limits on the command line.

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/sqlite"
)

func TestLimits(t *testing.T) {
	onPlaces(t, sqlite.Options{Now: func() time.Time { return now }}, func(t *testing.T, w *sqlite.World) {
		imports := stepwell.Define("import", func(_ stepwell.Context, in string) (string, error) { return in, nil },
			stepwell.Limit{AtOnce: 2, Key: stepwell.KeyOf(func(in string) string { return in })}, stepwell.Limit{AtOnce: 9, Name: "all", UntilEnd: true})
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
	s.says(`{"name":"import","number":2,"said":2,"runs":true}`, "limits", "list", "--json")
	s.says("limit import: 2 at once of each key; counts runs at work\nKEY  IN USE  IN LINE  OLDEST\nann       2        2  ", "limits", "show", "import")
	s.says(`in line for limit "import", key "ann", of which 2 may be at work at once: behind one run`, "runs", "show", "r3")
	s.says("holders:  stepwell limits holders import ann", "runs", "show", "r3")
	s.says("look:     stepwell limits show import", "runs", "show", "r3")
	s.says("HOLDER  IS\nr0      run of import\nr1      run of import\n", "limits", "holders", "import", "ann")
	s.says(`{"run":"r0","name":"import"}`, "limits", "holders", "import", "ann", "--json", "--limit", "1")
	s.says("r1      run of import", "limits", "holders", "all")
	for want, args := range map[string][]string{
		"there may be more: --limit 1000\n": {"ann", "--limit", "1"},
		"nothing holds a place of limit import without a key; its keys:  stepwell limits show import": nil,
		"nothing holds a place of key bob of limit import\n":                                          {"bob"},
	} {
		args = slices.Concat([]string{"limits", "holders", "import"}, args, s.where)
		if code, _, errs := s.call.do(s.Context(), args...); code != 0 || !strings.HasPrefix(errs, want) {
			s.Errorf("%q: exit code %d, %q; want %q", args, code, errs, want)
		}
	}
	s.refuses(3, "limits list", "limits", "holders", "nobody")
	s.refuses(2, "want 1 to 1000", "limits", "holders", "import", "--limit", "0")
	s.says("# how many of its places are held, and how long the lines are", "runs", "show", "r3")
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

// TestLimitWeights: which keys have more places than others is shown, and that a limit is of steps.
func TestLimitWeights(t *testing.T) {
	onPlaces(t, sqlite.Options{Now: func() time.Time { return now }}, func(t *testing.T, w *sqlite.World) {
		imports := stepwell.Define("import", func(_ stepwell.Context, in string) (string, error) { return in, nil },
			stepwell.Limit{AtOnce: 1, Key: stepwell.KeyOf(func(in string) string { return in })})
		app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{imports}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Join(t.Context(), world.Worker{ID: "wrk_a", Lease: time.Hour, Steps: []string{"charge"}, StepLimits: []world.SaidLimit{
			{Name: "bank", Number: 7}, {Name: "calls", Number: 5, Per: time.Minute}, {Name: "import", Number: 1, Path: "to", Weights: map[string]int{"ann": 3}},
		}}); err != nil {
			t.Fatal(err)
		}
		for _, tenant := range []string{"ann", "ann", "ann", "ann", "bob", "bob"} {
			if _, err := imports.Start(t.Context(), app, tenant); err != nil {
				t.Fatal(err)
			}
		}
	}, func(s *prompt) {
		out := s.says("steps at work; weights: 1 key", "limits", "list")
		for _, want := range []string{"steps at work\n", "steps that begin in 1m\n"} {
			if !strings.Contains(out, want) {
				s.Errorf("limits list: got %q, want %q", out, want)
			}
		}
		out = s.says("WEIGHT", "limits", "show", "import")
		if lines := strings.Split(out, "\n"); len(lines) < 4 || strings.Join(strings.Fields(lines[2])[:3], " ") != "ann 3 1" || !strings.HasSuffix(lines[2], "  3") || !strings.HasSuffix(lines[3], "  1") {
			s.Errorf("limits show: got %q", out)
		}
		s.says(`"weights":{"ann":3}`, "limits", "show", "import", "--json")
		s.says(`"key":"ann","used":3,"waiting":1,"weight":3`, "limits", "show", "import", "--json")
	})
}
