package rules

import (
	"time"

	"github.com/stepwell/stepwell/world"
)

// Peeked is a message with its number.
type Peeked struct {
	world.Message
	Number int64
}

// How many messages are read at once for a page, and how many for a page at most.
const (
	peekBatch  = 50
	mostPeeked = 10_000
)

// PeekPage fills a page with a queue's messages in the requested state. read returns messages in
// order, after a number. A page ends after [world.PageBytes], and after many messages in other
// states: it may be empty and have a cursor.
func PeekPage(page *world.MessagePage, q world.PeekQuery, behind int64, read func(behind int64, limit int) ([]Peeked, error)) error {
	bytes := 0
	for seen := 0; seen < mostPeeked; {
		all, err := read(behind, peekBatch)
		if err != nil {
			return err
		}
		for _, m := range all {
			page.Cursor = world.MessageID(m.SentAt, m.Number)
			if seen, behind = seen+1, m.Number; q.State != "" && m.State != q.State {
				continue
			}
			page.Messages = append(page.Messages, m.Message)
			if bytes += len(m.Payload); len(page.Messages) == q.Limit || bytes >= world.PageBytes {
				return nil
			}
		}
		if len(all) < peekBatch {
			page.Cursor = ""
			return nil
		}
	}
	return nil
}

// StateOf returns the state of a message. visible is when it can be received; zero: it waits for
// another of its group. held means that the receipt of its last receive is valid.
func StateOf(now, visible time.Time, held, dead bool) world.MessageState {
	switch {
	case dead:
		return world.MessageDead
	case visible.IsZero():
		return world.MessageParked
	case !visible.After(now):
		return world.MessageReady
	case held:
		return world.MessageOut
	}
	return world.MessageDelayed
}
