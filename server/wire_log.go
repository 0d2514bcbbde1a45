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
		actRoute("commit", Operator, "Make one atomic change to one run", "WireCommit", "WireCommitted", (*doors).commit),
		wireRoute("outcome", Operator, "Tell whether a commit whose answer was lost was written", "WireCommit", "WireCommitted", (*doors).outcome),
		actRoute("deliver", Operator, "Send to a run's inbox, or end an attempt of a task", "WireDelivery", "WireDelivered", (*doors).deliver),
		actRoute("key", Operator, "Say which encryption key an ID stands for, or bind it", "WireKeyQuery", "WireKeyPrint", (*doors).bindKey),
		actRoute("append", Worker, "Add chunks to a stream", "WireAppend", "WireAppended", (*doors).append),
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
	if c.Worker != "" || c.Claim != 0 || c.Release != nil || c.Ack != "" || c.Schedule != nil || len(c.Events) != 1 || len(c.Births)+len(c.Send)+len(c.Tasks)+len(c.Streams)+len(c.Messages)+len(c.Published)+len(c.Mail)+len(c.Held)+len(c.Dropped)+len(c.Conditions)+len(c.Anew) > 0 {
		return false
	}
	b := c.Events[0].Birth
	return c.Events[0].Type == world.RunCreated && (b == nil || b.Parent == nil && b.Origin == nil)
}

// errLimitedQueues holds for what workflow code sends and publishes, too.
var errLimitedQueues = fmt.Errorf("%w: it is limited to some workflows and steps, and queues and topics are everybody's: a worker whose code uses them needs a key without a limit", errScope)

// mayCommit refuses an operator whatever is more than a start: who can write a log can make it say anything. A worker writes in its own name.
func (g *guard) mayCommit(r *request, c *wire.Commit) error {
	if !plainStart(c) {
		if err := needs(r, Worker, "whatever is more than the start of a run"); err != nil {
			return err
		}
	}
	switch {
	case r.limited() == nil:
	case c.Schedule != nil:
		return errLimitedSchedules
	case len(c.Messages)+len(c.Published)+len(c.Ack) > 0:
		return errLimitedQueues
	}
	if err := g.mayActFor(r, c.Worker); err != nil {
		return err
	}
	if err := startable(c); err != nil {
		return err
	}
	return g.mayWrite(r, c, nil)
}

// startable refuses runs whose code runs in apps of Workflow DevKit, which come through their own door.
func startable(c *wire.Commit) error {
	for i := range c.Events {
		if b := c.Events[i].Birth; b != nil {
			if err := world.CheckStart(b.Workflow); err != nil {
				return err
			}
		}
	}
	for _, b := range c.Births {
		if b == nil {
			continue // the world refuses it
		}
		if err := startable(b); err != nil {
			return err
		}
	}
	return nil
}

// mostSkew is how far a client's clock may be off when it starts a run. Off by more than littleSkew, the run is created at the world's time all the same: lists are
// in the order of births, and whatever a run waits for counts from its own times.
const (
	mostSkew   = 24 * time.Hour
	littleSkew = time.Second
)

// time is the world's time where it tells, else this process's.
func (d *doors) time() time.Time {
	if d.able.Timekeeper != nil {
		if t := d.able.Timekeeper.Time(); !t.IsZero() {
			return t
		}
	}
	return world.Now()
}

