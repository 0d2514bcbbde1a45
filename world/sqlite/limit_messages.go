package sqlite

// Limits of messages: each receive needs the places that the message was sent with, as an attempt of a task does.

import (
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

var (
	limitedMessage     = load("limited_message")
	limitMessage       = load("limit_message")
	writeMessagePlaced = load("write_message_placed")
	nextDueKey         = load("next_due_key")
)

// messageNumbers is how much less than its key a message's number is in a line: tasks have those above -taskNumbers.
const messageNumbers = 3 << 61

// mostParked is how many messages that are due and lack a place a receive has stand in line.
const mostParked = 1000

// placedMessage is a message that needs places.
type placedMessage struct {
	placed
	key, priority int64
	sent          time.Time
	queue         string
}

func (m *placedMessage) needs() *placed                   { return &m.placed }
func (m *placedMessage) begun() bool                      { return false } // between receives it holds nothing
func (m *placedMessage) since() time.Time                 { return m.sent }
func (m *placedMessage) urgency() int64                   { return rules.Priorities - 1 - m.priority }
func (m *placedMessage) number() int64                    { return m.key - messageNumbers }
func (m *placedMessage) news() (world.NoticeKind, string) { return world.NoticeMessage, m.queue }

func (m *placedMessage) moved(l *limits) error { return m.write(l, l.tx.now().UnixMicro()) }

// write writes what it has; ready is from when on it can be received, nil: as it is.
func (m *placedMessage) write(l *limits, ready any) error {
	return l.tx.exec(writeMessagePlaced, m.key, int64(m.Has), m.parked(), ready)
}

// messageOf is one that needs places; nil: it needs none, or is gone.
func messageOf(l *limits, key int64) (m *placedMessage, err error) {
	_, err = l.tx.one(limitedMessage, func(r row) error {
		if p := scanPlaced(r, 4); p != nil { // what cannot be read holds nobody back
			m = &placedMessage{placed: *p, key: r.int(0), priority: r.int(1), sent: r.time(2), queue: r.text(3)}
		}
		return nil
	}, key)
	return m, err
}

// enterMessage notes the places of a message that was just sent. It takes them if it is due.
func enterMessage(l *limits, key int64, places []world.Place, due bool) error {
	of, err := l.needs(places, world.SaidLimit{Messages: true})
	if err != nil || of == nil {
		return err
	}
	if err = l.tx.exec(limitMessage, key, of.keys(), int64(of.Rates)); err == nil && due {
		_, err = seekMessage(l, key)
	}
	return err
}

// seekMessage has a message take its places. False: it stands in line.
func seekMessage(l *limits, key int64) (whole bool, err error) {
	m, err := messageOf(l, key)
	if err != nil || m == nil || m.Whole() {
		return true, err
	}
	if whole, err = rules.Seek[liner](l, m); err != nil {
		return false, err
	}
	return whole, m.write(l, nil)
}

// payMessage has a message that is received pay.
func payMessage(l *limits, key int64) error {
	m, err := messageOf(l, key)
	if err != nil || m == nil || m.Rates == 0 {
		return err
	}
	if err := rules.Paid[liner](l, m); err != nil {
		return err
	}
	return m.write(l, nil)
}

// restMessage has a message whose receive has ended give back its places; over: it is gone.
func restMessage(l *limits, key int64, over bool) error {
	m, err := messageOf(l, key)
	if err != nil || m == nil {
		return err
	}
	if err := rules.Rest[liner](l, m, over); err != nil {
		return err
	}
	if over {
		return l.leave(m.Keys)
	}
	return m.write(l, nil)
}

// unpark has a message whose receive goes on, though its visibility had ended, leave the line of a rate.
func unpark(l *limits, key int64) error {
	m, err := messageOf(l, key)
	if err != nil || m == nil || !m.Parked {
		return err
	}
	m.Parked = false
	if err := l.Leave(m.Keys[m.Has], m); err != nil {
		return err
	}
	return m.write(l, nil)
}
