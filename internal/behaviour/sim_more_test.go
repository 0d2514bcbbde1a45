package behaviour_test

// This file has what happens in some simulations alone: restarts in place, hooks that are silent, and runs of what no
// worker has.

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// restart begins a run anew in its place.
func (s *simulation) restart(ctx context.Context, app *stepwell.App, run string) error {
	made, err := app.Restart(ctx, run, stepwell.RestartOptions{InPlace: true})
	if err == nil && !made.Existed() {
		s.restarts.Add(1)
	}
	return err
}

// attends is what somebody does about a hook that has a heartbeat: he says now and then that he is still at it, and
// most times nothing; nil: it is sent a payload.
func (s *simulation) attends(h world.HookRow, rnd *rand.Rand) func(*stepwell.App) error {
	if !bytes.HasPrefix(h.Metadata, []byte(`{"$heartbeat":`)) {
		return nil
	}
	switch h.CreatedAt.UnixMilli() % 3 {
	case 0: // he is gone
		return func(*stepwell.App) error { return nil }
	case 1:
		if rnd.IntN(8) > 0 {
			return func(app *stepwell.App) error {
				s.beaten.Add(1)
				return app.HeartbeatHook(context.Background(), h.Token, fmt.Sprint(h.Token))
			}
		}
	}
	return nil
}

// simNowhere is a workflow that no worker has, and simFailUnknown how long that may be so.
const (
	simNowhere     = "nowhere"
	simFailUnknown = 90 * time.Second
)

// failUnknown is what workers are told of such workflows, in one simulation of five; 0: nothing.
func (s *simulation) failUnknown() time.Duration {
	if s.seed%5 != 2 {
		return 0
	}
	return max(simFailUnknown/s.haste, time.Second)
}

// startNowhere starts a run that nobody can work on.
func (s *simulation) startNowhere(ctx context.Context) {
	if s.failUnknown() == 0 {
		return
	}
	s.creating.Add(1)
	s.others.Go(func() {
		defer s.creating.Add(-1)
		rnd := rand.New(rand.NewPCG(s.seed, 5))
		err := s.insist(ctx, rnd, func(app *stepwell.App) error {
			_, err := app.Start(ctx, simNowhere, []byte(`{"op":"seq","name":"nowhere"}`), stepwell.RunID(fmt.Sprintf("nowhere-%d", s.seed)))
			return err
		}, stepwell.ErrRunExists)
		if err != nil && err != stepwell.ErrRunExists {
			s.problem("start of a run that nobody can work on: %v", err)
		}
	})
}

// checkNowhere: such a run fails, and not before its time, unless somebody has ended it.
func (s *simulation) checkNowhere(r *simRun, seen *simCoverage) {
	problem := s.under(r)
	checkLog(problem, r.ID, r.events)
	last := &r.events[len(r.events)-1]
	switch {
	case last.Type == world.RunCancelled:
	case last.Type != world.RunFailed || last.Error == nil || last.Error.Code != world.CodeNoWorker:
		problem("no worker has its workflow, and it ended with %s, %v", last.Type, last.Error)
	case last.Time.Sub(r.events[0].Time) < s.failUnknown():
		problem("it failed after %s, want %s", last.Time.Sub(r.events[0].Time), s.failUnknown())
	default:
		seen.note("failed as nobody has it")
	}
}
