package engine

// Other runs: children that a run starts, and runs whose result it waits for.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// ChildSpec is what workflow code hands over with a child run. It is the Spec of a replay.Op of kind child.
type ChildSpec struct {
	Birth    world.Birth   // without parent, seed and times
	Detached bool          // lives on when the parent ends
	Delay    time.Duration `json:",omitempty"` // it is not claimed before that has passed since it was asked for

	// Settle makes the birth of a child whose definition is elsewhere, by what live workers say of it; nil: Birth is
	// it. It is asked once, when the child is asked for, and never on replay: what it says is in the child's log.
	Settle  func(context.Context) (world.Birth, error) `json:"-"`
	settled *world.Birth
}

// settleChild makes the birth of a child whose definition is elsewhere. Where it can have none the step has failed, and
// there is no child.
func (w *steps) settleChild(op *replay.Op, child *ChildSpec) bool {
	for try := 0; child.Settle != nil; try++ {
		b, err := child.Settle(w.e.workCtx)
		switch {
		case err == nil:
			child.settled = &b
			return true
		case final(err) || errors.Is(err, world.ErrForbidden):
			failed := w.e.cfg.Record(fmt.Errorf("child run of %s: %w", child.Birth.Workflow, err))
			failed.Permanent = true
			if err := w.course.put(&world.Event{Type: world.StepFailed, ID: op.ID, Error: failed}); err != nil {
				w.course.fail(err, w.course.state().Seq)
			}
			return false
		case !pause(w.e.workCtx, retryPause(try)):
			return true // nor will anything be written
		}
	}
	return true
}

// Contents is how the child is started, as JSON.
func (s *ChildSpec) Contents() []byte {
	b, _ := json.Marshal(s) // of plain fields: it never fails
	return b
}

// mayBeClaimed reports whether a child's ID or idempotency key, which the code chose, or the key of its singleton may
// be a run's already: only the world knows.
func mayBeClaimed(op *replay.Op) bool {
	child, _ := op.Spec.(*ChildSpec)
	return op.Chosen || child != nil && (child.Birth.Key != "" || child.single())
}

// single reports whether at most one run of the child's workflow and key is live.
func (s *ChildSpec) single() bool {
	b := &s.Birth
	if s.settled != nil {
		b = s.settled
	}
	return slices.ContainsFunc(b.Places, func(p world.Place) bool { return p.Single != "" })
}

// createChild makes the birth of a child that the code asked for, at the time of the event that records the question.
func (w *steps) createChild(op *replay.Op, at time.Time) *world.Commit {
	spec := op.Spec.(*ChildSpec)
	b := spec.Birth
	if spec.settled != nil {
		b = *spec.settled
	}
	b.Parent = &world.Parent{Run: w.own.run, Step: op.ID, Detached: spec.Detached}
	b.Seed = rand.Uint64()
	b.Places = beside(w.course.state().Birth.Places, b.Places, spec.Detached)
	if spec.Delay > 0 {
		b.NotBefore = world.After(at, spec.Delay)
	}
	b.Retention = w.e.cfg.Book.keep(w.e.workCtx, b.Retention)
	b.Context = w.notes.childContext(w.course.state(), &b)
	w.e.says.wants(w.e.workCtx, wanted{class: world.Class{Workflow: b.Workflow, Version: b.Version}}, op.Peer)
	return &world.Commit{
		ID: commitID(), Run: op.Peer, Build: w.e.cfg.Build, First: 1,
		Events: []world.Event{{Seq: 1, Type: world.RunCreated, Time: at, Birth: &b, Payload: op.Input}},
	}
}

// beside are the places that a child needs. One that its parent holds until its end is for an attached child as well: it
// would wait for itself. A singleton's is not: such a child is not created.
func beside(parent, child []world.Place, detached bool) (left []world.Place) {
	for i := range child {
		if detached || child[i].Single != "" || !slices.ContainsFunc(parent, func(p world.Place) bool { return p.UntilEnd && p.ID() == child[i].ID() }) {
			left = append(left, child[i])
		}
	}
	return left
}

// cancelChild ends a child that the code waits for no longer. Its step ends in the log with what the code saw, and the cancel goes with that in one
// commit: so it is sent once, however often the run is replayed, and never without what made the child lose. What the child comes to finds
// its step over. A detached one goes on. Where the run has come to its end, that tells the child: see farewell.
func (w *steps) cancelChild(op *replay.Op, child *ChildSpec) {
	if child.Detached || w.eval.machine().Outcome() != nil {
		return
	}
	if mayBeClaimed(op) && w.turn.abroad().creates(op) {
		w.losers = append(w.losers, op) // its ID, or its key, may be a stranger's
		return
	}
	why := "its parent no longer waits for it"
	if w.course.state().Cancel != nil {
		why = "its parent was cancelled"
	}
	w.turn.abroad().cancelWith(op.ID, cancelOf(w.own.run, op.ID, op.Peer, why))
	w.course.result(world.Event{Type: world.StepFailed, ID: op.ID, Error: cancelled("cancelled: the run no longer waits for it")})
}

