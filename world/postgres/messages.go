package postgres

// Queues of messages. What is ready is told by time, so a receive is one statement, and nobody is buried. Of a
// group one message is out: its row in
// message_groups is the right to receive of it, to end that, and to say which comes next. See messages_groups.go.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/layout"
	"github.com/stepwell/stepwell/world/rules"
)

var (
	declareQueue     = load("declare_queue")
	pauseQueue       = load("pause_queue")
	dropQueue        = load("drop_queue")
	listQueues       = load("list_queues")
	countMessages    = load("count_messages")
	lockMessages     = load("lock_messages")
	queueKeys        = load("queue_keys")
	queueNames       = load("queue_names")
	listMessages     = load("list_messages")
	listDeadMessages = load("list_dead_messages")
	messageKeys      = load("message_keys")
	deleteMessages   = load("delete_messages")
	reviveMessages   = load("revive_messages")
)

// messaging are the queues of a schema.
//
//   - What is put into its lines is answered, and shares a transaction with what arrived with it.
//   - Who locks the rows of groups and of messages locks those of groups first, each in one order, and waits
//     for no group with a message locked.
//   - Nobody is told of a message before it is durable.
type messaging struct {
	db      *database
	telling *telling
	limits  *limits

	sends   line[*sends]
	settles line[*settling]

	mu   sync.Mutex
	lows map[string]*lows // by queue
}

var _ world.Messenger = (*messaging)(nil)

// Messages returns the store of queues; see [world.World].
func (w *World) Messages() world.Messenger { return &w.messaging }

func (k *messaging) init(db *database, t *telling, l *limits) {
	k.db, k.telling, k.limits = db, t, l
	k.sends.init(db)
	k.settles.init(db)
}

// close lets what was sent and settled be written. The World is closed: nothing more is put in.
func (k *messaging) close() {
	k.sends.close()
	k.settles.close()
}

// DeclareQueue makes a queue, or changes it; see [world.Messenger].
func (k *messaging) DeclareQueue(ctx context.Context, q world.MessageQueue) error {
	if err := world.CheckQueue(&q); err != nil {
		return err
	}
	q = q.Or()
	switch all, err := k.list(ctx, []string{q.Name}); { // most are as they were
	case err != nil:
		return err
	case len(all) == 1 && q.Declares(&all[0].MessageQueue):
		return nil
	}
	limits, err := declareLimits(ctx, k.db, &q)
	if err != nil {
		return err
	}
	return k.db.change(ctx, func(ctx context.Context, tx pgx.Tx) error {
		_, err := k.db.in(tx).exec(ctx, declareQueue, q.Name, int64(q.Visibility), q.MaxReceives, limits)
		return err
	})
}

// PauseQueue pauses a queue, or ends that; see [world.Messenger].
func (k *messaging) PauseQueue(ctx context.Context, queue string, pause *world.QueuePause) error {
	if err := world.CheckPause(pause); err != nil {
		return fmt.Errorf("queue %.140s: %w", queue, err)
	}
	var text *string
	if pause != nil {
		b, err := json.Marshal(pause)
		if err != nil {
			return err
		}
		s := string(b)
		text = &s
	}
	err := k.db.change(ctx, func(ctx context.Context, tx pgx.Tx) error {
		n, err := k.db.in(tx).exec(ctx, pauseQueue, queue, text)
		if err == nil && n == 0 {
			err = world.NoQueue(queue)
		}
		return err
	})
	if err == nil {
		k.tell(queue)
	}
	return err
}

// DropQueue deletes an empty queue; see [world.Messenger].
func (k *messaging) DropQueue(ctx context.Context, queue string) error {
	return k.db.change(ctx, func(ctx context.Context, tx pgx.Tx) error {
		in := k.db.in(tx)
		if _, err := k.keyOf(ctx, in, queue); err != nil {
			return err
		}
		if _, err := in.exec(ctx, holdSpreading); err != nil { // else somebody could subscribe it, unseen
			return err
		}
		if _, err := in.exec(ctx, lockMessages); err != nil {
			return err
		}
		all, err := subscriptionsIn(ctx, in)
		if err = cmp.Or(err, world.QueueFilled(queue, all)); err != nil {
			return err
		}
		if _, err := in.exec(ctx, dropQueue, queue); err != nil {
			return err
		}
		switch _, err := k.keyOf(ctx, in, queue); {
		case errors.Is(err, world.ErrNotFound):
			return nil
		case err != nil:
			return err
		}
		return world.QueueNotEmpty(queue)
	})
}

