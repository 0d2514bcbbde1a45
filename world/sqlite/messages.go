package sqlite

// Queues of messages. There is one writer, so a message of a group is parked when it is sent, and promoted when
// the one before it has gone.

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/layout"
	"github.com/stepwell/stepwell/world/rules"
)

var (
	declareQueue   = load("declare_queue")
	pauseQueue     = load("pause_queue")
	dropQueue      = load("drop_queue")
	dropDedupes    = load("drop_dedupes")
	queueByName    = load("queue_by_name")
	listQueues     = load("list_queues")
	countMessages  = load("count_messages")
	findDedupe     = load("find_dedupe")
	putDedupe      = load("put_dedupe")
	forgetDedupes  = load("forget_dedupes")
	insertMessage  = load("insert_message")
	insertBody     = load("insert_body")
	readyMessages  = load("ready_messages")
	listMessages   = load("list_messages")
	nextMessage    = load("next_message")
	receiveMessage = load("receive_message")
	heldMessage    = load("held_message")
	returnMessage  = load("return_message")
	buryMessage    = load("bury_message")
	deleteMessage  = load("delete_message")
	deleteBody     = load("delete_body")
	promoteMessage = load("promote_message")
	parkMessage    = load("park_message")
	reviveMessage  = load("revive_message")
)

// messages are the queues of a World.
type messages struct{ w *World }

// Messages returns the store of queues; see [world.World].
func (w *World) Messages() world.Messenger { return messages{w} }

// messageQueue is the row of a queue.
type messageQueue struct {
	world.MessageQueue
	key    int64
	paused *world.QueuePause
	parked int // messages that this receive has stand in line
}

// messageRow is the row of a message; its Queue is what the queue is named.
type messageRow struct {
	world.Message
	key, queue, fence int64
	ready             time.Time // zero: it is parked or dead
	held, dead        bool
	limited           bool // it needs places
}

// DeclareQueue makes a queue, or changes it; see [world.Messenger].
func (k messages) DeclareQueue(ctx context.Context, q world.MessageQueue) error {
	if err := world.CheckQueue(&q); err != nil {
		return err
	}
	q = q.Or()
	switch all, err := k.Queues(ctx, q.Name); { // most are as they were
	case err != nil:
		return err
	case len(all) == 1 && q.Declares(&all[0].MessageQueue):
		return nil
	}
	var limits any
	if q.Limits != nil {
		b, err := json.Marshal(q.Limits)
		if err != nil {
			return err
		}
		limits = string(b)
	}
	_, err := ask(ctx, k.w, func(g *group) (none struct{}, err error) {
		if err := g.queue.limits.may(q.Limits); err != nil {
			return none, fmt.Errorf("queue %s: %w", q.Name, err)
		}
		for _, l := range q.Says() {
			if err := g.queue.limits.say(l); err != nil {
				return none, err
			}
		}
		return none, g.tx.exec(declareQueue, q.Name, int64(q.Visibility), int64(q.MaxReceives), limits)
	})
	return err
}

// PauseQueue pauses a queue, or ends that; see [world.Messenger].
func (k messages) PauseQueue(ctx context.Context, queue string, pause *world.QueuePause) error {
	if err := world.CheckPause(pause); err != nil {
		return fmt.Errorf("queue %.140s: %w", queue, err)
	}
	var text any
	if pause != nil {
		b, err := json.Marshal(pause)
		if err != nil {
			return err
		}
		text = string(b)
	}
	return k.w.write(ctx, func(g *group) error {
		if _, err := queueNamed(g.tx.conn(), queue); err != nil {
			return err
		}
		g.tx.notice(world.NoticeMessage, queue)
		return g.tx.exec(pauseQueue, queue, text)
	})
}

