package engine

// Other runs: children that a run starts, and runs whose result it waits for.

import (
	"context"
	"math/rand/v2"

	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// ChildSpec is what workflow code hands over with a child run. It is the Spec of a replay.Op of kind child.
type ChildSpec struct {
	Birth    world.Birth // without parent, seed and times
	Detached bool        // lives on when the parent ends
}

// bear makes the birth of a child that the code asked for. It is committed with the event that records the question.
func (s *session) bear(op *replay.Op, spec *ChildSpec) {
	b := spec.Birth
	b.Parent = &world.Parent{Run: s.run, Step: op.ID, Detached: spec.Detached}
	b.Seed = rand.Uint64()
	c := &world.Commit{
		ID: commitID(), Run: op.Peer, Build: s.e.cfg.Build, First: 1,
		Events: []world.Event{{Seq: 1, Type: world.RunCreated, Time: s.at(), Birth: &b, Payload: op.Input}},
	}
	s.turn.births = append(s.turn.births, birthOf{op.ID, c, op.Chosen})
}

// birthOf is the birth of a child, by the parent's step.
type birthOf struct {
	step   string
	commit *world.Commit
	chosen bool // its ID may be taken
}

// others puts births and conditions into the commit that holds their events.
func (t *turn) others(c *world.Commit) {
	for _, b := range t.births {
		for i := range c.Events {
			if e := &c.Events[i]; e.Type == world.StepCreated && e.ID == b.step {
				c.Births = append(c.Births, b.commit)
				if b.chosen {
					c.Conditions = append(c.Conditions, world.Condition{Event: i, Birth: len(c.Births) - 1})
				}
			}
		}
	}
	if !t.awaits {
		return
	}
	for i := range c.Events {
		if e := &c.Events[i]; e.Type == world.StepCreated && e.Kind == world.KindAwait {
			c.Conditions = append(c.Conditions, world.Condition{Event: i})
		}
	}
}

// stage numbers the hooks with chosen tokens behind the other events: whether they are granted is known when the commit is there.
func (t *turn) stage(c *world.Commit) {
	next := c.First + int64(len(c.Events))
	c.Events = c.Events[:len(c.Events):len(c.Events)]
	for i, e := range t.hooks {
		e.Seq = next + int64(i)
		if n := len(c.Events); n > 0 && e.Time.Before(c.Events[n-1].Time) { // it was asked for before the clock was read anew
			e.Time = c.Events[n-1].Time
		}
		c.Conditions = append(c.Conditions, world.Condition{Event: len(c.Events)})
		c.Events = append(c.Events, e)
	}
}

// settled folds what only the world could decide, and lets the machine go on with it. What the code asks for then is recorded behind all of that.
func (s *session) settled(c *world.Commit, known int, done world.Committed) {
	events := c.Events
	if done.Events != nil {
		events = done.Events
	}
	for _, e := range events[known:] {
		e.Commit = 0
		if _, err := s.state.Apply(&e, zeroTime); err != nil {
			s.fail(err, e.Seq)
			return
		}
		if s.e.cfg.Strict {
			s.log = append(s.log, e)
		}
		if s.m == nil || s.failure != nil {
			continue
		}
		if err := s.m.Feed([]world.Event{e}, false); err != nil {
			s.fail(err, e.Seq)
		}
	}
	if s.m != nil && s.failure == nil {
		s.create()
	}
}

// farewell sends a cancel to each attached child that still runs: the run has ended.
func (s *session) farewell(ctx context.Context) []world.Delivery {
	var send []world.Delivery
	for st := range s.state.Steps() {
		if st.Kind != world.KindChild || s.detached(ctx, st) {
			continue
		}
		send = append(send, world.Delivery{
			Run: st.Peer, ID: "parent:" + st.ID,
			Events: []world.Event{{Type: world.CancelRequested, By: s.run, Reason: "its parent ended"}},
		})
	}
	return send
}

// detached asks the code, or, where it is not there, the child.
func (s *session) detached(ctx context.Context, st *world.Step) bool {
	if s.m != nil {
		if op := s.m.Op(st.ID); op != nil {
			if spec, ok := op.Spec.(*ChildSpec); ok {
				return spec.Detached
			}
		}
	}
	child, err := s.e.cfg.World.Run(ctx, st.Peer)
	return err == nil && child.Parent != nil && child.Parent.Detached
}

func commitID() (id [16]byte) {
	a, b := rand.Uint64(), rand.Uint64()
	for i := range 8 {
		id[i], id[8+i] = byte(a>>(8*i)), byte(b>>(8*i))
	}
	return id
}
