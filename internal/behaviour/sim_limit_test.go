package behaviour_test

// This file has some simulations run under a limit, and holds that no more runs are at work than it says.

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// atOnce is how many runs of a simulation are at work at once; 0: as many as there are.
func (s *simulation) atOnce() int {
	if s.seed%4 != 3 && s.seed%16 != 5 {
		return 0
	}
	return 1 + int(s.seed/4%3)
}

// limits are what the code says of it.
func (s *simulation) limits() (all []stepwell.WorkflowOption) {
	if n := s.atOnce(); n > 0 {
		if s.seed%8 == 3 { // all programs have one key
			all = append(all, stepwell.Limit{AtOnce: n, By: "op"})
		} else {
			all = append(all, stepwell.Limit{AtOnce: n})
		}
	}
	if r := s.pace(); r.Number > 0 {
		all = append(all, stepwell.Limit{Rate: r.Number, Per: r.Per, Name: simPace, Burst: r.Burst})
	}
	if n := s.stepsAtOnce(); n > 0 {
		all = append(all, ofSteps{stepwell.Limit{AtOnce: n, Name: simSteps}})
	}
	return append(all, s.single()...)
}

// simSteps is the name of the limit that registered steps of some simulations are under.
const simSteps = "sim-steps"

// stepsAtOnce is how many attempts of them run at once; 0: as many as there are.
func (s *simulation) stepsAtOnce() int {
	if s.seed%8 != 6 && s.seed%8 != 7 {
		return 0
	}
	return 1 + int(s.seed/8%2)
}

// ofSteps is a limit of the registered step, among those of the workflow.
type ofSteps struct{ stepwell.Limit }

func stepLimits(all []stepwell.WorkflowOption) (of []stepwell.StepDefinitionOption) {
	for _, o := range all {
		if l, is := o.(ofSteps); is {
			of = append(of, l.Limit)
		}
	}
	return of
}

// holdSteps counts which attempts of registered steps run.
func (s *simulation) holdSteps(ctx context.Context, runs []world.Run, over bool) {
	n := s.stepsAtOnce()
	if n == 0 {
		return
	}
	keys, err := s.below.Limits().ListLimitKeys(ctx, simSteps, "", 10)
	for _, k := range keys {
		if k.Waiting > 0 {
			s.lined.Store(true)
		}
		if k.Used > n || over && (s.haste == 1 || k.Used+k.Waiting > 0) {
			s.problem("limit of steps: %d places are held, %d stand in line; want at most %d, and none at the end", k.Used, k.Waiting, n)
		}
	}
	if err != nil {
		return // nobody has been under it yet
	}
	held := 0
	for _, r := range runs {
		tasks, err := s.below.Tasks(ctx, r.ID)
		if err != nil {
			continue
		}
		for i := range tasks {
			if tasks[i].Worker != "" {
				held++
			}
		}
	}
	if s.haste == 1 && held > n { // on a server they are read one after the other
		s.problem("limit of steps: %d attempts run, want at most %d", held, n)
	}
}

// simPace is the name of the rate that some simulations run under.
const simPace = "sim-pace"

// simRate is a rate; the zero value: none.
type simRate struct {
	Number, Burst int
	Per           time.Duration
}

// pace is that rate; of the others none.
func (s *simulation) pace() (r simRate) {
	if s.seed%4 != 1 {
		return r
	}
	return simRate{Number: 1 + int(s.seed/4%3), Per: 4 * time.Second / s.haste, Burst: 1 + int(s.seed/4%3)*int(s.seed/16%2)}
}

// simClock is a world that notes when each run begins: when it is claimed for the first time. Who claims
// a run to cancel it alone begins nothing. And it notes when one begins to gather.
type simClock struct {
	world.World
	s *simulation
}

// Claim notes what it gives.
func (c *simClock) Claim(ctx context.Context, q world.ClaimQuery) (world.Claimed, error) {
	got, err := c.World.Claim(ctx, q)
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	for _, r := range got.Runs {
		if r.Claim == 1 && !slices.ContainsFunc(r.Mail, cancels) {
			c.s.began = append(c.s.began, simBegan{r.Run, got.Now})
		}
	}
	return got, err
}

// Commit notes what is born.
func (c *simClock) Commit(ctx context.Context, of *world.Commit) (world.Committed, error) {
	done, err := c.World.Commit(ctx, of)
	if of.Birth() && of.Events[0].Birth.Gather != nil && err == nil && done.Existing == "" {
		c.s.acts.opens(c.s, of.Run)
	}
	return done, err
}

func cancels(m world.Mail) bool {
	return slices.ContainsFunc(m.Events, func(e world.Event) bool { return e.Type == world.CancelRequested })
}

// simBegan is when a run began.
type simBegan struct {
	run string
	at  time.Time
}

// holdPace counts who has begun: in no span of time more than the rate's share, a burst, and half a second's share.
func (s *simulation) holdPace(ctx context.Context) {
	r := s.pace()
	if r.Number == 0 {
		return
	}
	keys, err := s.below.Limits().ListLimitKeys(ctx, simPace, "", 10)
	for _, k := range keys {
		if k.Used > 0 || k.Waiting > 0 {
			s.problem("rate: %d are let in and have not begun, %d stand in line; want none at the end", k.Used, k.Waiting)
		}
	}
	if err != nil {
		return // nobody has been under it
	}
	s.mu.Lock()
	began := slices.Clone(s.began)
	s.mu.Unlock()
	began = slices.DeleteFunc(began, func(b simBegan) bool { // a start by name that no worker had told of it has none
		page, err := s.below.Events(ctx, b.run, world.EventQuery{Limit: 1})
		return err != nil || !slices.ContainsFunc(page.Events[0].Birth.Places, func(p world.Place) bool { return p.Limit == simPace })
	})
	slices.SortFunc(began, func(a, b simBegan) int { return a.at.Compare(b.at) })
	for i := range began {
		for j := i; j < len(began); j++ {
			if most := r.Burst + int((began[j].at.Sub(began[i].at)+time.Second/2)/(r.Per/time.Duration(r.Number))); j-i+1 > most {
				s.problem("rate: %d began from %s to %s, want %d at most of %d in %s: %v", j-i+1, began[i].at, began[j].at, most, r.Number, r.Per, began)
				return
			}
		}
	}
}

// holdLimit counts who is at work. A start by name that no worker had told of the limit has none.
func (s *simulation) holdLimit(ctx context.Context, runs []world.Run, over bool) {
	n := s.atOnce()
	if s.pace().Number > 0 {
		all, err := s.below.Limits().ListLimitKeys(ctx, simPace, "", 10)
		if err == nil && len(all) > 0 && all[0].Waiting > 0 {
			s.paced.Store(true)
		}
	}
	if n == 0 {
		return
	}
	keys, err := s.below.Limits().ListLimitKeys(ctx, "sim", "", 10)
	for _, k := range keys {
		if k.Waiting > 0 {
			s.lined.Store(true)
		}
		// On a server a key that nobody needs is there until somebody looks at its news.
		if k.Used > n || over && (s.haste == 1 || k.Used+k.Waiting > 0) {
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
