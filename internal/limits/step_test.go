package limits_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world/memory"
)

// TestStepsUnderARate: a registered step that is run alone has limits as any workflow, whoever runs it.
func TestStepsUnderARate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var began []time.Duration
		since := time.Now()
		charge := stepwell.DefineStep("charge", func(_ context.Context, j job) (int, error) {
			began = append(began, time.Since(since).Round(time.Second))
			return j.N, nil
		}).Alone(stepwell.Limit{Rate: 6, Per: time.Minute, Key: stepwell.KeyOf(tenantOf)})
		order := stepwell.Define("order", func(ctx stepwell.Context, j job) (sum int, err error) {
			var all []*stepwell.ChildRun[int]
			for n := range 3 {
				all = append(all, charge.Child().Start(ctx, job{j.Tenant, n}))
			}
			for _, f := range all {
				n, err := f.Get(ctx)
				if err != nil {
					return 0, err
				}
				sum += n
			}
			return sum, nil
		})
		app := run(t, memory.New(), stepwell.Config{Definitions: []stepwell.Definition{order, charge}})
		wait(t, start(t, app, order, job{"ann", 0}))
		if want := []time.Duration{0, 10 * time.Second, 20 * time.Second}; !slices.Equal(began, want) {
			t.Errorf("they began at %s, want %s", began, want)
		}
	})
}

// TestTwoScopesInOneProgram: where a step and a workflow say two scopes of one limit, the program does not begin.
func TestTwoScopesInOneProgram(t *testing.T) {
	t.Parallel()
	charge := stepwell.DefineStep("charge", func(context.Context, job) (int, error) { return 0, nil }, stepwell.Limit{Rate: 6, Per: time.Minute})
	_, err := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{charge.Alone(stepwell.Limit{Rate: 6, Per: time.Minute, Refuse: true})}})
	if want := "limit charge is defined as"; !errors.Is(err, stepwell.ErrInvalid) || !strings.Contains(err.Error(), want) {
		t.Errorf("New = %v, want an ErrInvalid with %q", err, want)
	}
	if _, err := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{charge.Alone(stepwell.Limit{Rate: 6, Per: time.Minute, Refuse: true, Name: "charges"})}}); err != nil {
		t.Errorf("New with a name of its own = %v", err)
	}
}
