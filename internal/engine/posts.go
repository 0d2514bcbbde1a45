package engine

// This file holds what workflow code puts into queues, and publishes.

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

// PublicationSpec is what workflow code hands over with what it publishes, beside the payload, which is the input. It
// is the Spec of a replay.Op of kind publication.
type PublicationSpec struct{ world.Publication }

// post is what a turn puts into queues, and publishes: each goes with the event that records it.
type post struct {
	all    []posted // in the order of their records
	queues map[string]world.MessageQueue
	bytes  int // of what they weigh beside their records
}

// posted goes with the record of a step: a message, or else a publication.
type posted struct {
	step        string
	message     *world.Message
	publication *world.Publication
}

func (p *post) add(x posted) {
	p.all = append(p.all, x)
	p.bytes += x.weight()
}

func (x *posted) weight() (n int) {
	var headers map[string]string
	if x.message != nil {
		headers = x.message.Headers
	} else {
		headers, n = x.publication.Headers, len(x.publication.Source)
	}
	for k, v := range headers {
		n += len(k) + len(v)
	}
	return n
}

// weightOf is what goes with an event weighs beside it.
func (p *post) weightOf(e *world.Event) int {
	if e.Kind.Posts() {
		for i := range p.all {
			if x := &p.all[i]; x.step == e.ID {
				return x.weight()
			}
		}
	}
	return 0
}

// size is what all weigh beside their records.
func (p *post) size() int { return p.bytes }

// fill puts messages and publications into the commit that holds their records.
func (p *post) fill(c *world.Commit) {
	for i := 0; i < len(c.Events) && len(p.all) > 0; i++ { // both are in the order in which the code asked
		switch x := &p.all[0]; {
		case c.Events[i].ID != x.step:
			continue
		case x.message != nil:
			c.Messages = append(c.Messages, *x.message)
		default:
			c.Published = append(c.Published, *x.publication)
		}
		p.all = p.all[1:]
	}
}

// declare makes the queues of a commit's messages, where they are not there.
func (p *post) declare(ctx context.Context, to world.Messenger, c *world.Commit) error {
	for i := range c.Messages {
		if err := to.DeclareQueue(ctx, p.queues[c.Messages[i].Queue]); err != nil {
			return fmt.Errorf("declare queue %s: %w", c.Messages[i].Queue, err)
		}
	}
	return nil
}

// post puts a message, or a publication, into the turn, beside its record.
func (w *steps) post(op *replay.Op) {
	p := w.turn.posts()
	switch spec := op.Spec.(type) {
	case *MessageSpec:
		m := spec.Message
		m.Payload = op.Input
		if p.queues == nil {
			p.queues = make(map[string]world.MessageQueue)
		}
		p.queues[m.Queue] = spec.Declared
		p.add(posted{step: op.ID, message: &m})
	case *PublicationSpec:
		x := spec.Publication
		x.Payload = op.Input
		p.add(posted{step: op.ID, publication: &x})
	}
}