func (d *doors) commit(r *request, in *wire.Commit) (wire.Committed, error) {
	if err := d.guard.mayCommit(r, in); err != nil {
		return wire.Committed{}, err
	}
	if err := d.mayEncrypt(r, in); err != nil {
		return wire.Committed{}, err
	}
	c := in.World()
	if plainStart(in) {
		e := &c.Events[0]
		now := d.time()
		off := now.Sub(e.Time)
		if off.Abs() > mostSkew {
			return wire.Committed{}, invalid("run %.100q: it starts %s off this server's clock: want %s at most", c.Run, off.Round(time.Second), mostSkew)
		}
		if off.Abs() <= littleSkew {
			now = e.Time
		}
		*e = world.Event{Seq: e.Seq, Type: e.Type, Time: now, Payload: e.Payload, Apart: e.Apart, Encrypted: e.Encrypted, Birth: e.Birth} // the rest others say
	}
	if err := d.app.AdmitCommit(c); err != nil {
		return wire.Committed{}, err
	}
	if err := d.sign(r, c); err != nil {
		return wire.Committed{}, err
	}
	if !r.whole() {
		if err := d.app.AdmitPlaces(r.Context(), c); err != nil {
			return wire.Committed{}, err
		}
	}
	done, err := lasting(r.Context(), func(ctx context.Context) (world.Committed, error) {
		done, err := d.below.Commit(ctx, c)
		if errors.Is(err, world.ErrLeaseLost) || errors.Is(err, world.ErrRunExists) || errors.Is(err, world.ErrReceipt) || c.Schedule != nil && errors.Is(err, world.ErrConflict) || err == nil && done.Existing == c.Run {
			// The number is taken: perhaps by this very commit, whose first try came late, or whose copy came to another server.
			if known, lookErr := d.below.Outcome(ctx, c); lookErr == nil {
				return known, nil
			}
		}
		return done, err
	})
	if c.Birth() && c.Worker == "" {
		d.audit.note(r.Request, r.name(), r.route.op.id, c.Run, "start", err, originOf(c)...)
	}
	return wire.OfCommitted(done), err
}

// sign puts the name of the key into what a commit says of who acts beside its run: what it sends, how it begins, and
// who made or paused its schedule.
func (d *doors) sign(r *request, c *world.Commit) error {
	for i := range c.Send {
		for j := range c.Send[i].Events {
			if e := &c.Send[i].Events[j]; c.Worker == "" || e.By != c.Run {
				r.signEvent(e)
			}
		}
	}
	if c.Worker == "" && c.Birth() && len(c.Events) > 1 {
		if last := &c.Events[len(c.Events)-1]; last.Reason == "forked" || last.Reason == "imported" {
			r.signEvent(last)
		}
	}
	if c.Schedule == nil {
		return nil
	}
	k, err := schedulesBelow(d, r)
	if err != nil {
		return err
	}
	return signSchedule(r, k, c.Schedule)
}

// signEvent puts the name of the key into an event that says who acts.
func (r *request) signEvent(e *world.Event) {
	switch e.Type {
	case world.CancelRequested, world.RunPaused, world.RunResumed, world.RunCancelled, world.StepWoken:
		e.By = r.author(e.By)
	case world.WaitCompleted:
		if e.Outcome == world.OutcomeWoken {
			e.By = r.author(e.By)
		}
	}
}

// originOf is what the audit log has of the run that another goes on with; none: it is no retry, fork or restart.
func originOf(c *world.Commit) []any {
	if b := c.Events[0].Birth; b != nil && b.Origin != nil {
		return []any{"origin", b.Origin.Run}
	}
	return nil
}

func (d *doors) outcome(r *request, in *wire.Commit) (wire.Committed, error) {
	if err := d.guard.mayCommit(r, in); err != nil {
		return wire.Committed{}, err
	}
	done, err := d.below.Outcome(r.Context(), in.World())
	return wire.OfCommitted(done), err
}

// mayDeliver refuses an operator what only workers send, and who is no admin to end a run by force. Nobody else speaks for a worker.
func (g *guard) mayDeliver(r *request, d *wire.Delivery) error {
	if d.Task != nil && !wakesTask(d) {
		if err := needs(r, Worker, "to end an attempt of a task"); err != nil {
			return err
		}
	}
	if d.Worker != "" || !d.RetryAt.IsZero() {
		if err := needs(r, Worker, "to speak for a worker"); err != nil {
			return err
		}
	}
	if err := g.mayActFor(r, d.Worker); err != nil {
		return err
	}
	if err := g.mayReach(r, d); err != nil {
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
	case world.SignalReceived, world.InputReceived, world.CancelRequested, world.RunPaused, world.RunResumed, world.StepWoken:
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
	case world.SignalReceived, world.HookReceived, world.InputReceived:
		out.Name, out.Payload, out.Encrypted = e.Name, e.Payload, e.Encrypted
		if e.Type != world.HookReceived {
			out.ID = "" // of a wait that listens, whatever it matches
		}
	case world.StepWoken:
		out.Attempt, out.By = e.Attempt, r.by()
	case world.WaitCompleted:
		out.Outcome, out.By = e.Outcome, r.by()
	case world.CancelRequested, world.RunPaused, world.RunResumed:
		out.By, out.Reason = r.by(), e.Reason
		if e.Type == world.RunResumed {
			out.Outcome = e.Outcome // a wake
		}
	}
	return out
}

