package sqlite

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
)

// TestMendLimits: what keys hold is counted anew, and who has lost his place in line stands there again; the doctor
// names both before.
func TestMendLimits(t *testing.T) {
	t.Parallel()
	d := &damagedFile{path: filepath.Join(t.TempDir(), "runs.db")}
	w := d.Open(t)
	t.Cleanup(func() { _ = w.Close() })
	wk := world.Worker{ID: world.NewID(world.PrefixWorker, time.Now()), Lease: time.Minute, Classes: []world.Class{{Workflow: "w", Version: 1}}}
	if _, err := w.Join(t.Context(), wk); err != nil {
		t.Fatal(err)
	}
	var all []string
	for i := range 3 {
		c := &world.Commit{ID: [16]byte{byte(i + 1)}, Run: fmt.Sprint("run-", i), First: 1, Events: []world.Event{{
			Type: world.RunCreated, Time: world.Now(), Payload: []byte("1"),
			Birth: &world.Birth{Workflow: "w", Version: 1, Priority: 1, Places: []world.Place{{Limit: "bank", Key: "ann", Number: 1}}},
		}}}
		if _, err := w.Commit(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		all = append(all, c.Run)
	}
	claim := func() []world.ClaimedRun {
		t.Helper()
		got, err := w.Claim(t.Context(), world.ClaimQuery{Worker: wk.ID, Classes: wk.Classes, Runs: 10})
		if err != nil {
			t.Fatal(err)
		}
		return got.Runs
	}
	counts := func(want ...string) {
		t.Helper()
		found, err := world.Findings(t.Context(), w.Abilities().Doctor)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(found, func(f world.Finding) bool { return f.Check == "counts" })
		if bad := found[i].Health != world.HealthGood; bad != (len(want) > 0) {
			t.Errorf("the doctor says %+v", found[i])
		}
		for _, what := range want {
			if !strings.Contains(found[i].Found, what) {
				t.Errorf("the doctor says %q, want %q in it", found[i].Found, what)
			}
		}
	}
	held := claim()
	if len(held) != 1 || held[0].Run != all[0] {
		t.Fatalf("got %+v, want the first alone", held)
	}
	counts()
	for _, text := range []string{"UPDATE limit_keys SET used = 5, live = 7", "DELETE FROM limit_line"} {
		if n := d.do(t, text); n == 0 {
			t.Fatalf("%s: nothing was changed", text)
		}
	}
	counts(`limit bank, key "ann": 1 places are held, counted as 5`, "2 runs or tasks wait for a place of a limit and stand in no line")
	for _, want := range []string{"counts corrected: 3", "counts corrected: 0"} {
		found, err := w.Abilities().Mender.Mend(t.Context())
		if err != nil || !slices.ContainsFunc(found, func(f world.Finding) bool { return f.Found == want }) {
			t.Fatalf("mended: %+v, %v; want %q", found, err, want)
		}
	}
	counts()
	if more := claim(); len(more) != 0 {
		t.Errorf("got %+v beside who holds the only place", more)
	}
	for i := range all {
		end := &world.Commit{
			ID: [16]byte{byte(9 + i)}, Run: all[i], Worker: wk.ID, Claim: held[0].Claim, First: 2,
			Events: []world.Event{{Type: world.RunFailed, Time: world.Now(), Error: &world.Error{Message: "no"}}},
		}
		if _, err := w.Commit(t.Context(), end); err != nil {
			t.Fatal(err)
		}
		if held = claim(); i+1 < len(all) && (len(held) != 1 || held[0].Run != all[i+1]) {
			t.Fatalf("got %+v, want %s", held, all[i+1])
		}
	}
	counts()
	if n := d.do(t, "DELETE FROM limit_keys"); n != 0 {
		t.Errorf("%d keys are left, which no run needs", n)
	}
}
