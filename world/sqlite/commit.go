package sqlite

import (
	"context"
	"fmt"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

// Commit writes one atomic change; see [world.Log] and [world.Commit]. Commits that arrive during a
// transaction share the next one.
func (w *World) Commit(ctx context.Context, c *world.Commit) (world.Committed, error) {
	if err := world.CheckCommit(c); err != nil {
		return world.Committed{}, err
	}
	if err := w.know(ctx, c.Worker); err != nil {
		return world.Committed{}, err
	}
	return w.send(ctx, c, nil, false)
}

// commit checks a commit and then writes it. It changes nothing, in memory neither, before the last check.
func (g *group) commit(c *world.Commit) (done world.Committed, err error) {
	if c.Birth() {
		return g.birth(c)
	}
	r, err := g.fence(c)
	if err != nil {
		return done, err
	}
	for _, k := range c.Held {
		if held, err := g.tasks.holds(c.Worker, r, k); err != nil {
			return done, err
		} else if !held {
			return done, fmt.Errorf("run %s: task %s, attempt %d: %w", c.Run, k.Step, k.Attempt, world.ErrLeaseLost)
		}
	}
	if err := g.queue.limits.may(world.TaskPlaces(c)); err != nil {
		return done, fmt.Errorf("run %s: %w", c.Run, err)
	}
	p, err := g.decide(c)
	if err != nil {
		return done, err
	}
	return g.write(c, r, &p)
}

// fence checks that the worker owns the run and that the commit is the next one.
func (g *group) fence(c *world.Commit) (*run, error) {
	lost := func() error {
		return fmt.Errorf("run %s: commit at event %d by worker %s: %w", c.Run, c.First, c.Worker, world.ErrLeaseLost)
	}
	r, err := g.runs.get(c.Run)
	if err != nil {
		return nil, err
	}
	if r == nil || !r.live || r.owner == 0 || r.claim != c.Claim || r.owner != g.workers.key(c.Worker) {
		return nil, lost()
	}
	last, err := g.logs.seq(r)
	switch {
	case err != nil:
		return nil, err
	case c.First <= last:
		return nil, lost()
	case c.First > last+1:
		return nil, fmt.Errorf("%w: run %s: commit at event %d, the next is %d", world.ErrInvalid, c.Run, c.First, last+1)
	}
	return r, nil
}

// write makes the change that was decided.
func (g *group) write(c *world.Commit, r *run, p *rules.Plan) (done world.Committed, err error) {
	g.tx.count().commits++
	g.inbox.unread(r, c.Unread)
	if p.Changed {
		done.Events = c.Written(p.Events)
	}
	queued := r.queued()
	if err := g.tx.holdTold(r.id, p.Told); err != nil {
		return done, err
	}
	if len(p.Events) > 0 {
		if err := g.logs.append(r, c.ID, c.Build, c.First, p.Events); err != nil {
			return done, err
		}
		if err := g.follow(r, p.Events, &queued); err != nil {
			return done, err
		}
	}
	if err := g.around(c, r, p); err != nil {
		return done, err
	}
	switch end := rules.End(p.Events); {
	case end != nil:
		r.class = queued.class
		return done, g.end(r, end, queued.running)
	case c.Release != nil:
		done.Mail, err = g.queue.release(c, r, queued)
		return done, err
	}
	return done, g.queue.update(r, queued)
}

// follow keeps rows beside the log in step with its events.
func (g *group) follow(r *run, events []world.Event, q *queued) (err error) {
	if err := followListens(&g.tx, r, events); err != nil {
		return err
	}
	for i := range events {
		e := &events[i]
		if paused, says := e.Pauses(); says {
			q.paused = paused
		}
		switch e.Type {
		case world.StepStarted, world.StepCompleted, world.StepCreated, world.StepFailed, world.StepRetrying, world.StepWoken,
			world.WaitCreated, world.WaitCompleted, world.SignalReceived, world.HookReceived, world.HookConflict,
			world.RunCreated, world.RunCompleted, world.RunFailed, world.RunCancelled,
			world.RunPaused, world.RunResumed, world.CancelRequested, world.InputReceived:
		case world.RunStarted:
			q.running = true
			if q.class, err = g.classes.moved(q.class, e.Version); err != nil {
				return err
			}
		case world.RunContinued:
			if err := g.continued(r, e); err != nil {
				return err
			}
			if err := g.keeper.beginSegment(r, e, r.last-int64(len(events)-1-i)); err != nil {
				return err
			}
			if q.class, err = g.classes.moved(q.class, e.Next.Version); err != nil {
				return err
			}
		case world.AttrSet:
			if err := g.attributes.set(r, e.Name, e.Payload); err != nil {
				return err
			}
		case world.HookCreated:
			if err := g.hooks.add(r, e); err != nil {
				return err
			}
		case world.HookDisposed:
			if err := g.hooks.drop(r, e.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// blob keeps nil as null.
func blob(b []byte) any {
	if b == nil {
		return nil
	}
	return b
}

// around writes what a commit brings beside its events.
func (g *group) around(c *world.Commit, r *run, p *rules.Plan) error {
	for _, number := range c.Mail {
		if err := g.inbox.drop(r, number); err != nil {
			return err
		}
	}
	for _, child := range p.Births {
		if _, err := g.createChild(child, c.Run); err != nil {
			return err
		}
	}
	for _, a := range p.Awaits {
		target, err := g.runs.get(a.Run)
		if err != nil {
			return err
		}
		if err := g.awaits.add(target, r, a.Step); err != nil {
			return err
		}
	}
	if err := g.tasks.write(c, r); err != nil {
		return err
	}
	if len(c.Streams) > 0 {
		if err := g.streams.writeAll(c, r); err != nil {
			return err
		}
	}
	for i := range c.Send {
		if err := g.sendTo(&c.Send[i]); err != nil {
			return err
		}
	}
	if len(c.Messages) > 0 { // their queues are there: see decide
		if _, err := sendMessages(&g.tx, c.Messages, false); err != nil {
			return err
		}
	}
	_, err := publish(&g.tx, c.Published)
	return err
}