func (d *doors) deliver(r *request, in *wire.Delivery) (wire.Delivered, error) {
	if err := d.guard.mayDeliver(r, in); err != nil {
		return wire.Delivered{}, err
	}
	sent := in.World()
	for i := range sent.Events {
		if !r.sees(Worker) {
			sent.Events[i] = plainEvent(r, &sent.Events[i])
		}
		r.signEvent(&sent.Events[i])
	}
	if err := d.app.AdmitDelivery(sent); err != nil {
		return wire.Delivered{}, err
	}
	done, err := lasting(r.Context(), func(ctx context.Context) (world.Delivered, error) { return d.below.Deliver(ctx, sent) })
	if sent.Worker == "" && len(sent.Events) > 0 {
		run := sent.Run
		if sent.Task != nil {
			run = sent.Task.Run
		}
		if run == "" { // it went by token
			run = done.Run
		}
		d.audit.note(r.Request, r.name(), r.route.op.id, run, string(sent.Events[0].Type), err, because(sent.Events[0].Reason)...)
	}
	return wire.OfDelivered(done), err
}

func (d *doors) append(r *request, in *wire.Append) (wire.Appended, error) {
	if err := d.guard.mayActFor(r, in.Worker); err != nil {
		return wire.Appended{}, err
	}
	if in.Worker == "" {
		if err := d.guard.mayRun(r, in.Run); err != nil {
			return wire.Appended{}, err
		}
	}
	done, err := lasting(r.Context(), func(ctx context.Context) (world.Appended, error) { return d.below.Append(ctx, in.World()) })
	return wire.OfAppended(done), err
}

// bindKey tells which key an ID stands for. An unlimited worker binds it; for anyone else an ID that stands for none
// is refused, or the next key's could be taken before its time.
func (d *doors) bindKey(r *request, in *wire.KeyQuery) (wire.KeyPrint, error) {
	print, err := lasting(r.Context(), func(ctx context.Context) ([]byte, error) {
		print, err := d.below.BindKey(ctx, in.ID, nil)
		if err != nil || print != nil || len(in.Print) == 0 {
			return print, err
		}
		if !r.whole() {
			return nil, unboundKey(in.ID)
		}
		print, err = d.below.BindKey(ctx, in.ID, in.Print)
		d.audit.note(r.Request, r.name(), r.route.op.id, "", "bind", err, "key_id", in.ID)
		return print, err
	})
	return wire.KeyPrint{ID: in.ID, Print: print}, err
}

func unboundKey(id string) error {
	return fmt.Errorf("%w: encryption key %.100q is not in use in this database yet: start a worker that has it, with an API key without a limit, or use it in a program that has the database", errScope, id)
}

// mayEncrypt refuses the start of a run that is encrypted with a key whose ID stands for none yet: who binds the ID
// later is held against the runs of before.
func (d *doors) mayEncrypt(r *request, c *wire.Commit) error {
	if r.whole() {
		return nil
	}
	for i := range c.Events {
		if e := &c.Events[i]; e.Birth != nil && e.Encrypted != "" {
			if print, err := d.below.BindKey(r.Context(), e.Encrypted, nil); err != nil {
				return err
			} else if print == nil {
				return unboundKey(e.Encrypted)
			}
		}
	}
	for _, b := range c.Births {
		if b == nil {
			continue // the world refuses it
		}
		if err := d.mayEncrypt(r, b); err != nil {
			return err
		}
	}
	return nil
}