// DropQueue deletes an empty queue; see [world.Messenger].
func (k messages) DropQueue(ctx context.Context, queue string) error {
	return k.w.write(ctx, func(g *group) error {
		q, err := queueNamed(g.tx.conn(), queue)
		if err != nil {
			return err
		}
		all, err := subscriptions(g.tx.conn())
		if err = cmp.Or(err, world.QueueFilled(queue, all)); err != nil {
			return err
		}
		for dead := range int64(2) {
			if found, err := g.tx.one(listMessages, func(row) error { return nil }, q.key, dead, int64(0), int64(1)); err != nil || found {
				return cmp.Or(err, world.QueueNotEmpty(queue))
			}
		}
		if err := g.tx.exec(dropDedupes, q.key); err != nil {
			return err
		}
		return g.tx.exec(dropQueue, q.key)
	})
}

func scanQueue(r row) (q messageQueue) {
	q.key = r.int(0)
	q.MessageQueue = world.MessageQueue{Name: r.text(1), Visibility: time.Duration(r.int(2)), MaxReceives: int(r.int(3))}
	if !r.null(4) {
		q.paused = new(world.QueuePause)
		_ = json.Unmarshal([]byte(r.text(4)), q.paused) // one that is damaged is a pause all the same
	}
	if !r.null(5) && json.Unmarshal([]byte(r.text(5)), &q.Limits) != nil {
		q.Limits = []world.SaidLimit{} // what cannot be read holds nobody back
	}
	return q
}

func queueNamed(c *conn, name string) (q messageQueue, err error) {
	found, err := c.one(queueByName, func(r row) error { q = scanQueue(r); return nil }, name)
	if err == nil && !found {
		err = world.NoQueue(name)
	}
	return q, err
}

// Queues tells of queues; see [world.Messenger].
func (k messages) Queues(ctx context.Context, names ...string) (out []world.QueueStats, err error) {
	err = k.w.read(ctx, func(c *conn) error {
		var all []messageQueue
		if err := c.query(listQueues, func(r row) (bool, error) { all = append(all, scanQueue(r)); return true, nil }); err != nil {
			return err
		}
		for _, q := range all {
			if len(names) > 0 && !slices.Contains(names, q.Name) {
				continue
			}
			s := world.QueueStats{MessageQueue: q.MessageQueue, Paused: q.paused, Counts: make(map[world.MessageState]int64)}
			if _, err := c.one(countMessages, func(r row) error {
				s.Oldest = r.time(1)
				for i, state := range []world.MessageState{world.MessageReady, "", world.MessageDelayed, world.MessageOut, world.MessageParked, world.MessageDead} {
					if n := r.int(i); n > 0 && state != "" {
						s.Counts[state] = n
					}
				}
				return nil
			}, q.key, k.w.Time().UnixMicro(), int64(world.CountedMessages)); err != nil {
				return err
			}
			out = append(out, s)
		}
		return nil
	})
	return out, err
}

// SendMessages puts messages into queues; see [world.Messenger].
func (k messages) SendMessages(ctx context.Context, all []world.Message) ([]world.Sent, error) {
	if err := world.CheckMessages(all); err != nil {
		return nil, err
	}
	return ask(ctx, k.w, func(g *group) ([]world.Sent, error) { return sendMessages(&g.tx, all, true) })
}

