package behaviour_test

// This file has some simulations run under a limit, and holds that no more runs are at work than it says.

import (
	"context"
	"encoding/json"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/limit"
	"github.com/stepwell/stepwell/world"
)

// atOnce is how many runs of a simulation are at work at once; 0: as many as there are.
func (s *simulation) atOnce() int {
	if s.seed%4 != 3 || world.AbilitiesOf(s.below).LimitKeeper == nil {
		return 0
	}
	return 1 + int(s.seed/4%3)
}

// limits are what the code says of it.
func (s *simulation) limits() []stepwell.WorkflowOption {
	if n := s.atOnce(); n > 0 {
		return []stepwell.WorkflowOption{limit.Concurrency(n)}
	}
	return nil
}

// holdLimit counts who is at work. A start by name that no worker had told of the limit has none.
func (s *simulation) holdLimit(ctx context.Context, runs []world.Run, over bool) {
	n := s.atOnce()
	if n == 0 {
		return
	}
	keys, err := world.AbilitiesOf(s.below).LimitKeeper.Limits().ListLimitKeys(ctx, "sim", "", 10)
	for _, k := range keys {
		if k.Used > n || over {
			s.problem("limit: %d places are held, %d runs in line; want at most %d, and none at the end", k.Used, k.Waiting, n)
		}
	}
	if err != nil {
		return // nobody has been under it yet
	}
	working := 0
	for _, r := range runs {
		if r.Queue == nil || r.Queue.Owner == "" || r.Status != world.Running || r.Queue.Blocked != nil {
			continue
		}
		if page, err := s.below.Events(ctx, r.ID, world.EventQuery{Limit: 1}); err == nil && len(page.Events[0].Birth.Places) > 0 {
			working++
		}
	}
	if working > n {
		text, _ := json.Marshal(runs)
		s.problem("limit: %d runs are at work, want at most %d: %s", working, n, text)
	}
}