// tell tells that something of queues is news.
func (k *messaging) tell(queues ...string) { k.telling.tell(newsOf(queues)...) }

func newsOf(queues []string) []world.Notice {
	slices.Sort(queues)
	notices := make([]world.Notice, 0, len(queues))
	for _, q := range slices.Compact(queues) {
		notices = append(notices, world.Notice{Kind: world.NoticeMessage, Run: q})
	}
	return notices
}

// listedQueue is the row of a queue.
type listedQueue struct {
	world.MessageQueue
	key    int32
	paused *world.QueuePause
}

func (k *messaging) list(ctx context.Context, names []string) (all []listedQueue, err error) {
	err = k.db.read(ctx, listQueues, func(row pgx.Rows) error {
		var q listedQueue
		var visibility int64
		var paused, limits *string
		if err := row.Scan(&q.key, &q.Name, &visibility, &q.MaxReceives, &paused, &limits); err != nil {
			return err
		}
		q.Visibility = time.Duration(visibility)
		if paused != nil {
			q.paused = new(world.QueuePause)
			_ = json.Unmarshal([]byte(*paused), q.paused) // one that is damaged is a pause all the same
		}
		if limits != nil && json.Unmarshal([]byte(*limits), &q.Limits) != nil {
			q.Limits = []world.SaidLimit{} // what cannot be read holds nobody back
		}
		all = append(all, q)
		return nil
	}, names)
	return all, err
}

