package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

var (
	updateQueue  = load("update_queue")
	releaseQueue = load("release_queue")
	deleteMail   = load("delete_mail")
	countMail    = load("count_mail")
	insertAwait  = load("insert_await")
)

// Commit makes one atomic change; see [world.Log] and [world.Commit]. Commits that arrive while a transaction is being written share
// the next one.
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
		if held, err := g.holds(c.Worker, r, k); err != nil {
			return done, err
		} else if !held {
			return done, fmt.Errorf("run %s: task %s, attempt %d: %w", c.Run, k.Step, k.Attempt, world.ErrLeaseLost)
		}
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
	if r == nil || !r.live || r.owner == 0 || r.take != c.Take || r.owner != g.worker(c.Worker) {
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
	r.unread = c.Unread
	if p.Changed {
		done.Events = c.Written(p.Events)
	}
	queued := queued{class: r.class, running: r.running, paused: r.paused}
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
	switch end := terminal(p.Events); {
	case end != nil:
		r.class = queued.class
		return done, g.end(r, end, queued.running)
	case c.Release != nil:
		done.Mail, err = g.release(c, r, &queued)
		return done, err
	case queued != (r.queued()):
		r.class, r.running, r.paused = queued.class, queued.running, queued.paused
		g.totals.recount(r, r.standing())
		return done, g.tx.exec(updateQueue, r.key, r.class, bit(r.running), bit(r.paused))
	}
	return done, nil
}

// queued is what events say about the queue row.
type queued struct {
	class           int64
	running, paused bool
}

func (r *run) queued() queued { return queued{class: r.class, running: r.running, paused: r.paused} }

func terminal(events []world.Event) *world.Event {
	if n := len(events); n > 0 && events[n-1].Type.Terminal() {
		return &events[n-1]
	}
	return nil
}

// follow keeps rows beside the log in step with its events.
func (g *group) follow(r *run, events []world.Event, q *queued) error {
	for i := range events {
		e := &events[i]
		if paused, says := e.Pauses(); says {
			q.paused = paused
		}
		switch e.Type {
		case world.StepStarted, world.StepCompleted, world.StepCreated, world.StepFailed, world.StepRetrying,
			world.WaitCreated, world.WaitCompleted, world.SignalReceived, world.HookReceived, world.HookConflict,
			world.RunCreated, world.RunCompleted, world.RunFailed, world.RunCancelled,
			world.RunPaused, world.RunResumed, world.CancelRequested:
		case world.RunStarted:
			q.running = true
			if err := g.reclass(q, e.Version); err != nil {
				return err
			}
		case world.RunContinued:
			if err := g.continued(r, e); err != nil {
				return err
			}
			if err := g.beginSegment(r, e, r.last-int64(len(events)-1-i)); err != nil {
				return err
			}
			if err := g.reclass(q, e.Next.Version); err != nil {
				return err
			}
		case world.AttrSet:
			if err := g.setAttribute(r, e.Name, e.Payload); err != nil {
				return err
			}
		case world.HookCreated:
			r.hooks = true
			if err := g.tx.exec(insertHook, e.Token, r.key, e.ID, blob(e.Payload), e.Time.UnixMicro()); err != nil {
				return err
			}
		case world.HookDisposed:
			if err := g.tx.exec(deleteHook, r.key, e.ID); err != nil {
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

// reclass moves the run to another version of its workflow.
func (g *group) reclass(q *queued, version int) error {
	if version == 0 {
		return nil
	}
	c, err := g.classes.name(q.class)
	if err != nil {
		return err
	}
	c.Version = version
	q.class, err = g.classes.key(c)
	return err
}

// around writes what a commit brings beside its events.
func (g *group) around(c *world.Commit, r *run, p *rules.Plan) error {
	for _, number := range c.Mail {
		if _, err := g.tx.returning(deleteMail, func(gone row) error {
			if r.payloads > 0 {
				r.payloads -= int(gone.int(0))
			}
			return nil
		}, number, r.key); err != nil {
			return err
		}
	}
	for _, child := range p.Births {
		if _, err := g.bear(child, 0); err != nil {
			return err
		}
	}
	for _, a := range p.Awaits {
		target, err := g.runs.get(a.Run)
		if err != nil {
			return err
		}
		r.awaits, target.awaited = true, true
		if err := g.tx.exec(insertAwait, target.key, r.key, a.Step); err != nil {
			return err
		}
	}
	if err := g.commitTasks(c, r); err != nil {
		return err
	}
	if len(c.Streams) > 0 {
		if err := g.commitChunks(c, r); err != nil {
			return err
		}
	}
	for i := range c.Send {
		if err := g.sendTo(&c.Send[i]); err != nil {
			return err
		}
	}
	return nil
}

// release gives the run back to the queue, and tells whether mail waits.
func (g *group) release(c *world.Commit, r *run, q *queued) (mail bool, err error) {
	rel := c.Release
	blocked, err := blockText(r, rel.Blocked)
	if err != nil {
		return false, err
	}
	resumed := false
	if q.paused { // what waits may end the pause: then the run is to be taken for that
		if resumed, err = g.actWaits(r, world.RunResumed, world.RunResumed); err != nil {
			return false, err
		}
	}
	var id any // of a commit with events, the log has it
	if len(c.Events) == 0 {
		id = c.ID[:]
	}
	if err := g.tx.exec(releaseQueue, r.key, q.class, bit(q.running), bit(q.paused), micros(rel.WakeAt), blocked, bit(rel.Full), orNull(rel.Waiting), id, bit(resumed), r.last); err != nil {
		return false, err
	}
	g.owned(r.owner, r, false)
	if r.mail {
		if _, err := g.tx.one(countMail, func(row row) error { mail = row.int(0) > 0; return nil }, r.key); err != nil {
			return false, err
		}
	}
	g.atRest(r, *q, rel)
	return mail, nil
}

// atRest follows what gave the run up.
func (g *group) atRest(r *run, q queued, rel *world.Release) {
	g.totals.recount(r, standing{live: true, running: q.running, paused: q.paused, blocked: rel.Blocked != nil})
	g.runs.reread(r.id) // its queue row is, when somebody takes it
	g.tx.notice(world.NoticeWork, r.id)
}

// blockText is how the queue keeps why a run cannot go on.
func blockText(r *run, b *world.Block) (any, error) {
	if b == nil {
		return nil, nil
	}
	text, err := json.Marshal(b)
	if err != nil {
		return nil, fmt.Errorf("run %s: blocked: %w", r.id, err)
	}
	return string(text), nil
}
