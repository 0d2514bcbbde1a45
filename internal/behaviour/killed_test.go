package behaviour_test

// A worker that dies at each of its commits in turn, in virtual time.

import (
	"fmt"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/sample"
)

// killedAtEachCommit has a worker die before its first commit, then another before its second, until one gets through
// alive; and the same behind each commit. Another worker goes on each time with the run that test has started, and then
// check looks at what came of it. Least is how many deaths there are, at least.
func killedAtEachCommit(t *testing.T, least int, test func(r *rig) (cfg stepwell.Config, run string, check func())) {
	for _, after := range sample.One(t, false, true) {
		t.Run(fmt.Sprintf("after=%t", after), func(t *testing.T) {
			t.Parallel()
			k := 1
			for ; killedAtCommit(t, k, after, test); k++ {
			}
			if k-1 < least {
				t.Errorf("the worker was killed at %d commits, want at least %d", k-1, least)
			}
		})
	}
}

// killedAtCommit reports whether the worker died.
func killedAtCommit(t *testing.T, k int, after bool, test func(r *rig) (cfg stepwell.Config, run string, check func())) (killed bool) {
	bubble(t, kinds[k%len(kinds)].open, modes[1].set, func(r *rig) {
		cfg, run, check := test(r)
		first := r.beginMortal(cfg, k, after)
		until(t, "a death, or the end", func() bool { return first.died.Load() || r.get(run).Status.Terminal() })
		killed = first.died.Load()
		first.stop()
		wk := r.beginWith(cfg)
		check()
		wk.stop(t)
	})
	return killed
}
