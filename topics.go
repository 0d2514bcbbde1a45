package stepwell

// What an App does for topics while it runs: see package topic.

import (
	"cmp"
	"context"

	"github.com/stepwell/stepwell/internal/courier"
	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/internal/spread"
	"github.com/stepwell/stepwell/world"
)

// courierOf spreads what is published, and starts runs for it. Endpoints are the server's.
func courierOf(a *App) *courier.Courier {
	return &courier.Courier{
		Spread: spread.Of(a.world), Notifier: a.world, Log: a.cfg.Logger, Drain: cmp.Or(a.cfg.Drain, engine.DefaultDrain), Poll: a.cfg.Poll,
		Work: func(s *world.Subscription) *courier.Work {
			if s.Workflow == nil {
				return nil
			}
			return courier.Starts(s, a.cfg.Logger, func(ctx context.Context, s *courier.Start) error { return startPublished(ctx, a, s) })
		},
	}
}

// startPublished starts a run of a workflow that somebody has told of: before that nobody knows what fits it.
func startPublished(ctx context.Context, a *App, s *courier.Start) error {
	if a.known[world.Class{Workflow: s.Workflow, Version: s.Version}] == nil {
		known, err := a.book.Workflow(ctx, s.Workflow)
		if err != nil {
			return err
		}
		if _, ok := known.Version(s.Version); !ok {
			return courier.ErrNobody
		}
	}
	_, err := a.Start(ctx, s.Workflow, s.Input, Key(s.Key), Version(s.Version), Attributes(s.Attributes), Tags(s.Headers), ackOption(s.Receipt))
	return err
}
