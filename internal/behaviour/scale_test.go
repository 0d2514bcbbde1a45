package behaviour_test

// Waiting holds nothing: what many sleeping runs cost the process that they wait in.

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stepwell/stepwell/internal/sample"
)

// buildProgram builds a program of ours without the race detector, which makes pure-Go SQLite eight times slower.
func buildProgram(t testing.TB, pkg string) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), filepath.Base(pkg)+".exe")
	build := exec.CommandContext(t.Context(), "go", "build", "-race=false", "-ldflags=-s -w", "-o", bin, pkg)
	build.Env = append(build.Environ(), "CGO_ENABLED=0") // as make check builds: most is compiled then
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", pkg, err, out)
	}
	return bin
}

// sleepersReport is what internal/tools/sleepers writes.
type sleepersReport struct {
	Created                 time.Duration
	Counters                struct{ Commits, Groups, Looks, Statements int64 }
	Disk                    float64
	Idle, Asleep, Collected struct {
		RSS, Anonymous, Heap int64
		Goroutines           int
	}
	Early, Disorder, Claims int
	Late                    []float64
	ClaimNs                 int64
}

// TestWaitingHoldsNothing: 10,000 sleeping runs, and 100,000 with -sample.all, hold no goroutine but those of the bounded cache, and little memory; 1,000 of them that
// fall due are taken in the order of their times, and none early.
func TestWaitingHoldsNothing(t *testing.T) {
	const (
		due    = 1_000
		cached = 1_000 // the default: machines that are kept
		few    = 10    // goroutines that come and go: connections, timers
	)
	asleep, most := 9_000, int64(75<<20)
	if sample.All() {
		asleep, most = 99_000, 150<<20
	}
	bin := buildProgram(t, "github.com/stepwell/stepwell/internal/tools/sleepers")
	cmd := exec.CommandContext(t.Context(), bin, "-db", filepath.Join(t.TempDir(), "runs.db"), "-asleep", strconv.Itoa(asleep), "-due", strconv.Itoa(due))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	began := time.Now()
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	var r sleepersReport
	if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
		t.Fatalf("%v\n%s", err, &stdout)
	}
	t.Logf("%d runs asleep after %.1f s (%.0f/s), %s in all", asleep, r.Created.Seconds(), float64(asleep)/r.Created.Seconds(), time.Since(began).Round(100*time.Millisecond))
	t.Logf("%d commits in %d groups, %d looks for work, %d statements; %.0f bytes of disk a run", r.Counters.Commits, r.Counters.Groups, r.Counters.Looks, r.Counters.Statements, r.Disk)
	t.Logf("resident %.1f MB (before the first run %.1f), of which %.1f MB are not pages of files; heap %.1f MB; %d goroutines (before %d)",
		float64(r.Asleep.RSS)/1e6, float64(r.Idle.RSS)/1e6, float64(r.Asleep.Anonymous)/1e6, float64(r.Collected.Heap)/1e6, r.Asleep.Goroutines, r.Idle.Goroutines)
	t.Logf("late by %.1f ms (median), %.1f (99 %%), %.1f (most); a look for work takes %s", r.Late[0], r.Late[1], r.Late[2], time.Duration(r.ClaimNs))

	if got, want := r.Asleep.Goroutines, r.Idle.Goroutines+cached+few; got > want {
		t.Errorf("%d goroutines, want at most %d: those before the first run, and the cache's", got, want)
	}
	if r.Asleep.RSS > most || r.Asleep.Heap > most {
		t.Errorf("the process holds %d bytes, its heap %d; want at most %d", r.Asleep.RSS, r.Asleep.Heap, most)
	}
	if least := int64(asleep); r.Counters.Commits < least || r.Counters.Commits > least+least/10 {
		t.Errorf("%d runs were put to sleep in %d commits, want about one each: birth, wait and release", asleep, r.Counters.Commits)
	}
	if r.Claims != due || r.Early > 0 || r.Disorder > 0 {
		t.Errorf("%d runs were claimed, %d early, %d after one that was due later; want %d, 0, 0", r.Claims, r.Early, r.Disorder, due)
	}
}
