package postgres

// Receiving messages.

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

var (
	receiveMessages = load("receive_messages")
	nextMessage     = load("next_message")
	readyMessages   = load("ready_messages")
)

// lows are from when on the messages of a queue are looked at, by priority, the highest first: dead rows lie
// before. It is a hint alone, as times do not follow commits: where the last look at all is [fullPause] old, all are
// looked at again.
type lows struct {
	from    [rules.Priorities]time.Time
	full    time.Time // of the last look at all
	flood   bool      // the last receive got all it asked for
	limited bool      // the queue has limits, or had
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
	out, err = receiveNow(ctx, k, q)
	if err == nil && len(out.Messages) < q.Limit && k.lowOf(q.Queue).limited {
		err = receiveLimited(ctx, k, q, &out)
	}
	return out, err
}

// receiveNow receives what is ready, and nobody else is let in.
func receiveNow(ctx context.Context, k *messaging, q world.ReceiveQuery) (out world.Received, err error) {
	var only []int64
	if q.Match != nil {
		if only, err = k.matching(ctx, &q); err != nil {
			return out, err
		}
	}
	var got []messageRow
	low := k.lowOf(q.Queue)
	ask := receiving{q: &q, only: only, low: &low, out: &out, grouped: low.grouped}
	if q.Match == nil || len(only) > 0 {
		if got, err = k.receive(ctx, &ask); err != nil {
			return out, err
		}
	}
	if len(got) < q.Limit {
		if err := k.next(ctx, &ask); err != nil {
			return out, err
		}
		if low.grouped && !ask.grouped && only == nil { // there are groups, and nobody knew it
			more, err := k.receiveGroups(ctx, &q, nil, q.Limit-len(got), &out.Dead)
			if got = append(got, more...); err != nil {
				return out, err
			}
		}
	}
	low.flood = len(got) == q.Limit
	k.keepLow(q.Queue, &low)
	for i := range got {
		m := &got[i]
		m.Receipt, m.State = world.Receipt(m.key, m.fence), world.MessageOut
		out.Messages = append(out.Messages, m.Message)
	}
	out.More = low.flood // as far as is known
	if out.Now.IsZero() {
		out.Now = k.db.now()
	}
	return out, nil
}

// receiving is a receive that is under way.
type receiving struct {
	q       *world.ReceiveQuery
	only    []int64 // nil: all
	low     *lows
	out     *world.Received
	grouped bool // there were groups when it began

	// What is to come is looked for from then, see lows, and until then: what lies later was received, and is dead
	// for the most part. Zero: all is looked at.
	from  [rules.Priorities]time.Time
	until time.Time
	told  bool // what is to come is known: it was asked with the last statement that received
}

// receive receives messages without a group and messages with one, in turn.
func (k *messaging) receive(ctx context.Context, r *receiving) (got []messageRow, err error) {
	low, limit := r.low, r.q.Limit
	low.turn = !low.turn
	if r.grouped && low.turn || r.only != nil {
		if got, err = k.receiveGroups(ctx, r.q, r.only, limit, &r.out.Dead); err != nil || len(got) == limit {
			return got, err
		}
	}
	for {
		plain, buried, err := k.receivePlain(ctx, r, limit-len(got))
		if err != nil {
			return got, err
		}
		r.out.Dead += buried
		if got = append(got, plain...); buried == 0 || len(got) == limit {
			break
		}
	}
	if r.grouped && !low.turn && len(got) < limit && r.only == nil {
		more, err := k.receiveGroups(ctx, r.q, nil, limit-len(got), &r.out.Dead)
		return append(got, more...), err
	}
	return got, nil
}

// receivePlain receives messages without a group, and tells how many were dead. Where it is likely that less is there
// than it may take, it asks in the same round trip what is to come.
func (k *messaging) receivePlain(ctx context.Context, r *receiving, limit int) (got []messageRow, dead int, err error) {
	low, queue := r.low, r.q.Queue
	all := r.only != nil || time.Since(low.full) > fullPause
	if r.from, r.until = low.from, k.db.now().Add(fullPause); all {
		r.from, r.until = [rules.Priorities]time.Time{}, time.Time{}
	}
	open := false
	err = k.db.batch(ctx, func(b *pgx.Batch) {
		got, dead = nil, 0
		b.Queue(k.db.sql(receiveMessages), queue, int64(limit), r.from[:], visibilityOf(r.q), r.only).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				m, err := scanMessage(rows, queue)
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
		if r.told = !low.flood && !r.grouped; r.told {
			b.Queue(k.db.sql(nextMessage), queue, r.from[:], orInfinity(r.until)).Query(func(rows pgx.Rows) error {
				for open = false; rows.Next(); open = true {
					if err := r.note(rows); err != nil {
						return err
					}
				}
				return rows.Err()
			})
		}
	})
	switch {
	case err != nil:
		return nil, 0, err
	case r.told && !open:
		return nil, 0, world.NoQueue(queue)
	}
	slices.SortFunc(got, func(a, b messageRow) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), a.at.Compare(b.at), cmp.Compare(a.key, b.key))
	})
	if all && r.only == nil && len(got) > 0 {
		low.full = time.Now()
		for i := len(got) - 1; i >= 0; i-- {
			low.from[rules.Priorities-1-got[i].Rank()] = got[i].at
		}
	}
	return got, dead, nil
}

// next says what is to come, where it is not known.
func (k *messaging) next(ctx context.Context, r *receiving) error {
	if r.told {
		return nil
	}
	there := false
	if err := k.db.read(ctx, nextMessage, func(row pgx.Rows) error { there = true; return r.note(row) }, r.q.Queue, r.from[:], orInfinity(r.until)); err != nil {
		return err
	}
	if !there {
		return world.NoQueue(r.q.Queue)
	}
	return nil
}

// note notes what is to come.
func (r *receiving) note(row scanner) error {
	var open bool
	var plain, grouped *time.Time
	out := r.out
	if err := row.Scan(&open, &out.Now, &plain, &grouped, &r.low.limited); err != nil || !open {
		return err
	}
	out.Now, out.Next = out.Now.UTC(), time.Time{}
	r.low.grouped = grouped != nil
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
	if again := out.Now.Add(fullPause); !r.until.IsZero() && (out.Next.IsZero() || again.Before(out.Next)) {
		out.Next = again // not all were looked at: the next look does
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

// orInfinity is a time as an argument, infinity where it is zero.
func orInfinity(at time.Time) pgtype.Timestamptz {
	if at.IsZero() {
		return pgtype.Timestamptz{InfinityModifier: pgtype.Infinity, Valid: true}
	}
	return pgtype.Timestamptz{Time: at, Valid: true}
}
