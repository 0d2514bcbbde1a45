package engine

// This file holds messages that workflow code puts into queues.

import (
	"context"
	"fmt"

	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// MessageSpec is what workflow code hands over with a message that it sends, beside the payload, which is the input. It
// is the Spec of a replay.Op of kind message.
type MessageSpec struct {
	world.Message
	Declared world.MessageQueue // the queue, where it is not there yet
}

// post is what a turn puts into queues: each message goes with the event that records it.
type post struct {
	messages []posted // in the order of their records
	queues   map[string]world.MessageQueue
	bytes    int // of what they weigh beside their records
}

// posted is a message that goes with the record of a step.
type posted struct {
	step string
	world.Message
}

// errNoQueues blocks a run that sends messages where there are no queues.
var errNoQueues = fmt.Errorf("%w: this world keeps no queues", world.ErrInvalid)

// add adds a message, whose record was added.
func (p *post) add(op *replay.Op, spec *MessageSpec) {
	m := posted{op.ID, spec.Message}
	m.Payload = op.Input
	p.messages = append(p.messages, m)
	if p.queues == nil {
		p.queues = make(map[string]world.MessageQueue)
	}
	p.queues[m.Queue] = spec.Declared
	p.bytes += m.weight()
}

func (m *posted) weight() (n int) {
	for k, v := range m.Headers {
		n += len(k) + len(v)
	}
	return n
}

// weightOf is what the message of an event weighs beside it.
func (p *post) weightOf(e *world.Event) int {
	if e.Kind == world.KindMessage {
		for i := range p.messages {
			if m := &p.messages[i]; m.step == e.ID {
				return m.weight()
			}
		}
	}
	return 0
}

// size is what all weigh beside their records.
func (p *post) size() int { return p.bytes }

// fill puts messages into the commit that holds their records.
func (p *post) fill(c *world.Commit) {
	for i := 0; i < len(c.Events) && len(p.messages) > 0; i++ { // both are in the order in which the code asked
		if m := &p.messages[0]; c.Events[i].ID == m.step {
			c.Messages = append(c.Messages, m.Message)
			p.messages = p.messages[1:]
		}
	}
}

// declare makes the queues of a commit's messages, where they are not there.
func (p *post) declare(ctx context.Context, k world.MessageKeeper, c *world.Commit) error {
	for i := range c.Messages {
		if err := k.Messages().DeclareQueue(ctx, p.queues[c.Messages[i].Queue]); err != nil {
			return fmt.Errorf("declare queue %s: %w", c.Messages[i].Queue, err)
		}
	}
	return nil
}

// send puts a message into the turn, beside its record.
func (w *steps) send(op *replay.Op, spec *MessageSpec) {
	if w.e.able.MessageKeeper == nil {
		w.course.fail(errNoQueues, w.course.state().Seq)
		return
	}
	w.turn.posts().add(op, spec)
}
