package courier

// This file settles messages: what ends while others are written shares the next transaction. No handler waits for it.

import (
	"context"
	"log/slog"
	"sync"

	"github.com/stepwell/stepwell/world"
)

// end is how the receive of a message ends.
type end struct {
	m *world.Message
	s world.Settlement
}

// settlement writes ends until there are no more.
func (c *Consumer) settlement() {
	var tried sync.WaitGroup
	defer tried.Wait()
	var batch []end
	for first := range c.ends {
		batch = append(batch[:0], first)
		for more := true; more && len(batch) < world.MaxBatch; {
			select {
			case e, ok := <-c.ends:
				if more = ok; ok {
					batch = append(batch, e)
				}
			default:
				more = false
			}
		}
		if c.settle(batch) {
			continue
		}
		c.stock.unended(len(batch))
		for _, e := range batch { // each for itself: one may be what is refused
			tried.Go(func() {
				c.settleAlone(e)
				c.stock.unended(-1)
			})
		}
	}
}

// settle reports whether ends are written.
func (c *Consumer) settle(batch []end) bool {
	ctx, cancel := context.WithTimeout(context.Background(), c.Visibility)
	defer cancel()
	all := make([]world.Settlement, len(batch))
	for i, e := range batch {
		all[i] = e.s
	}
	done, err := c.Keep.SettleMessages(ctx, all)
	if err != nil {
		c.says.Warn("the ends of messages are not written", slog.Attr{}, "messages", len(all), "error", err, "hint", "They are tried again every second")
		return false
	}
	for i, e := range batch {
		c.tellDead(e, done[i])
		c.tellLate(e, done[i], "a message was worked on for longer than it was this program's: it is worked on again")
	}
	return true
}

// tellDead says so once it is written: a store may refuse.
func (c *Consumer) tellDead(e end, settled bool) {
	if settled && e.s.Kind == world.Bury {
		c.says.Warn("a message is a dead letter", slog.Attr{}, "message", e.m.ID, "error", e.s.Error, "hint", c.hint())
	}
}

func (c *Consumer) tellLate(e end, settled bool, text string) {
	if !settled && e.s.Kind != world.Unread { // nobody has looked at that
		c.says.Warn(text, slog.Attr{}, "message", e.m.ID)
	}
}

// settleAlone ends a receive while the store is away, as long as the receive lasts.
func (c *Consumer) settleAlone(e end) {
	ctx, cancel := context.WithTimeout(context.Background(), c.Visibility)
	defer cancel()
	for rest(ctx, pause) {
		done, err := c.Keep.SettleMessages(ctx, []world.Settlement{e.s})
		if err == nil {
			c.tellDead(e, done[0])
			c.tellLate(e, done[0], "the end of a message was written before, when the answer was lost, or came too late: then it is worked on again")
			return
		}
		c.says.Warn("the end of a message is not written", slog.Attr{}, "message", e.m.ID, "error", err, "hint", "It is tried again every second")
	}
}

// giveBack gives back messages that nobody has looked at.
func (c *Consumer) giveBack(all []*working) {
	for _, w := range all {
		c.stock.disown(w)
		c.ends <- end{w.m, Unread(w.m, 0)}
	}
}