// sendMessages puts messages into queues; one whose key of a limit cannot be told is refused, if it may.
func sendMessages(tx *txn, all []world.Message, refuse bool) ([]world.Sent, error) {
	queues := make(map[string]messageQueue, 1)
	var places map[int][]world.Place
	for i := range all {
		q, known := queues[all[i].Queue]
		if !known {
			var err error
			if q, err = queueNamed(tx.conn(), all[i].Queue); err != nil {
				return nil, err
			}
			queues[all[i].Queue] = q
		}
		if len(q.Limits) == 0 {
			continue
		}
		m := all[i]
		if !refuse {
			m.Keys = world.KeysElsewhere(m.Keys)
		}
		of, err := world.MessagePlaces(q.Limits, &m)
		if err != nil {
			return nil, err
		}
		if places == nil {
			places = make(map[int][]world.Place)
		}
		places[i] = of
	}
	sent := make([]world.Sent, len(all))
	for i := range all {
		m, queue := &all[i], queues[all[i].Queue].key
		if m.Dedupe != "" {
			if _, err := tx.one(findDedupe, func(r row) error { sent[i] = world.Sent{ID: r.text(0), Duplicate: true}; return nil },
				queue, m.Dedupe, tx.now().UnixMicro()); err != nil || sent[i].Duplicate {
				if err != nil {
					return nil, err
				}
				continue
			}
		}
		key, err := tx.insert(insertMessage, queue, orNull(m.Group), int64(m.Rank()), tx.now().Add(m.Delay).UnixMicro(), tx.now().UnixMicro())
		if err != nil {
			return nil, err
		}
		head := layout.MessageHead(m)
		if err := tx.exec(insertBody, key, head, m.Payload, int64(layout.MessageSum(m.Queue, m.Group, head, m.Payload).Value())); err != nil {
			return nil, err
		}
		if err := enterMessage(tx.limits, key, places[i], m.Group == "" && m.Delay == 0); err != nil {
			return nil, err
		}
		tx.grow(len(head) + len(m.Payload))
		sent[i].ID = world.MessageID(tx.now(), key)
		if m.Dedupe != "" {
			if err := tx.exec(putDedupe, queue, m.Dedupe, sent[i].ID, tx.now().Add(cmp.Or(m.Window, world.DefaultWindow)).UnixMicro()); err != nil {
				return nil, err
			}
		}
		tx.notice(world.NoticeMessage, m.Queue)
	}
	return sent, nil
}

// scanMessage reads a row of a queue that is named.
func scanMessage(r row, q *messageQueue) (m messageRow) {
	m.key, m.queue = r.int(0), q.key
	m.Queue, m.Group = q.Name, r.text(1)
	m.Ranked(int(r.int(2)))
	m.ready, m.Receives, m.fence, m.held, m.dead = r.time(3), int(r.int(4)), r.int(5), r.bool(6), r.bool(7)
	m.SentAt, m.Error = r.time(8), r.text(9)
	m.ID = world.MessageID(m.SentAt, m.key)
	layout.ReadMessage(&m.Message, r.text(10), r.bytes(11), r.sum(12))
	m.limited = r.bool(13)
	return m
}

func readMessages(c *conn, q *messageQueue, s *statement, args ...any) (all []messageRow, err error) {
	err = c.query(s, func(r row) (bool, error) { all = append(all, scanMessage(r, q)); return true, nil }, args...)
	return all, err
}

// ReceiveMessages receives what is ready; see [world.Messenger].
func (k messages) ReceiveMessages(ctx context.Context, rq world.ReceiveQuery) (world.Received, error) {
	if err := world.CheckReceive(&rq); err != nil {
		return world.Received{}, err
	}
	return ask(ctx, k.w, func(g *group) (out world.Received, err error) {
		tx := &g.tx
		out.Now = tx.now()
		q, err := queueNamed(tx.conn(), rq.Queue)
		if err != nil || q.paused != nil {
			return out, err
		}
		if q.Limits != nil {
			defer tx.limits.shut()
			if err := tx.limits.wake(); err != nil {
				return out, err
			}
		}
		passed := 0
		for p := int64(rules.Priorities) - 1; p >= 0 && len(out.Messages) < rq.Limit; p-- {
			for again := true; again && len(out.Messages) < rq.Limit; {
				if passed, again, err = receive(tx, &q, &rq, p, passed, &out); err != nil {
					return out, err
				}
			}
		}
		_, err = tx.one(nextMessage, func(r row) error {
			if next := r.time(0); next.After(tx.now()) {
				out.Next = next
			} else if !next.IsZero() {
				out.More = true
			}
			return nil
		}, q.key)
		if q.parked >= mostParked { // there may be others
			out.Next = out.Now
		} else if err == nil && q.Limits != nil {
			_, err = tx.one(nextDueKey, func(r row) error {
				if next := r.time(0); !next.IsZero() && (out.Next.IsZero() || next.Before(out.Next)) {
					out.Next = next
				}
				return nil
			})
		}
		return out, err
	})
}

