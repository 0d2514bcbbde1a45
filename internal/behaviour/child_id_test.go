package behaviour_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// TestAChildWhoseChosenIDChanges: the child that was started stands, and ID returns it; strict mode reports the
// difference.
func TestAChildWhoseChosenIDChanges(t *testing.T) {
	kid := stepwell.Define("kid", func(ctx stepwell.Context, n int) (int, error) { return n, stepwell.Sleep(ctx, "nap", time.Minute) })
	code := func(id string) *stepwell.Workflow[int, []string] {
		return stepwell.Define("renames", func(ctx stepwell.Context, _ int) ([]string, error) {
			if _, err := add("work", 1)(ctx); err != nil {
				return nil, err
			}
			var ids []string
			var last *stepwell.ChildRun[int]
			for _, suffix := range []string{"-a", "-b", "-c"} {
				last = kid.Child(stepwell.RunID(id+suffix)).Start(ctx, 1)
				ids = append(ids, last.ID())
			}
			_, err := last.Get(ctx)
			return ids, err
		})
	}
	for _, strict := range []bool{false, true} {
		t.Run(map[bool]string{false: "stands", true: "strict"}[strict], func(t *testing.T) {
			t.Parallel()
			across(t, kinds, modes[:1], func(r *rig) {
				before, after := code("first"), code("second")
				wk := r.begin(before, kid)
				run := start(r, wk, before, 0)
				until(r, "the child", func() bool { return r.count(run.ID(), world.StepCreated, "kid") == 3 })
				wk.stop(r)
				r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{after, kid}, Strict: strict})
				if !strict {
					want(r, run, []string{"first-a", "first-b", "first-c"})
					return
				}
				b := r.blocked(run.ID())
				if b.Code != world.CodeDiverged || !strings.Contains(b.Message, "with ID first-a") || !strings.Contains(b.Message, "with ID second-a") {
					r.Errorf("blocked = %s: %s, want DIVERGED, and both IDs", b.Code, b.Message)
				}
			})
		})
	}
}
