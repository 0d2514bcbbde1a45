package telemetry_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// Limits are told by their names, and their keys together.
func TestLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := memory.New()
		for i := range 2004 { // four runs more than keys, which are of two pages
			key := fmt.Sprint("tenant-", max(i-4, 0))
			c := &world.Commit{ID: [16]byte{1, byte(i), byte(i >> 8)}, Run: fmt.Sprint("run-", i), First: 1, Events: []world.Event{{
				Type: world.RunCreated, Time: world.Now(), Payload: []byte("1"),
				Birth: &world.Birth{Workflow: "import", Version: 1, Priority: 1, Places: []world.Place{{Limit: "bank", Key: key, Number: 2}}},
			}}}
			if _, err := w.Commit(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		const want = `
# HELP workflow_limit_places How many of one key of a limit may be at work at once: runs, steps, messages.
# TYPE workflow_limit_places gauge
workflow_limit_places{limit="bank"} 2
# HELP workflow_limit_runs Places of a limit that are held, and runs, steps and messages that stand in line for one, in the whole database. Of its keys the first 10,000 are counted, and 10,000 in the line of each.
# TYPE workflow_limit_runs gauge
workflow_limit_runs{limit="bank",state="held"} 2001
workflow_limit_runs{limit="bank",state="waiting"} 3
`
		if err := testutil.GatherAndCompare(gauges(t, w), strings.NewReader(want), "workflow_limit_places", "workflow_limit_runs"); err != nil {
			t.Error(err)
		}
		if problems, err := testutil.GatherAndLint(gauges(t, w)); err != nil || len(problems) > 0 {
			t.Errorf("lint: %v, %v", problems, err)
		}
	})
}