// Queues tells of queues; see [world.Messenger].
func (k *messaging) Queues(ctx context.Context, names ...string) (out []world.QueueStats, err error) {
	all, err := k.list(ctx, names)
	if err != nil {
		return nil, err
	}
	for _, q := range all {
		s := world.QueueStats{MessageQueue: q.MessageQueue, Paused: q.paused, Counts: make(map[world.MessageState]int64)}
		if err := k.db.read(ctx, countMessages, func(row pgx.Rows) error {
			var n [5]int64
			var oldest *time.Time
			if err := row.Scan(&n[0], &oldest, &n[1], &n[2], &n[3], &n[4]); err != nil {
				return err
			}
			s.Oldest = at(oldest)
			for i, state := range []world.MessageState{world.MessageReady, world.MessageDelayed, world.MessageOut, world.MessageParked, world.MessageDead} {
				if n[i] > 0 {
					s.Counts[state] = min(n[i], world.CountedMessages)
				}
			}
			return nil
		}, q.key, int64(world.CountedMessages)); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// keyOf is the key of a queue.
func (k *messaging) keyOf(ctx context.Context, in txn, queue string) (key int32, err error) {
	found := false
	if err := in.each(ctx, queueKeys, func(row scanner) error {
		var name string
		found = true
		return row.Scan(&name, &key)
	}, []string{queue}); err != nil {
		return 0, err
	}
	if !found {
		return 0, world.NoQueue(queue)
	}
	return key, nil
}

// messageRow is the row of a message; its Queue is what the queue is named.
type messageRow struct {
	world.Message
	key        int64
	fence      int64
	held, dead bool
	visible    time.Time // zero: it waits behind another of its group, or is dead
	at         time.Time // since when it could be received; of a list: the time
}

// scanMessage reads the row of a message.
func scanMessage(row scanner, queue string) (m messageRow, err error) {
	m.Queue = queue
	var group, reason *string
	var head string
	var body []byte
	var sum int32
	var visible infinite
	var receives, fence int32
	var priority int16
	if err := row.Scan(&m.key, &group, &priority, &visible, &receives, &fence, &m.held, &m.dead, &m.SentAt, &reason, &head, &body, &sum, &m.at); err != nil {
		return m, err
	}
	m.Ranked(int(priority))
	m.Group, m.Receives, m.fence, m.Error = textOf(group), int(receives), int64(fence), textOf(reason)
	m.SentAt, m.visible = m.SentAt.UTC(), visible.time
	m.ID = world.MessageID(m.SentAt, m.key)
	m.Until = m.visible
	layout.ReadMessage(&m.Message, head, body, layout.SumOf(sum))
	return m, nil
}

// PeekMessages looks at messages; see [world.Messenger].
func (k *messaging) PeekMessages(ctx context.Context, pq world.PeekQuery) (page world.MessagePage, err error) {
	behind, err := world.CheckPeek(&pq)
	if err != nil {
		return page, err
	}
	if all, err := k.list(ctx, []string{pq.Queue}); err != nil || len(all) == 0 {
		if err == nil {
			err = world.NoQueue(pq.Queue)
		}
		return page, err
	}
	s := listMessages
	if pq.State == world.MessageDead {
		s = listDeadMessages
	}
	err = rules.PeekPage(&page, pq, behind, func(behind int64, limit int) (all []rules.Peeked, err error) {
		err = k.db.read(ctx, s, func(row pgx.Rows) error {
			m, err := scanMessage(row, pq.Queue)
			m.State = rules.StateOf(m.at, m.visible, m.held, m.dead)
			all = append(all, rules.Peeked{Message: m.Message, Number: m.key})
			return err
		}, pq.Queue, behind, int64(limit))
		return all, err
	})
	return page, err
}

// PurgeMessages deletes messages; see [world.Messenger].
func (k *messaging) PurgeMessages(ctx context.Context, queue string, dead bool) (n int, more bool, err error) {
	return k.some(ctx, queue, dead, nil, func(ctx context.Context, in pgxTxn, keys []int64) (int64, error) {
		return in.exec(ctx, deleteMessages, keys, dead)
	})
}

// RedriveMessages makes dead letters messages again; see [world.Messenger].
func (k *messaging) RedriveMessages(ctx context.Context, queue string, ids ...string) (n int, more bool, err error) {
	var keys []int64
	for _, id := range ids {
		if key, ok := world.MessageNumber(id); ok {
			keys = append(keys, key)
		}
	}
	if len(ids) > 0 && len(keys) == 0 {
		return 0, false, nil
	}
	return k.some(ctx, queue, true, keys, func(ctx context.Context, in pgxTxn, keys []int64) (int64, error) {
		return in.exec(ctx, reviveMessages, keys)
	})
}

// some does something with messages of a queue, the first ones first.
func (k *messaging) some(ctx context.Context, queue string, dead bool, only []int64, do func(ctx context.Context, in pgxTxn, keys []int64) (int64, error)) (n int, more bool, err error) {
	err = k.db.change(ctx, func(ctx context.Context, tx pgx.Tx) error {
		in := k.db.in(tx)
		key, err := k.keyOf(ctx, in, queue)
		if err != nil {
			return err
		}
		var keys []int64
		if err := in.each(ctx, messageKeys, func(row scanner) error {
			var m int64
			err := row.Scan(&m)
			keys = append(keys, m)
			return err
		}, key, dead, only, int64(world.MaxBatch+1)); err != nil {
			return err
		}
		if more = len(keys) > world.MaxBatch; more {
			keys = keys[:world.MaxBatch]
		}
		g, err := k.lockGroups(ctx, in, keys)
		if err != nil {
			return err
		}
		done, err := do(ctx, in, keys)
		if err != nil {
			return err
		}
		n = int(done)
		return g.goOn(ctx, in)
	})
	if err != nil {
		return 0, false, err
	}
	if n > 0 {
		k.tell(queue)
	}
	return n, more, nil
}

// infinite is a time that may be infinity: the zero time.
type infinite struct{ time time.Time }

// ScanTimestamptz reads it, for pgx.
func (t *infinite) ScanTimestamptz(v pgtype.Timestamptz) error {
	t.time = time.Time{}
	if v.InfinityModifier == pgtype.Finite {
		t.time = v.Time.UTC()
	}
	return nil
}

// unsettled is the error for an answer that does not fit what was asked for.
func unsettled(what string, got, want int) error {
	return fmt.Errorf("%w: %s: %d rows, want %d", world.ErrStorage, what, got, want)
}
