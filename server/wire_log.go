package server

// This file writes to logs, inboxes and streams for remote workers and clients.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

func wireLogRoutes() []route {
	all := []route{
		actRoute("commit", Operator, "Make one atomic change to one run", "WireCommit", "WireCommitted", (*Server).wireCommit),
		wireRoute("outcome", Operator, "Tell whether a commit whose answer was lost was written", "WireCommit", "WireCommitted", (*Server).wireOutcome),
		actRoute("deliver", Operator, "Send to a run's inbox, or end an attempt of a task", "WireDelivery", "WireDelivered", (*Server).wireDeliver),
		actRoute("key", Operator, "Say which encryption key an ID stands for, or bind it", "WireKeyQuery", "WireKeyPrint", (*Server).wireKey),
		actRoute("append", Worker, "Add chunks to a stream", "WireAppend", "WireAppended", (*Server).wireAppend),
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

// plainStart reports whether a commit is the start of a run and nothing else.
func plainStart(c *wire.Commit) bool {
	if c.Worker != "" || len(c.Events) != 1 || len(c.Births)+len(c.Send)+len(c.Tasks)+len(c.Streams)+len(c.Mail)+len(c.Held)+len(c.Dropped)+len(c.Conditions) > 0 {
		return false
	}
	b := c.Events[0].Birth
	return c.Events[0].Type == world.RunCreated && (b == nil || b.Parent == nil && b.Origin == nil)
}

// mayCommit refuses an operator whatever is more than a start: who can write a log can make it say anything. A worker writes in its own name.
func (s *Server) mayCommit(r *request, c *wire.Commit) error {
	if !plainStart(c) {
		if err := needs(r, Worker, "whatever is more than the start of a run"); err != nil {
			return err
		}
	}
	if err := s.mayActFor(r, c.Worker); err != nil {
		return err
	}
	return s.mayWrite(r, c, nil)
}

// mostSkew is how far a client's clock may be off when it starts a run. Off by more than littleSkew, the run is created at the world's time all the same: lists are
// in the order of births, and whatever a run waits for counts from its own times.
const (
	mostSkew   = 24 * time.Hour
	littleSkew = time.Second
)

// worldTime is the world's time where it tells, else this process's.
func (s *Server) worldTime() time.Time {
	if s.able.Timekeeper != nil {
		if t := s.able.Timekeeper.Time(); !t.IsZero() {
			return t
		}
	}
	return world.Now()
}

func (s *Server) wireCommit(r *request, in *wire.Commit) (wire.Committed, error) {
	if err := s.mayCommit(r, in); err != nil {
		return wire.Committed{}, err
	}
	c := in.World()
	if plainStart(in) {
		e := &c.Events[0]
		now := s.worldTime()
		off := now.Sub(e.Time)
		if off.Abs() > mostSkew {
			return wire.Committed{}, invalid("run %.100q: it starts %s off this server's clock: want %s at most", c.Run, off.Round(time.Second), mostSkew)
		}
		if off.Abs() <= littleSkew {
			now = e.Time
		}
		*e = world.Event{Seq: e.Seq, Type: e.Type, Time: now, Payload: e.Payload, Encrypted: e.Encrypted, Birth: e.Birth} // the rest others say
	}
	if err := s.app.AdmitCommit(c); err != nil {
		return wire.Committed{}, err
	}
	done, err := lasting(r.Context(), func(ctx context.Context) (world.Committed, error) {
		done, err := s.below.Commit(ctx, c)
		if errors.Is(err, world.ErrLeaseLost) || errors.Is(err, world.ErrRunExists) || err == nil && done.Existing == c.Run {
			// The number is taken: perhaps by this very commit, whose first try came late, or whose copy came to another server.
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
	if err := s.mayCommit(r, in); err != nil {
		return wire.Committed{}, err
	}
	done, err := s.below.Outcome(r.Context(), in.World())
	return wire.OfCommitted(done), err
}

// mayDeliver refuses an operator what only workers send, and who is no admin to end a run by force. Nobody else speaks for a worker.
func (s *Server) mayDeliver(r *request, d *wire.Delivery) error {
	if d.Task != nil && !wakesTask(d) {
		if err := needs(r, Worker, "to end an attempt of a task"); err != nil {
			return err
		}
	}
	if err := s.mayActFor(r, d.Worker); err != nil {
		return err
	}
	if err := s.mayReach(r, d); err != nil {
		return err
	}
	for i := range d.Events {
		if err := maySay(r, d, &d.Events[i]); err != nil {
			return err
		}
	}
	return nil
}

// wakesTask reports whether a delivery is no worker's, though it is about a task; see [world.Delivery.WakesTask].
func wakesTask(d *wire.Delivery) bool {
	return d.Task != nil && len(d.Events) == 1 && d.Events[0].Type == world.StepWoken
}

// maySay refuses an event that the key's scope does not send. The payload of a webhook comes through its own door, which looks at signatures: so
// below a worker payloads go by token, which tells what it is of.
func maySay(r *request, d *wire.Delivery, e *wire.Event) error {
	switch e.Type {
	case world.SignalReceived, world.CancelRequested, world.RunPaused, world.RunResumed, world.StepWoken:
		return nil
	case world.HookReceived:
		switch {
		case d.Token == "":
			return needs(r, Worker, "a payload for a hook that goes by its ID, as it could be a webhook's,")
		case strings.HasPrefix(d.Token, world.WebhookToken):
			return needs(r, Worker, "the payload of a webhook, which takes requests,")
		}
		return nil
	case world.WaitCompleted:
		if e.Outcome == world.OutcomeWoken {
			return nil
		}
		return needs(r, Worker, "to end a wait as "+string(e.Outcome))
	case world.RunCancelled:
		if r.sees(Admin) {
			return nil
		}
		return fmt.Errorf("%w: the key is %s", errForce, r.key.Scope)
	}
	return needs(r, Worker, "to send "+string(e.Type))
}

// plainEvent is what an operator may say in an event that is sent: the rest the server, or nobody, says.
func plainEvent(r *request, e *world.Event) world.Event {
	out := world.Event{Type: e.Type, Time: e.Time, OccurredAt: e.OccurredAt, ID: e.ID}
	switch e.Type {
	case world.SignalReceived, world.HookReceived:
		out.Name, out.Payload, out.Encrypted = e.Name, e.Payload, e.Encrypted
	case world.StepWoken:
		out.Attempt, out.By = e.Attempt, r.key.Name
	case world.WaitCompleted:
		out.Outcome, out.By = e.Outcome, r.key.Name
	case world.CancelRequested, world.RunPaused, world.RunResumed:
		out.By, out.Reason = r.key.Name, e.Reason
		if e.Type == world.RunResumed {
			out.Outcome = e.Outcome // a wake
		}
	}
	return out
}

func (s *Server) wireDeliver(r *request, in *wire.Delivery) (wire.Delivered, error) {
	if err := s.mayDeliver(r, in); err != nil {
		return wire.Delivered{}, err
	}
	d := in.World()
	if !r.sees(Worker) {
		for i := range d.Events {
			d.Events[i] = plainEvent(r, &d.Events[i])
		}
	}
	if err := s.app.AdmitDelivery(d); err != nil {
		return wire.Delivered{}, err
	}
	done, err := lasting(r.Context(), func(ctx context.Context) (world.Delivered, error) { return s.below.Deliver(ctx, d) })
	if !r.sees(Worker) && len(d.Events) > 0 {
		run := d.Run
		if d.Task != nil {
			run = d.Task.Run
		}
		s.note(r.Request, r.key.Name, r.route.op.id, run, string(d.Events[0].Type), err)
	}
	return wire.OfDelivered(done), err
}

func (s *Server) wireAppend(r *request, in *wire.Append) (wire.Appended, error) {
	if err := s.mayActFor(r, in.Worker); err != nil {
		return wire.Appended{}, err
	}
	if in.Worker == "" {
		if err := s.mayRun(r, in.Run); err != nil {
			return wire.Appended{}, err
		}
	}
	done, err := lasting(r.Context(), func(ctx context.Context) (world.Appended, error) { return s.below.Append(ctx, in.World()) })
	return wire.OfAppended(done), err
}

func (s *Server) wireKey(r *request, in *wire.KeyQuery) (wire.KeyPrint, error) {
	if s.able.KeyBook == nil {
		return wire.KeyPrint{}, fmt.Errorf("what the IDs of encryption keys stand for in the server's database: %w", world.ErrNotFound)
	}
	print, err := lasting(r.Context(), func(ctx context.Context) ([]byte, error) { return s.able.KeyBook.BindKey(ctx, in.ID, in.Print) })
	return wire.KeyPrint{ID: in.ID, Print: print}, err
}
