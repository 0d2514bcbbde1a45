package server

// This file writes to logs, inboxes and streams for remote workers and clients.

import (
	"context"
	"errors"
	"fmt"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

func wireLogRoutes() []route {
	all := []route{
		wireRoute("commit", Operator, "Make one atomic change to one run", "WireCommit", "WireCommitted", (*Server).wireCommit),
		wireRoute("outcome", Operator, "Tell whether a commit whose answer was lost was written", "WireCommit", "WireCommitted", (*Server).wireOutcome),
		wireRoute("deliver", Operator, "Send to a run's inbox, or end an attempt of a task", "WireDelivery", "WireDelivered", (*Server).wireDeliver),
		wireRoute("append", Worker, "Add chunks to a stream", "WireAppend", "WireAppended", (*Server).wireAppend),
	}
	all[0].maxBody, all[1].maxBody = commitBody, commitBody
	return all
}

// needs refuses where the key has less than a scope.
func needs(r *request, scope Scope, what string) error {
	if r.sees(scope) {
		return nil
	}
	return fmt.Errorf("%w: it is %s, and %s needs %s", errScope, r.key.Scope, what, scope)
}

// mayCommit refuses an operator whatever is more than a start: who can write a log can make it say anything.
func mayCommit(r *request, c *wire.Commit) error {
	plain := c.Worker == "" && len(c.Events) == 1 && len(c.Births)+len(c.Send)+len(c.Tasks)+len(c.Streams)+len(c.Mail)+len(c.Held)+len(c.Dropped)+len(c.Conditions) == 0
	if plain {
		b := c.Events[0].Birth
		plain = c.Events[0].Type == world.RunCreated && (b == nil || b.Parent == nil && b.Origin == nil)
	}
	if plain {
		return nil
	}
	return needs(r, Worker, "whatever is more than the start of a run")
}

func (s *Server) wireCommit(r *request, in *wire.Commit) (wire.Committed, error) {
	if err := mayCommit(r, in); err != nil {
		return wire.Committed{}, err
	}
	c := in.World()
	done, err := lasting(r.Context(), func(ctx context.Context) (world.Committed, error) {
		done, err := s.below.Commit(ctx, c)
		if in.Again && (errors.Is(err, world.ErrLeaseLost) || errors.Is(err, world.ErrRunExists)) {
			// The number is taken: perhaps by this very commit, whose first try came late.
			if known, lookErr := s.below.Outcome(ctx, c); lookErr == nil {
				return known, nil
			}
		}
		return done, err
	})
	if !r.sees(Worker) {
		s.note(r.Request, r.key.Name, r.route.op.id, c.Run, "start", err)
	}
	return wire.OfCommitted(done), err
}

func (s *Server) wireOutcome(r *request, in *wire.Commit) (wire.Committed, error) {
	if err := mayCommit(r, in); err != nil {
		return wire.Committed{}, err
	}
	done, err := s.below.Outcome(r.Context(), in.World())
	return wire.OfCommitted(done), err
}

// mayDeliver refuses an operator what only workers send, and who is no admin to end a run by force.
func mayDeliver(r *request, d *wire.Delivery) error {
	for i := range d.Events {
		switch e := &d.Events[i]; e.Type {
		case world.SignalReceived, world.HookReceived, world.CancelRequested, world.RunPaused, world.RunResumed:
		case world.WaitCompleted:
			if e.Outcome != world.OutcomeWoken {
				return needs(r, Worker, "to end a wait as "+string(e.Outcome))
			}
		case world.RunCancelled:
			if !r.sees(Admin) {
				return fmt.Errorf("%w: the key is %s", errForce, r.key.Scope)
			}
		default:
			return needs(r, Worker, "to send "+string(e.Type))
		}
	}
	if d.Task != nil {
		return needs(r, Worker, "to end an attempt of a task")
	}
	return nil
}

func (s *Server) wireDeliver(r *request, in *wire.Delivery) (wire.Delivered, error) {
	if err := mayDeliver(r, in); err != nil {
		return wire.Delivered{}, err
	}
	d := in.World()
	if !r.sees(Worker) {
		for i := range d.Events { // who it was the key says
			if e := &d.Events[i]; e.By != "" || e.Type == world.CancelRequested || e.Type == world.RunPaused || e.Type == world.RunResumed {
				e.By = r.key.Name
			}
		}
	}
	done, err := lasting(r.Context(), func(ctx context.Context) (world.Delivered, error) { return s.below.Deliver(ctx, d) })
	if !r.sees(Worker) && len(d.Events) > 0 {
		s.note(r.Request, r.key.Name, r.route.op.id, d.Run, string(d.Events[0].Type), err)
	}
	return wire.Delivered(done), err
}

func (s *Server) wireAppend(r *request, in *wire.Append) (wire.Appended, error) {
	done, err := lasting(r.Context(), func(ctx context.Context) (world.Appended, error) { return s.below.Append(ctx, in.World()) })
	return wire.Appended(done), err
}
