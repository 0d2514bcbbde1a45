package floor

// This file runs pgbench -N: a select, an update and an insert of one row each, and a commit.

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"time"
)

var tps = regexp.MustCompile(`(?m)^tps = ([0-9.]+)`)
var millis = regexp.MustCompile(`(?m)^latency average = ([0-9.]+) ms`)

func (f *Floor) pgbench(ctx context.Context) error {
	if out, err := exec.CommandContext(ctx, f.Pgbench, "-i", "-q", "-s", "10", f.Store.URL).CombinedOutput(); err != nil {
		return fmt.Errorf("pgbench -i: %w\n%s", err, out)
	}
	if err := f.Begin(); err != nil {
		return err
	}
	seconds := max(1, int(f.Time.Seconds()))
	out, err := exec.CommandContext(ctx, f.Pgbench, "-n", "-N", "-c", strconv.Itoa(f.Concurrency), "-j", strconv.Itoa(min(f.Concurrency, 2)),
		"-T", strconv.Itoa(seconds), f.Store.URL).CombinedOutput()
	if err != nil {
		return fmt.Errorf("pgbench: %w\n%s", err, out)
	}
	rate, latency := tps.FindSubmatch(out), millis.FindSubmatch(out)
	if rate == nil || latency == nil {
		return fmt.Errorf("pgbench says no rate:\n%s", out)
	}
	perS, _ := strconv.ParseFloat(string(rate[1]), 64)
	f.Result.Over(int64(perS*float64(seconds)), 0, time.Duration(seconds)*time.Second)
	f.Result.P50, _ = strconv.ParseFloat(string(latency[1]), 64) // it is the mean
	return f.End()
}