// receive receives of one priority, whatever of it was passed by before. It is to be called again where dead
// letters, and those that stand in line, have made room for others.
func receive(tx *txn, q *messageQueue, rq *world.ReceiveQuery, priority int64, passed int, out *world.Received) (nowPassed int, again bool, err error) {
	limit := int64(rq.Limit - len(out.Messages))
	if rq.Match != nil {
		limit = world.Scanned
	}
	ready, err := readMessages(tx.conn(), q, readyMessages, q.key, priority, tx.now().UnixMicro(), limit)
	if err != nil {
		return passed, false, err
	}
	until := tx.now().Add(cmp.Or(rq.Visibility, q.Visibility))
	for _, m := range ready {
		if rq.Match != nil && (passed == world.Scanned || len(out.Messages) == rq.Limit) {
			return passed, false, nil
		}
		switch {
		case rq.Match != nil && !world.Contains(m.Payload, rq.Match):
			passed++
			continue
		case m.Receives >= q.MaxReceives:
			if err := bury(tx, &m, ""); err != nil {
				return passed, false, err
			}
			out.Dead++
			again = rq.Match == nil
			continue
		case m.limited:
			whole, err := seekMessage(tx.limits, m.key)
			if err == nil && whole {
				err = payMessage(tx.limits, m.key)
			}
			if err != nil {
				return passed, false, err
			}
			if !whole {
				q.parked++
				again = rq.Match == nil && q.parked < mostParked
				continue
			}
		}
		if err := tx.exec(receiveMessage, m.key, until.UnixMicro()); err != nil {
			return passed, false, err
		}
		m.Receives++
		m.Until, m.State, m.Receipt = until, world.MessageOut, world.Receipt(m.key, m.fence+1)
		out.Messages = append(out.Messages, m.Message)
	}
	return passed, again, nil
}

// bury makes a message a dead letter; the next of its group follows.
func bury(tx *txn, m *messageRow, reason string) error {
	if err := tx.exec(buryMessage, m.key, orNull(reason)); err != nil {
		return err
	}
	if m.limited {
		if err := restMessage(tx.limits, m.key, false); err != nil {
			return err
		}
	}
	return promote(tx, m)
}

// remove deletes a message; the next of its group follows.
func remove(tx *txn, m *messageRow) error {
	if m.limited {
		if err := restMessage(tx.limits, m.key, true); err != nil {
			return err
		}
	}
	if err := tx.exec(deleteMessage, m.key); err != nil {
		return err
	}
	if err := tx.exec(deleteBody, m.key); err != nil {
		return err
	}
	return promote(tx, m)
}

func promote(tx *txn, m *messageRow) error {
	if m.Group == "" {
		return nil
	}
	_, err := tx.changed(promoteMessage, m.queue, m.Group, tx.now().UnixMicro())
	return err
}

// SettleMessages ends receives; see [world.Messenger].
func (k messages) SettleMessages(ctx context.Context, all []world.Settlement) ([]bool, error) {
	if err := world.CheckSettlements(all); err != nil {
		return nil, err
	}
	return ask(ctx, k.w, func(g *group) ([]bool, error) {
		done := make([]bool, len(all))
		for i := range all {
			var err error
			if done[i], err = settle(&g.tx, &all[i]); err != nil {
				return nil, err
			}
		}
		return done, nil
	})
}

func settle(tx *txn, s *world.Settlement) (held bool, err error) {
	key, fence, err := world.ReadReceipt(s.Receipt)
	if err != nil {
		return false, err
	}
	m := messageRow{key: key}
	if held, err = tx.one(heldMessage, func(r row) error {
		m.queue, m.Group, m.Queue, m.limited = r.int(0), r.text(1), r.text(2), r.bool(3)
		return nil
	}, key, fence); err != nil || !held || !strings.HasPrefix(m.Queue, s.Queues) {
		return false, err
	}
	tx.notice(world.NoticeMessage, m.Queue)
	switch s.Kind {
	case world.Ack:
		return true, remove(tx, &m)
	case world.Bury:
		return true, bury(tx, &m, s.Error)
	}
	if m.limited {
		if s.Kind == world.Extend {
			err = unpark(tx.limits, key)
		} else {
			err = restMessage(tx.limits, key, false)
		}
		if err != nil {
			return false, err
		}
	}
	return true, tx.exec(returnMessage, key, tx.now().Add(s.After).UnixMicro(), bit(s.Kind == world.Extend), bit(s.Kind == world.Unread), orNull(s.Error))
}

