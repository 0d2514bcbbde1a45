package server

// This file holds what can be done to many runs.

import (
	"context"
	"errors"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// bulkAct is what can be done to many runs: which are meant unless told, how many at once, and how.
type bulkAct struct {
	status   []world.Status
	parallel int
	act      func(s *Server, b *bulk) stepwell.Act
}

// errAlready says that a run is as it was to be.
var errAlready = errors.New("it is so already")

var live = []world.Status{world.Pending, world.Running}

// How many runs are acted on at once: they share the database's transactions. A retry and a wake read a run's log, and a retry keeps it in memory.
const (
	bulkParallel  = 16
	retryParallel = 4
)

var bulkActs = map[string]bulkAct{
	"cancel": {live, bulkParallel, func(s *Server, b *bulk) stepwell.Act {
		return func(ctx context.Context, r stepwell.RunInfo) error { return s.app.Cancel(ctx, r.ID, b.Reason) }
	}},
	"pause": {live, bulkParallel, func(s *Server, b *bulk) stepwell.Act {
		return unless(true, func(ctx context.Context, r stepwell.RunInfo) error { return s.app.Pause(ctx, r.ID, b.Reason) })
	}},
	"resume": {live, bulkParallel, func(s *Server, _ *bulk) stepwell.Act {
		return unless(false, func(ctx context.Context, r stepwell.RunInfo) error { return s.app.Resume(ctx, r.ID) })
	}},
	"wake": {[]world.Status{world.Running}, bulkParallel, func(s *Server, _ *bulk) stepwell.Act {
		return func(ctx context.Context, r stepwell.RunInfo) error {
			n, err := s.app.Wake(ctx, r.ID)
			if n == 0 && err == nil {
				err = errAlready
			}
			return err
		}
	}},
	"retry": {[]world.Status{world.Failed}, retryParallel, func(s *Server, _ *bulk) stepwell.Act {
		return func(ctx context.Context, r stepwell.RunInfo) error {
			retried, err := s.app.Retry(ctx, r.ID)
			if err == nil && retried.Existed() {
				err = errAlready
			}
			return err
		}
	}},
	"signal": {live, bulkParallel, func(s *Server, b *bulk) stepwell.Act {
		return func(ctx context.Context, r stepwell.RunInfo) error {
			return s.app.Signal(ctx, r.ID, b.Event, b.Payload, stepwell.DeliveryID(b.Delivery))
		}
	}},
}

// unless leaves out runs that are paused, or are not. What waits in an inbox may say otherwise: such a run is not left out.
func unless(paused bool, act stepwell.Act) stepwell.Act {
	return func(ctx context.Context, r stepwell.RunInfo) error {
		if q := r.Queue; q != nil && q.Paused == paused && q.Mail == 0 {
			return errAlready
		}
		return act(ctx, r)
	}
}
