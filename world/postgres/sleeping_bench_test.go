package postgres_test

// What a million sleeping runs cost, in a process of its own and on the server.

import (
	"bytes"
	"encoding/json"
	"flag"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stepwell/stepwell/internal/pgtest"
)

var sleepers = flag.Int("sleepers", 20_000, "how many runs sleep in BenchmarkSleepingRun")

// BenchmarkSleepingRun puts runs to sleep that have begun and called SleepUntil, then lets a few more fall due, one by one, and measures what internal/tools/sleepers tells of
// it; one operation is all of them. What falls due early, or in another order, fails it.
//
//	go test ./world/postgres -run '^$' -bench SleepingRun -benchtime 1x -timeout 1h -args -sleepers 1000000
func BenchmarkSleepingRun(b *testing.B) {
	const due = 300
	bin := filepath.Join(b.TempDir(), "sleepers.exe")
	if out, err := exec.CommandContext(b.Context(), "go", "build", "-race=false", "-o", bin, "../../internal/tools/sleepers").CombinedOutput(); err != nil {
		b.Fatalf("build: %v\n%s", err, out)
	}
	server := pgtest.New(b, pgtest.Config{})
	var r struct {
		Created time.Duration
		Disk    float64
		Tables  []struct {
			Name   string
			PerRun float64
		}
		Idle, Collected         struct{ RSS, Heap int64 }
		Early, Disorder, Claims int
		Late, Took              []float64
		ClaimNs                 int64
		Counters                struct{ Commits, Groups, Statements int64 }
	}
	for b.Loop() {
		cmd := exec.CommandContext(b.Context(), bin, "-db", server.URL(b), "-asleep", strconv.Itoa(*sleepers), "-clients", "256", "-due", strconv.Itoa(due), "-every", "20ms")
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Run(); err != nil {
			b.Fatalf("%v\n%s", err, &stderr)
		}
		if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
			b.Fatal(err)
		}
	}
	n := float64(*sleepers)
	b.Logf("%d runs asleep after %s; bytes a run: %.0f on disk %v; the process holds %.1f MB (%.1f before), its heap %.1f MB", *sleepers, r.Created.Round(time.Millisecond), r.Disk, r.Tables,
		float64(r.Collected.RSS)/1e6, float64(r.Idle.RSS)/1e6, float64(r.Collected.Heap)/1e6)
	b.Logf("%d commits in %d groups, %d statements; %d fell due: late by %v ms (p50, p99, most), taken in %v ms; a look that finds nothing takes %s",
		r.Counters.Commits, r.Counters.Groups, r.Counters.Statements, due, r.Late, r.Took, time.Duration(r.ClaimNs))
	if r.Early > 0 || r.Disorder > 0 || r.Claims != due {
		b.Errorf("%d claims of runs that fell due, %d early, %d after one that was due later; want %d, 0, 0", r.Claims, r.Early, r.Disorder, due)
	}
	b.ReportMetric(r.Created.Seconds(), "s-created")
	b.ReportMetric(n/r.Created.Seconds(), "runs/s")
	b.ReportMetric(r.Disk, "disk-B/run")
	b.ReportMetric(float64(r.Collected.RSS)/1e6, "resident-MB")
	b.ReportMetric(float64(r.Collected.RSS-r.Idle.RSS)/n, "resident-B/run")
	b.ReportMetric(r.Late[0], "late-p50-ms")
	b.ReportMetric(r.Late[1], "late-p99-ms")
	b.ReportMetric(r.Took[0], "take-p50-ms")
	b.ReportMetric(r.Took[1], "take-p99-ms")
	b.ReportMetric(float64(r.ClaimNs)/1e6, "empty-look-ms")
}