// PeekMessages looks at messages; see [world.Messenger].
func (k messages) PeekMessages(ctx context.Context, pq world.PeekQuery) (page world.MessagePage, err error) {
	behind, err := world.CheckPeek(&pq)
	if err != nil {
		return page, err
	}
	err = k.w.read(ctx, func(c *conn) error {
		q, err := queueNamed(c, pq.Queue)
		if err != nil {
			return err
		}
		now := k.w.Time()
		return rules.PeekPage(&page, pq, behind, func(behind int64, limit int) (all []rules.Peeked, err error) {
			rows, err := readMessages(c, &q, listMessages, q.key, bit(pq.State == world.MessageDead), behind, int64(limit))
			for _, m := range rows {
				m.Until = m.ready
				m.State = rules.StateOf(now, m.ready, m.held, m.dead)
				all = append(all, rules.Peeked{Message: m.Message, Number: m.key})
			}
			return all, err
		})
	})
	return page, err
}

// PurgeMessages deletes messages; see [world.Messenger].
func (k messages) PurgeMessages(ctx context.Context, queue string, dead bool) (n int, more bool, err error) {
	return k.each(ctx, queue, dead, remove)
}

// RedriveMessages makes dead letters messages again; see [world.Messenger].
func (k messages) RedriveMessages(ctx context.Context, queue string, ids ...string) (n int, more bool, err error) {
	return k.each(ctx, queue, true, func(tx *txn, m *messageRow) error {
		if err := tx.exec(reviveMessage, m.key, tx.now().UnixMicro()); err != nil || m.Group == "" {
			return err
		}
		if err := tx.exec(parkMessage, m.queue, m.Group, m.key); err != nil {
			return err
		}
		return promote(tx, m)
	}, ids...)
}

// sweepDedupes forgets dedupe IDs whose window is over.
func (k messages) sweepDedupes(ctx context.Context) error {
	return k.w.write(ctx, func(g *group) error {
		_, err := g.tx.changed(forgetDedupes, g.tx.now().UnixMicro())
		return err
	})
}

// each does something, in one transaction, with the dead letters of a queue, or with all its messages, the
// first ones first; of these alone, by their IDs.
func (k messages) each(ctx context.Context, queue string, dead bool, do func(tx *txn, m *messageRow) error, ids ...string) (n int, more bool, err error) {
	type did struct {
		n    int
		more bool
	}
	d, err := ask(ctx, k.w, func(g *group) (d did, err error) {
		tx := &g.tx
		q, err := queueNamed(tx.conn(), queue)
		if err != nil {
			return d, err
		}
		var all []messageRow
		if len(ids) == 0 {
			all, err = readMessages(tx.conn(), &q, listMessages, q.key, bit(dead), int64(0), int64(world.MaxBatch+1))
		}
		for _, id := range ids {
			key, _ := world.MessageNumber(id)
			one, err := readMessages(tx.conn(), &q, listMessages, q.key, bit(dead), key-1, int64(1))
			if err != nil {
				return d, err
			}
			if len(one) == 1 && one[0].ID == id {
				all = append(all, one[0])
			}
		}
		if err != nil {
			return d, err
		}
		if d.more = len(all) > world.MaxBatch; d.more {
			all = all[:world.MaxBatch]
		}
		for i := range all {
			if err := do(tx, &all[i]); err != nil {
				return d, err
			}
			d.n++
		}
		if d.n > 0 {
			tx.notice(world.NoticeMessage, queue)
		}
		return d, nil
	})
	return d.n, d.more, err
}
