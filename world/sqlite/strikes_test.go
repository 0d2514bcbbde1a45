package sqlite

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
)

// A process that ends without leaving, as one that dies does, keeps its leases in the file. The next one, which takes the lock, counts
// that against the run that got nowhere, and not against one that had got on.
func TestStrikesOfProcesses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.db")
	for life := range 4 {
		w := openAt(t, path)
		wk := join(t, w, time.Hour, class1) // a lease that no clock ends meanwhile
		if life == 0 {
			must(t, w, birthOf("stuck", "w"))
			must(t, w, eager("moves", "w", wk.ID))
		}
		seen := 0
		for _, r := range claim(t, w, wk, 10).Runs {
			seen++
			want := 0
			if r.Run == "stuck" {
				want = life
			} else {
				must(t, w, &world.Commit{ID: commitID(), Run: r.Run, Worker: wk.ID, Claim: r.Claim, First: r.Seq + 1, Events: []world.Event{
					{Type: world.SignalReceived, Time: world.Now(), Name: fmt.Sprint("s", life)},
				}})
			}
			if r.Strikes != want {
				t.Errorf("process %d: run %s: got %d strikes, want %d", life, r.Run, r.Strikes, want)
			}
		}
		if want := min(life+1, 2); seen != want {
			t.Errorf("process %d: took %d runs, want %d", life, seen, want)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