// cancelOf asks a child to end. It is one request, whatever the reason, and however often it is sent.
func cancelOf(run, step, child, why string) world.Delivery {
	return world.Delivery{
		Run: child, ID: "parent:" + step, Events: []world.Event{{Type: world.CancelRequested, By: run, Reason: why}},
	}
}

// endsOf is the step that mail tells of the end of its run, a child or one that it awaits, which did not complete;
// nil: none. An encrypted end has a Peer: it counts for the very run that the step asked for, as whoever has the
// database could else give it another's.
func endsOf(s *world.State, mail *world.Mail) *world.Step {
	if len(mail.Events) != 1 || mail.Events[0].Type != world.StepFailed || mail.Events[0].Peer != "" {
		return nil
	}
	st := s.Step(mail.Events[0].ID)
	if st == nil || st.Kind != world.KindChild && st.Kind != world.KindAwait {
		return nil
	}
	return st
}

// replaced reports whether another run has taken the place of one that is over. Mail may have waited for long, as its
// run was paused, or no worker was there. Where nobody can tell, or may, nothing has.
func replaced(e *Engine, run string) bool {
	for try := 0; ; try++ {
		next, err := e.cfg.World.Run(e.workCtx, run)
		found := world.RunPage{}
		if err == nil {
			found, err = e.cfg.World.Runs(e.workCtx, world.RunQuery{Workflow: next.Workflow, Key: world.RetryKey(run), Limit: 1})
		}
		switch {
		case err == nil:
			return len(found.Runs) > 0
		case final(err) || errors.Is(err, world.ErrFormat) || errors.Is(err, world.ErrForbidden):
			return false
		case !pause(e.workCtx, retryPause(try)):
			return false // nor will anything be written
		}
	}
}

// settled folds what only the world could decide, and lets the machine go on with it, all at once: what is in the log already is not to be new to code
// that asks whether it is (see Patched). What the code asks for then is recorded behind all of that.
func (c *course) settled(written *world.Commit, known int, done world.Committed, durable int64) {
	events := written.Events
	if done.Events != nil {
		events = done.Events
	}
	for i := range events[:known] {
		c.st.Awaits(&events[i])
	}
	decided := slices.Clone(events[known:])
	for i := range decided {
		decided[i].Commit = 0
		if err := c.keep(&decided[i]); err != nil {
			c.fail(err, decided[i].Seq)
			return
		}
	}
	c.notes.tellAll(durable)
	c.eval.strictly().record(decided)
	if c.eval.machine() == nil || c.blocked() {
		return
	}
	if err := c.e.readable(c.own.run, decided); err != nil {
		c.fail(err, 0)
		return
	}
	if !c.feed(decided) {
		return
	}
	warnUnheard(&c.e.says, c.name(), c.eval.machine(), decided)
	c.create()
}

// byCreation lists steps in the order in which they were asked for.
func byCreation(steps iter.Seq[*world.Step]) []*world.Step {
	return slices.SortedFunc(steps, func(a, b *world.Step) int { return cmp.Compare(a.Created, b.Created) })
}

// farewell sends a cancel to each attached child that still runs: the run has ended.
func farewell(ctx context.Context, e *Engine, state *world.State, m *replay.Machine) []world.Delivery {
	var send []world.Delivery
	for _, st := range byCreation(state.Steps()) {
		if st.Kind != world.KindChild || detached(ctx, e, state.ID, m, st) {
			continue
		}
		send = append(send, cancelOf(state.ID, st.ID, st.Peer, "its parent ended"))
	}
	return send
}

// detached asks the code, or, where it is not there, the child: until it is told, as neither a cancel of a child that was to live on nor a child that
// nobody ends can be made good. A child that is gone, or cannot be read at all, is left alone.
func detached(ctx context.Context, e *Engine, run string, m *replay.Machine, st *world.Step) bool {
	if m != nil {
		if op := m.Op(st.ID); op != nil {
			if spec, ok := op.Spec.(*ChildSpec); ok {
				return spec.Detached
			}
		}
	}
	for try := 0; ; try++ {
		child, err := e.cfg.World.Run(ctx, st.Peer)
		switch {
		case err == nil:
			return child.Parent == nil || child.Parent.Run != run || child.Parent.Detached
		case errors.Is(err, world.ErrNotFound):
			return true
		case final(err) || errors.Is(err, world.ErrFormat):
			e.cfg.Logger.Warn("a child could not be read when its parent ended, and continues", "run_id", run, "child", st.Peer, "err", err)
			return true
		case !pause(ctx, retryPause(try)):
			return true // nor will the parent's end be written
		}
	}
}

func commitID() (id [16]byte) {
	a, b := rand.Uint64(), rand.Uint64()
	for i := range 8 {
		id[i], id[8+i] = byte(a>>(8*i)), byte(b>>(8*i))
	}
	return id
}
