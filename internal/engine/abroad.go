package engine

// This file holds what a turn does to other runs, and what it asks of the world.

import (
	"slices"
	"time"

	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// abroad is what a turn does to other runs, or asks of the world.
//
//   - Each thing goes with the event that it belongs to, in one commit: what is sent is never without its reason.
//   - What becomes of it only the world knows where an ID, a key or a token was chosen, or another run is asked: the
//     code hears of that behind the commit. Hooks with chosen tokens have no number before.
type abroad struct {
	births []*replay.Op // children that are to be created: see others
	// awaits: some event waits for another run, or sends to it. What becomes of that is known with the commit.
	awaits bool
	hooks  []world.Event // with chosen tokens; last in the commit, without a number
	send   []world.Delivery
	// losers are cancels of children that the code waits for no longer, by step: each goes with the end of that.
	losers  map[string]world.Delivery
	goodbye []world.Delivery // cancels of children that a continuation leaves behind
	anew    []world.Anew     // steps that wait for what took the place of their runs
}

// undecided reports whether only the world knows what becomes of something that the turn creates.
func (a *abroad) undecided() bool {
	if len(a.hooks) > 0 || a.awaits || len(a.anew) > 0 {
		return true
	}
	return slices.ContainsFunc(a.births, mayBeClaimed)
}

// addBirth adds a child that is to be created, await says that an event waits for another run or sends to it, and ask
// asks for a chosen token. again says that a step waits for what took the place of its run.
func (a *abroad) addBirth(op *replay.Op)     { a.births = append(a.births, op) }
func (a *abroad) creates(op *replay.Op) bool { return slices.Contains(a.births, op) }
func (a *abroad) await()                     { a.awaits = true }
func (a *abroad) again(step world.Anew)      { a.anew = append(a.anew, step) }
func (a *abroad) ask(hook world.Event)       { a.hooks = append(a.hooks, hook) }
func (a *abroad) asksAny() bool              { return len(a.hooks) > 0 }
func (a *abroad) asks(hook string) bool {
	return slices.ContainsFunc(a.hooks, func(h world.Event) bool { return h.ID == hook })
}

// tell sends deliveries with the last commit, and cancelWith one with the end of a step.
func (a *abroad) tell(send []world.Delivery) { a.send = send }
func (a *abroad) cancelWith(step string, d world.Delivery) {
	if a.losers == nil {
		a.losers = map[string]world.Delivery{}
	}
	a.losers[step] = d
}

// leave sends what a continuation leaves behind, with it; leaveSegment drops what is of the segment before, and does
// not go with the events.
func (a *abroad) leave(goodbye []world.Delivery) { a.goodbye = goodbye }
func (a *abroad) leaveSegment()                  { a.losers = nil }

// others puts births, conditions and cancels of children into the commit that holds their events. Births are made
// only now, so that a turn of many children never holds all of them.
func (a *abroad) others(c *world.Commit, createRun func(*replay.Op, time.Time) *world.Commit) {
	if len(a.losers) > 0 {
		for i := range c.Events {
			if d, ok := a.losers[c.Events[i].ID]; ok && c.Events[i].Type == world.StepFailed {
				c.Send = append(c.Send, d)
			}
		}
	}
	if len(a.goodbye) > 0 && slices.ContainsFunc(c.Events, func(e world.Event) bool { return e.Type == world.RunContinued }) {
		c.Send = append(c.Send, a.goodbye...)
	}
	for i := 0; i < len(c.Events) && len(a.births) > 0; i++ { // both are in the order in which the code asked
		op := a.births[0]
		if e := &c.Events[i]; e.Type != world.StepCreated || e.ID != op.ID {
			continue
		}
		a.births = a.births[1:]
		c.Births = append(c.Births, createRun(op, c.Events[i].Time))
		if mayBeClaimed(op) {
			c.Conditions = append(c.Conditions, world.Condition{Event: i, Birth: len(c.Births) - 1})
		}
	}
	if !a.awaits {
		return
	}
	for i := range c.Events {
		switch e := &c.Events[i]; {
		case e.Type != world.StepCreated:
		case e.Kind == world.KindAwait:
			c.Conditions = append(c.Conditions, world.Condition{Event: i})
		case e.Kind == world.KindSend:
			c.Conditions = append(c.Conditions, world.Condition{Event: i, Send: len(c.Send)})
			c.Send = append(c.Send, world.Delivery{Run: e.Peer, ID: e.ID, Events: []world.Event{{Type: world.SignalReceived, Name: e.Name, Payload: e.Payload}}})
		}
	}
}

// stage completes the last commit: it numbers the hooks with chosen tokens behind the other events: whether they are
// granted is known when the commit is there.
func (a *abroad) stage(c *world.Commit) {
	next := c.First + int64(len(c.Events))
	c.Events = c.Events[:len(c.Events):len(c.Events)]
	for i, e := range a.hooks {
		e.Seq = next + int64(i)
		if n := len(c.Events); n > 0 && e.Time.Before(c.Events[n-1].Time) { // it was asked for before the clock was read anew
			e.Time = c.Events[n-1].Time
		}
		c.Conditions = append(c.Conditions, world.Condition{Event: len(c.Events)})
		c.Events = append(c.Events, e)
	}
	c.Send = append(c.Send, a.send...)
	c.Anew = a.anew
}
