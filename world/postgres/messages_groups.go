package postgres

// Groups of messages. Who wants of a group locks its row in message_groups first, and messages after that; a
// statement behind the lock sees what those before have
// committed. A message of a group that can be received is a hint that there is work in the group, and no more:
// what is received is the head, or where there is
// none the first. Others that are met are parked, and the end of the head promotes the next.

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
)

var (
	heads           = load("heads")
	lockFreeGroups  = load("lock_free_groups")
	makeGroups      = load("make_groups")
	receiveHeads    = load("receive_heads")
	parkMessages    = load("park_messages")
	promoteMessages = load("promote_messages")
	dropGroups      = load("drop_groups")
	groupsOf        = load("groups_of")
	lockGroups      = load("lock_groups")
)

// groups are groups of messages whose rows are locked.
type groups struct {
	db     *database
	queues []int32
	names  []string
}

// lockGroups locks the groups of messages, in order.
func (k *messaging) lockGroups(ctx context.Context, in txn, keys []int64) (g groups, err error) {
	g.db = k.db
	if err := in.each(ctx, groupsOf, func(row scanner) error {
		var queue int32
		var name string
		err := row.Scan(&queue, &name)
		g.queues, g.names = append(g.queues, queue), append(g.names, name)
		return err
	}, keys); err != nil || len(g.names) == 0 {
		return g, err
	}
	_, err = in.exec(ctx, lockGroups, g.queues, g.names)
	return g, err
}

// goOn has the next message of each group follow whose head has gone.
func (g *groups) goOn(ctx context.Context, in txn) error {
	if len(g.names) == 0 {
		return nil
	}
	args := []any{g.queues, g.names}
	return in.run(ctx, &script{db: g.db, items: []item{{s: promoteMessages, args: args}, {s: dropGroups, args: args}}})
}

// How many messages of groups a receive looks at, at once and in all: where one group stands in front with
// thousands, others are behind it.
const (
	headsAtOnce = 500
	mostHeads   = 2_000
)

// receiveGroups receives messages with a group, of these alone or of all.
func (k *messaging) receiveGroups(ctx context.Context, q *world.ReceiveQuery, only []int64, limit int, dead *int) (got []messageRow, err error) {
	var last, next headsSeen
	for last.seen < mostHeads && len(got) < limit {
		var page []messageRow
		if err := k.db.change(ctx, func(ctx context.Context, tx pgx.Tx) error {
			page, next, err = k.receivePage(ctx, k.db.in(tx), q, only, limit-len(got), last)
			return err
		}); err != nil {
			return got, err
		}
		n := next.seen - last.seen
		for _, m := range page {
			if m.dead {
				*dead++
			} else {
				got = append(got, m)
			}
		}
		last = next
		if n < headsAtOnce {
			break
		}
	}
	return got, nil
}

// headsSeen is the last message of a group that was looked at, and how many were.
type headsSeen struct {
	at   time.Time
	key  int64
	seen int
}

// receivePage receives of the groups of one page of messages, behind those that were looked at.
func (k *messaging) receivePage(ctx context.Context, in pgxTxn, q *world.ReceiveQuery, only []int64, limit int, last headsSeen) (got []messageRow, next headsSeen, err error) {
	var queue int32
	var keys []int64
	var names []string
	next = last
	if err := in.each(ctx, heads, func(row scanner) error {
		var name string
		err := row.Scan(&queue, &next.key, &name, &next.at)
		next.seen++
		keys, names = append(keys, next.key), append(names, name)
		return err
	}, q.Queue, last.at, last.key, int64(headsAtOnce)); err != nil || len(keys) == 0 {
		return nil, next, err
	}
	held, err := k.hold(ctx, in, queue, names)
	if err != nil {
		return nil, next, err
	}
	g := groups{db: k.db, names: held}
	for range held {
		g.queues = append(g.queues, queue)
	}
	if len(held) > 0 {
		if err := in.each(ctx, receiveHeads, func(row scanner) error {
			m, err := scanMessage(row, q.Queue)
			got = append(got, m)
			return err
		}, queue, held, visibilityOf(q), int64(limit), only); err != nil {
			return nil, next, err
		}
		if _, err := in.exec(ctx, parkMessages, keys, held); err != nil {
			return nil, next, err
		}
		if err := g.goOn(ctx, in); err != nil { // where dead letters were made, or nothing was received of a group
			return nil, next, err
		}
	}
	return got, next, nil
}

// hold locks the rows of groups, of those that nobody holds, and makes them where there are none.
func (k *messaging) hold(ctx context.Context, in pgxTxn, queue int32, names []string) (held []string, err error) {
	add := func(row scanner) error {
		var name string
		err := row.Scan(&name)
		held = append(held, name)
		return err
	}
	if err := in.each(ctx, lockFreeGroups, add, queue, names); err != nil {
		return nil, err
	}
	return held, in.each(ctx, makeGroups, add, queue, names)
}

// visibilityOf is the visibility that a receive asks for, in microseconds; nil: the queue's.
func visibilityOf(q *world.ReceiveQuery) *int64 {
	if q.Visibility == 0 {
		return nil
	}
	us := q.Visibility.Microseconds()
	return &us
}
