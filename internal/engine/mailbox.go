package engine

import (
	"slices"
	"sync"
	"time"

	"github.com/stepwell/stepwell/world"
)

// mailbox is where what happens to a session waits for it. Anybody may post; only the session receives.
//
//   - A message is received once, or goes to whoever shuts the box. Nothing is accepted any more then, and whoever
//     posts is told.
//   - What lies in the run's inbox is accepted once, however often it is told of before it is appended.
//   - What the session puts off it handles in its next turn, before anything that comes.
//   - There is a token in news when something was posted that was not received, or whoever posted it is about to put
//     it there.
type mailbox struct {
	mu     sync.Mutex
	list   []message          // guarded by mu
	spare  []message          // what receive returned last, to be used again; guarded by mu
	posted map[int64]struct{} // inbox rows that were accepted; guarded by mu
	closed bool               // guarded by mu
	news   chan struct{}
	alarm  *time.Timer // of waitFor; made when it is first needed
	rest   []message   // what the session has put off; its own
	last   time.Time   // when the session last appended mail; its own
	own    *title      // under which the session owns its run
}

// open gives the box its room, and says whose it is.
func (b *mailbox) open(list, spare []message, own *title) {
	b.list, b.spare, b.own, b.news = list, spare, own, make(chan struct{}, 1)
}

// title is under what the session owns its run that the box is of.
func (b *mailbox) title() *title { return b.own }

// post puts a message in and reports whether the session will see it.
func (b *mailbox) post(msg message) bool {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return false
	}
	b.list = append(b.list, msg)
	b.mu.Unlock()
	nudge(b.news)
	return true
}

// accept reports whether an inbox row has not been accepted yet, and notes that it is now.
func (b *mailbox) accept(row int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, again := b.posted[row]; again || b.closed {
		return false
	}
	if b.posted == nil {
		b.posted = map[int64]struct{}{}
	}
	b.posted[row] = struct{}{}
	return true
}

// postMail puts what lies in the run's inbox into the mailbox, once. It keeps a copy of the mail, and so nothing of the
// others that came with it.
func (b *mailbox) postMail(mail *world.Mail) {
	if b.accept(mail.Row) {
		m := *mail
		b.post(message{kind: msgMail, at: m.ArrivedAt, mail: &m})
	}
}

// wait waits until there may be something to receive.
func (b *mailbox) wait() { <-b.news }

// waitFor is wait for so long at most.
func (b *mailbox) waitFor(d time.Duration) {
	if b.alarm == nil {
		b.alarm = time.NewTimer(d)
	} else {
		b.alarm.Reset(d)
	}
	select {
	case <-b.news:
	case <-b.alarm.C:
	}
	b.alarm.Stop()
}

// receive takes all messages that are there, and the token that told of them. They are the caller's until the next
// call.
func (b *mailbox) receive() []message {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-b.news:
	default:
	}
	clear(b.spare)
	list := b.list
	b.list, b.spare = b.spare[:0], list
	if cap(list) > deskMessages {
		b.spare = nil
	}
	return list
}

// putOff keeps messages for the next turn; hasRest reports whether there are such, and drainRest takes them out.
func (b *mailbox) putOff(msgs []message) { b.rest = append(b.rest, msgs...) }
func (b *mailbox) hasRest() bool         { return len(b.rest) > 0 }
func (b *mailbox) drainRest() []message {
	rest := b.rest
	b.rest = nil
	return rest
}

// appends notes that the session appends mail, and lastMail is when it last did; zero: never.
func (b *mailbox) appends(at time.Time) { b.last = at }
func (b *mailbox) lastMail() time.Time  { return b.last }

// empty reports whether no message is there, but for those that were put off.
func (b *mailbox) empty() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.list) == 0
}

// has reports whether a message is there that somebody looks for.
func (b *mailbox) has(what func(message) bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.ContainsFunc(b.list, what)
}

// shut ends the box and returns what nobody received.
func (b *mailbox) shut() []message {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := b.list
	b.list, b.closed = nil, true
	return list
}

// room is the spare room of a box that was shut.
func (b *mailbox) room() []message {
	b.mu.Lock()
	defer b.mu.Unlock()
	spare := b.spare
	b.spare = nil
	return spare
}
