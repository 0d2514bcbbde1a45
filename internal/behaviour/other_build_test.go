package behaviour_test

// Runs that one build blocks and another does not: while both are alive, whichever claims them.

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// TestAnotherBuildTriesAtOnce: in a roll-back, and while a deploy goes on, a run that one build blocks goes on with another, within seconds.
func TestAnotherBuildTriesAtOnce(t *testing.T) {
	const runs = 40
	bad := badDeploys[0].deploy
	for _, first := range []string{"bad", "good"} {
		t.Run(first+" worker first", func(t *testing.T) {
			onWorlds(t, func(r *rig) {
				worker := func(d deploy) *worker {
					return r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{d.define()}, Build: d.build, Name: "w-" + d.build})
				}
				old := worker(goodDeploy)
				wf := goodDeploy.define()
				var ids []string
				for range runs {
					run := start(r, old, wf, struct{}{})
					ids = append(ids, run.ID())
					if err := numbers.Send(r.ctx, old.App, run.ID(), number{N: 100}); err != nil {
						r.Fatal(err)
					}
				}
				r.pass(time.Second) // all sleep
				old.stop(r)
				if first == "bad" {
					worker(bad)
					r.pass(3 * time.Minute) // the pauses have grown
					b := r.blocked(ids[0])
					if want := fmt.Sprintf("in             build %s, worker w-%s", bad.build, bad.build); b.Code == world.CodeDiverged && !strings.Contains(b.Message, want) {
						r.Errorf("report: %s\nwant in it %q", b.Message, want)
					}
					worker(goodDeploy)
				} else {
					worker(goodDeploy)
					worker(bad)
					r.pass(4 * time.Second) // due in a moment
				}
				r.pass(15 * time.Second)
				for _, id := range ids {
					if row := r.get(id); row.Status != world.Completed {
						r.Errorf("run %s is %s: %+v", id, row.Status, row.Queue)
					}
				}
			})
		})
	}
}

// TestTwoBuildsThatBothFail: what no build can do rests with backoff, as ever.
func TestTwoBuildsThatBothFail(t *testing.T) {
	onWorlds(t, func(r *rig) {
		code := func(build string) *worker {
			wf := stepwell.Define("fails", func(stepwell.Context, struct{}) (int, error) { panic("no " + build) })
			return r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{wf}, Build: build})
		}
		a := code("a")
		code("b")
		run := start(r, a, stepwell.Define("fails", func(stepwell.Context, struct{}) (int, error) { return 0, nil }), struct{}{})
		r.pass(10 * time.Minute)
		if b := r.blocked(run.ID()); b.Tries < 5 || b.Tries > 40 {
			r.Errorf("tried %d times in ten minutes", b.Tries)
		}
	})
}
