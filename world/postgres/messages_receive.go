package postgres

// Receiving messages.

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

var (
	receiveMessages = load("receive_messages")
	nextMessage     = load("next_message")
	readyMessages   = load("ready_messages")
)

// lows are from when on the messages of a queue are looked at, by priority, the highest first: dead rows lie
// before. It is a hint alone, as times do not follow
// commits: each second all are looked at.
type lows struct {
	from    [rules.Priorities]time.Time
	full    time.Time // of the last look at all
	grouped bool      // there were messages with a group: they are received first every other time
	turn    bool
}

// untaken is when one looks again at messages of groups that others hold just now.
const untaken = 50 * time.Millisecond

// ReceiveMessages receives what is ready; see [world.Messenger].
func (k *messaging) ReceiveMessages(ctx context.Context, q world.ReceiveQuery) (out world.Received, err error) {
	if err := world.CheckReceive(&q); err != nil {
		return out, err
	}
	var only []int64
	if q.Match != nil {
		if only, err = k.matching(ctx, &q); err != nil {
			return out, err
		}
	}
	var got []messageRow
	low := k.lowOf(q.Queue)
	if q.Match == nil || len(only) > 0 {
		if got, err = k.receive(ctx, &q, only, &low, &out.Dead); err != nil {
			return out, err
		}
	}
	if len(got) < q.Limit {
		known := low.grouped
		if err := k.next(ctx, &q, &out, &low); err != nil {
			return out, err
		}
		if low.grouped && !known && only == nil { // there are groups, and nobody knew it
			more, err := k.receiveGroups(ctx, &q, nil, q.Limit-len(got), &out.Dead)
			if got = append(got, more...); err != nil {
				return out, err
			}
		}
	}
	k.keepLow(q.Queue, &low)
	for i := range got {
		m := &got[i]
		m.Receipt, m.State = world.Receipt(m.key, m.fence), world.MessageOut
		out.Messages = append(out.Messages, m.Message)
	}
	out.More = len(got) == q.Limit // as far as is known
	return out, nil
}

// receive receives messages without a group and messages with one, in turn.
func (k *messaging) receive(ctx context.Context, q *world.ReceiveQuery, only []int64, low *lows, dead *int) (got []messageRow, err error) {
	low.turn = !low.turn
	if low.grouped && low.turn || only != nil {
		if got, err = k.receiveGroups(ctx, q, only, q.Limit, dead); err != nil || len(got) == q.Limit {
			return got, err
		}
	}
	for {
		plain, buried, err := k.receivePlain(ctx, q, only, q.Limit-len(got), low)
		if err != nil {
			return got, err
		}
		*dead += buried
		if got = append(got, plain...); buried == 0 || len(got) == q.Limit {
			break
		}
	}
	if low.grouped && !low.turn && len(got) < q.Limit && only == nil {
		more, err := k.receiveGroups(ctx, q, only, q.Limit-len(got), dead)
		return append(got, more...), err
	}
	return got, nil
}

// receivePlain receives messages without a group, and tells how many were dead.
func (k *messaging) receivePlain(ctx context.Context, q *world.ReceiveQuery, only []int64, limit int, low *lows) (got []messageRow, dead int, err error) {
	from := low.from
	all := only != nil || time.Since(low.full) > fullPause
	if all {
		from = [rules.Priorities]time.Time{}
	}
	err = k.db.batch(ctx, func(b *pgx.Batch) {
		got, dead = nil, 0
		b.Queue(k.db.sql(receiveMessages), q.Queue, int64(limit), from[:], visibilityOf(q), only).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				m, err := scanMessage(rows, q.Queue)
				if err != nil {
					return err
				}
				if m.dead {
					dead++
				} else {
					got = append(got, m)
				}
			}
			return rows.Err()
		})
	})
	if err != nil {
		return nil, 0, err
	}
	slices.SortFunc(got, func(a, b messageRow) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), a.at.Compare(b.at), cmp.Compare(a.key, b.key))
	})
	if all && only == nil && len(got) > 0 {
		low.full = time.Now()
		for i := len(got) - 1; i >= 0; i-- {
			low.from[rules.Priorities-1-got[i].Priority] = got[i].at
		}
	}
	return got, dead, nil
}

// next says what is to come.
func (k *messaging) next(ctx context.Context, q *world.ReceiveQuery, out *world.Received, low *lows) error {
	there := false
	if err := k.db.read(ctx, nextMessage, func(row pgx.Rows) error {
		var open bool
		var plain, grouped *time.Time
		there = true
		if err := row.Scan(&open, &out.Now, &plain, &grouped); err != nil || !open {
			return err
		}
		out.Now = out.Now.UTC()
		low.grouped = grouped != nil
		for _, next := range []*time.Time{plain, grouped} {
			if next == nil {
				continue
			}
			when := next.UTC()
			if earliest := out.Now.Add(untaken); when.Before(earliest) { // somebody has it just now
				when = earliest
			}
			if out.Next.IsZero() || when.Before(out.Next) {
				out.Next = when
			}
		}
		return nil
	}, q.Queue); err != nil {
		return err
	}
	if !there {
		return world.NoQueue(q.Queue)
	}
	return nil
}

// matching are the keys of the messages that a conditional receive is about, of the first that are ready.
func (k *messaging) matching(ctx context.Context, q *world.ReceiveQuery) (keys []int64, err error) {
	err = k.db.read(ctx, readyMessages, func(row pgx.Rows) error {
		var key int64
		var body []byte
		if err := row.Scan(&key, &body); err != nil {
			return err
		}
		if world.Contains(body, q.Match) {
			keys = append(keys, key)
		}
		return nil
	}, q.Queue, int64(world.Scanned))
	return keys, err
}

func (k *messaging) lowOf(queue string) lows {
	k.mu.Lock()
	defer k.mu.Unlock()
	if l := k.lows[queue]; l != nil {
		return *l
	}
	return lows{}
}

func (k *messaging) keepLow(queue string, l *lows) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.lows == nil {
		k.lows = make(map[string]*lows)
	}
	k.lows[queue] = l
}
