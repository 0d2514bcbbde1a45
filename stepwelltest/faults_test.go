package stepwelltest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/blob"
	"github.com/stepwell/stepwell/stepwelltest"
)

// TestARunMayStandInLine: however long the run before it takes.
func TestARunMayStandInLine(t *testing.T) {
	slow := stepwell.Define("slow", func(ctx stepwell.Context, n int) (int, error) {
		return n, stepwell.Do(ctx, "work", func(context.Context) error { <-time.After(time.Hour); return nil })
	}, stepwell.Limit{AtOnce: 1})
	env := newReal(t, nil, slow)
	first, second := stepwelltest.Start(env, slow, 1), stepwelltest.Start(env, slow, 2)
	if got := second.MustComplete() + first.MustComplete(); got != 3 {
		t.Errorf("got %d, want 3", got)
	}
}

// TestATestMayEndWhileABodySleeps: one that does not heed its context.
func TestATestMayEndWhileABodySleeps(t *testing.T) {
	deaf := stepwell.Define("deaf", func(ctx stepwell.Context, n int) (int, error) {
		return n, stepwell.Do(ctx, "sleep", func(context.Context) error { <-time.After(24 * time.Hour); return nil })
	})
	stepwelltest.Start(newReal(t, nil, deaf), deaf, 1)
}

// TestABlobIsTheSameWhereverAWorkerDies: its ID is chance, and its bytes are not.
func TestABlobIsTheSameWhereverAWorkerDies(t *testing.T) {
	report := stepwell.Define("report", func(ctx stepwell.Context, n int) (blob.Ref, error) {
		return stepwell.Step(ctx, "write", func(ctx context.Context) (blob.Ref, error) {
			return blob.From(ctx, strings.NewReader(fmt.Sprint("report ", n)))
		})
	})
	env := newReal(t, nil, report)
	stepwelltest.Start(env, report, 1).MustComplete()
	env.CrashEverywhere()
}
