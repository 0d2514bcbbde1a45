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
	env := stepwelltest.New(t, slow)
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
	stepwelltest.Start(stepwelltest.New(t, deaf), deaf, 1)
}

// TestABlobIsTheSameWhereverAWorkerDies: its ID is chance, and its bytes are not.
func TestABlobIsTheSameWhereverAWorkerDies(t *testing.T) {
	report := stepwell.Define("report", func(ctx stepwell.Context, n int) (blob.Ref, error) {
		return stepwell.Step(ctx, "write", func(ctx context.Context) (blob.Ref, error) {
			return blob.From(ctx, strings.NewReader(fmt.Sprint("report ", n)))
		})
	})
	env := stepwelltest.New(t, report)
	stepwelltest.Start(env, report, 1).MustComplete()
	env.CrashEverywhere()
}

// noted is a test that notes what it is told.
type noted struct {
	*testing.T
	errors []string
}

func (n *noted) Errorf(format string, args ...any) {
	n.errors = append(n.errors, fmt.Sprintf(format, args...))
}

// TestAMisspeltFakeIsToldOf: a fake that stands for nothing, beside a step of nearly that name.
func TestAMisspeltFakeIsToldOf(t *testing.T) {
	pay := stepwell.Define("pay", func(ctx stepwell.Context, n int) (int, error) {
		return stepwell.Step(ctx, "charge-card", func(context.Context) (int, error) { return n, nil })
	})
	for fake, told := range map[string]bool{"charge-card": false, "chrage-card": true, "ChargeCard": true, "refund": false} {
		var said *noted
		t.Run(fake, func(t *testing.T) {
			said = &noted{T: t}
			env := stepwelltest.New(said, pay)
			stepwelltest.Fake(env, fake, func(context.Context) (int, error) { return 7, nil })
			stepwelltest.Start(env, pay, 1).MustComplete()
		})
		if got := len(said.errors) > 0 && strings.Contains(said.errors[0], "misspelt"); got != told {
			t.Errorf("fake %q: told of: %v, want %v: %q", fake, got, told, said.errors)
		}
	}
}
