package postgres

// Sending messages, and settling them: what arrives together shares a transaction.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/layout"
)

var (
	sendMessages    = load("send_messages")
	putDedupe       = load("put_dedupe")
	findDedupe      = load("find_dedupe")
	noteDedupe      = load("note_dedupe")
	ackMessages     = load("ack_messages")
	ackPlain        = load("ack_plain_messages")
	returnMessages  = load("return_messages")
	foreignMessages = load("foreign_messages")
)

// sends are messages that are sent at once, or what is published at once, and wait for their transaction. Whoever made
// it waits for done.
type sends struct {
	all       []world.Message
	published []world.Publication // where these are what it is about
	sent      []world.Sent
	err       error
	done      chan struct{} // capacity 1
}

// once reports whether any of it has an ID by which it is known, so that it may have to wait for somebody.
func (s *sends) once() bool {
	return slices.ContainsFunc(s.all, func(m world.Message) bool { return m.Dedupe != "" }) ||
		slices.ContainsFunc(s.published, func(p world.Publication) bool { return p.Dedupe != "" })
}

// SendMessages puts messages into queues; see [world.Messenger].
func (k *messaging) SendMessages(ctx context.Context, all []world.Message) ([]world.Sent, error) {
	if err := world.CheckMessages(all); err != nil {
		return nil, err
	}
	return k.send(ctx, &sends{all: all, done: make(chan struct{}, 1)})
}

func (k *messaging) send(ctx context.Context, s *sends) ([]world.Sent, error) {
	if s.once() {
		s.err = errAlone
	} else if err := k.sends.put(ctx, s, s.done); err != nil {
		return nil, err
	}
	if errors.Is(s.err, errAlone) {
		s.err = k.db.change(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
			if len(s.published) > 0 {
				s.sent, err = publishIn(ctx, k.db.in(tx), s.published)
				return err
			}
			return k.sendIn(ctx, k.db.in(tx), s)
		})
		if s.err == nil {
			k.tellSent(s)
		}
	}
	return s.sent, s.err
}

// sending is the goroutine that sends.
func (k *messaging) sending(ctx context.Context) {
	var batch []*sends
	for first := range k.sends.out() {
		for more := true; more; {
			batch, first, more = k.sends.gather(batch[:0], first, (*sends).bytes, nil)
			k.sendGroup(ctx, batch)
			clear(batch)
		}
	}
}

func (s *sends) bytes() (n int) {
	for i := range s.all {
		n += len(s.all[i].Payload)
	}
	for i := range s.published {
		n += len(s.published[i].Payload)
	}
	return n
}

// sendGroup sends and answers. Where that is refused, or a queue is not there, each is to be tried alone.
func (k *messaging) sendGroup(ctx context.Context, batch []*sends) {
	ctx, cancel := context.WithTimeout(ctx, groupPatience)
	defer cancel()
	var all []world.Message
	var published []world.Publication
	for _, s := range batch {
		all, published = append(all, s.all...), append(published, s.published...)
	}
	var sent, out []world.Sent
	err := k.db.batch(ctx, func(q *pgx.Batch) {
		sent, out = nil, nil
		if len(all) > 0 {
			q.Queue(k.db.sql(sendMessages), sendArgs(all, false)...).Query(func(rows pgx.Rows) (err error) { sent, err = scanSent(rows, scanKey); return err })
		}
		if len(published) > 0 {
			q.Queue(k.db.sql(publish), publishArgs(published)...).Query(func(rows pgx.Rows) (err error) { out, err = scanSent(rows, scanPublished); return err })
		}
	})
	switch {
	case err != nil && (refused(err) || unsent(err) || ours(err)):
		err = errAlone
	case err != nil:
		err = errors.Join(world.ErrUnknownOutcome, err)
	}
	for _, s := range batch {
		switch s.err = err; {
		case err != nil:
		case len(s.published) > 0:
			s.sent, out = out[:len(s.published)], out[len(s.published):]
		case len(sent) == 0: // none of the messages: a queue is not there
			s.err = errAlone
		default:
			s.sent, sent = sent[:len(s.all)], sent[len(s.all):]
		}
		if s.err == nil {
			k.tellSent(s)
		}
		s.done <- struct{}{}
	}
}

func (k *messaging) tellSent(s *sends) {
	k.tell(s.queues()...)
	if slices.ContainsFunc(s.sent[:len(s.published)], func(x world.Sent) bool { return !x.Duplicate }) {
		k.telling.tell(newsOfTopics)
	}
}

// queues are those that something new was sent to.
func (s *sends) queues() (all []string) {
	for i := range s.all {
		if !s.sent[i].Duplicate {
			all = append(all, s.all[i].Queue)
		}
	}
	return all
}

// sendArgs are what send_messages is told of messages; those that stand may not be refused for a key of a limit.
func sendArgs(all []world.Message, stand bool) []any {
	n := len(all)
	queues, groups, priorities, delays := make([]string, n), make([]*string, n), make([]int16, n), make([]int64, n)
	heads, bodies, sums, keys := make([]string, n), make([][]byte, n), make([]int32, n), make([]*string, n)
	for i := range all {
		m := &all[i]
		queues[i], priorities[i], delays[i] = m.Queue, int16(m.Rank()), m.Delay.Microseconds()
		if m.Group != "" {
			groups[i] = &m.Group
		}
		heads[i], bodies[i], keys[i] = layout.MessageHead(m), m.Payload, keysText(m.Keys, stand)
		sums[i] = layout.MessageSum(m.Queue, m.Group, heads[i], m.Payload).Value()
	}
	return []any{queues, groups, priorities, delays, heads, bodies, sums, keys}
}

// scanSent reads what became of messages: keys grow in the order in which they were sent.
func scanSent(rows pgx.Rows, scan func(row scanner) (world.Sent, error)) (sent []world.Sent, err error) {
	for rows.Next() {
		m, err := scan(rows)
		if err != nil {
			return nil, err
		}
		sent = append(sent, m)
	}
	return sent, rows.Err()
}

func scanKey(row scanner) (s world.Sent, err error) {
	var key int64
	var at time.Time
	if err = row.Scan(&key, &at); err == nil {
		s.ID = world.MessageID(at, key)
	}
	return s, err
}

// sendIn sends within a transaction.
func (k *messaging) sendIn(ctx context.Context, in txn, s *sends) error {
	s.sent = make([]world.Sent, len(s.all))
	var fresh []world.Message
	var places []int
	queues := make(map[string]int32)
	order := make([]int, len(s.all))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { // IDs are waited for in one order
		return cmp.Or(cmp.Compare(s.all[a].Queue, s.all[b].Queue), cmp.Compare(s.all[a].Dedupe, s.all[b].Dedupe), cmp.Compare(a, b))
	})
	for _, i := range order {
		m := &s.all[i]
		if _, known := queues[m.Queue]; !known {
			key, err := k.keyOf(ctx, in, m.Queue)
			if err != nil {
				return err
			}
			queues[m.Queue] = key
		}
		if m.Dedupe == "" {
			continue
		}
		isNew := false
		if err := in.each(ctx, putDedupe, func(row scanner) error { isNew = true; return row.Scan(new(int32)) },
			queues[m.Queue], m.Dedupe, cmp.Or(m.Window, world.DefaultWindow).Microseconds()); err != nil {
			return err
		}
		if !isNew {
			if err := in.each(ctx, findDedupe, func(row scanner) error { return row.Scan(&s.sent[i].ID) }, queues[m.Queue], m.Dedupe); err != nil {
				return err
			}
			s.sent[i].Duplicate = true
		}
	}
	for i := range s.all {
		if !s.sent[i].Duplicate {
			fresh, places = append(fresh, s.all[i]), append(places, i)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	n := 0
	if err := in.each(ctx, sendMessages, func(row scanner) (err error) {
		if n == len(places) {
			return unsettled("send messages", n+1, n)
		}
		s.sent[places[n]], err = scanKey(row)
		n++
		return err
	}, sendArgs(fresh, false)...); err != nil {
		return refusedKey(err)
	}
	if n != len(fresh) {
		return errAgain // a queue was dropped meanwhile
	}
	for _, i := range places {
		if m := &s.all[i]; m.Dedupe != "" {
			if _, err := in.exec(ctx, noteDedupe, queues[m.Queue], m.Dedupe, s.sent[i].ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// noQueueOf is the error for a commit with messages for a queue that is not there.
func noQueueOf(c *world.Commit) error {
	names := make([]string, len(c.Messages))
	for i := range c.Messages {
		names[i] = c.Messages[i].Queue
	}
	slices.Sort(names)
	return fmt.Errorf("run %s: %w", c.Run, world.NoQueue(strings.Join(slices.Compact(names), ", or ")))
}

// settling are ends of receives that wait for their transaction. Whoever made it waits for done.
type settling struct {
	all     []world.Settlement
	settled []bool
	err     error
	done    chan struct{} // capacity 1
}

// SettleMessages ends receives; see [world.Messenger].
func (k *messaging) SettleMessages(ctx context.Context, all []world.Settlement) ([]bool, error) {
	if err := world.CheckSettlements(all); err != nil {
		return nil, err
	}
	all, err := ofTheirQueues(all, func(s *statement, each func(row scanner) error, args ...any) error {
		return k.db.read(ctx, s, func(row pgx.Rows) error { return each(row) }, args...)
	})
	if err != nil {
		return nil, err
	}
	s := &settling{all: all, done: make(chan struct{}, 1)}
	if err := k.settles.put(ctx, s, s.done); err != nil {
		return nil, err
	}
	return s.settled, s.err
}

// ofTheirQueues replaces the receipts of messages that lie in other queues than is said with such as hold nothing: a
// message stays in its queue, so that it can be looked at before.
func ofTheirQueues(
	all []world.Settlement, read func(s *statement, each func(row scanner) error, args ...any) error,
) ([]world.Settlement, error) {
	var keys []int64
	var queues []string
	var places []int
	for i := range all {
		if all[i].Queues == "" {
			continue
		}
		key, _, err := world.ReadReceipt(all[i].Receipt)
		if err != nil {
			return nil, err
		}
		keys, queues, places = append(keys, key), append(queues, all[i].Queues), append(places, i)
	}
	if len(keys) == 0 {
		return all, nil
	}
	all = slices.Clone(all)
	err := read(foreignMessages, func(row scanner) error {
		var i int64
		if err := row.Scan(&i); err != nil {
			return err
		}
		all[places[i-1]].Receipt = world.Receipt(keys[i-1], math.MaxInt32) // no receive gets so far
		return nil
	}, keys, queues)
	return all, err
}

// settlement is the goroutine that settles. No two of a group have the same receipt: the second is to see what
// became of the first.
func (k *messaging) settlement(ctx context.Context) {
	var batch []*settling
	receipts := make(map[string]bool)
	for first := range k.settles.out() {
		for more := true; more; {
			clear(receipts)
			fits := func(s *settling) bool {
				for _, x := range s.all {
					if receipts[x.Receipt] {
						return false
					}
				}
				for _, x := range s.all {
					receipts[x.Receipt] = true
				}
				return true
			}
			fits(first)
			batch, first, more = k.settles.gather(batch[:0], first, func(s *settling) int { return 100 * len(s.all) }, fits)
			k.settleGroup(ctx, batch)
			clear(batch)
		}
	}
}

func (k *messaging) settleGroup(ctx context.Context, batch []*settling) {
	var all []world.Settlement
	for _, s := range batch {
		all = append(all, s.all...)
	}
	settled, err := ackNow(ctx, k.db, all)
	if err != nil {
		settled = make([]bool, len(all)) // nothing is known
	}
	var rest []world.Settlement
	var places []int
	for i, s := range all {
		if err == nil && !settled[i] {
			rest, places = append(rest, s), append(places, i)
		}
	}
	if len(rest) > 0 {
		var done []bool
		var queues []string
		err = k.db.change(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
			done, queues, err = k.settleIn(ctx, k.db.in(tx), rest)
			return err
		})
		if err == nil {
			for i, yes := range done {
				settled[places[i]] = yes
			}
			k.tell(queues...)
		}
	}
	for _, s := range batch {
		s.settled, settled = settled[:len(s.all)], settled[len(s.all):]
		s.err = errorOfRest(s.settled, err)
		s.done <- struct{}{}
	}
}

// errorOfRest is what an error means to who asked for several ends, where these were written before it.
func errorOfRest(written []bool, err error) error {
	switch {
	case err == nil || !slices.Contains(written, false):
		return nil
	case slices.Contains(written, true) && !errors.Is(err, world.ErrUnknownOutcome):
		return fmt.Errorf("%w: some receives have ended, others have not: %w", world.ErrUnknownOutcome, err)
	}
	return err
}

// ackNow acknowledges, in one statement, what asks for no look at anything else: what has no group, and nobody has
// locked. It tells what is settled so; the rest is yet to be.
func ackNow(ctx context.Context, db *database, all []world.Settlement) (settled []bool, err error) {
	settled = make([]bool, len(all))
	var acked []int
	keys := make([]int64, len(all))
	for i := range all {
		if keys[i], _, err = world.ReadReceipt(all[i].Receipt); err != nil {
			return nil, err
		}
		if all[i].Kind == world.Ack {
			acked = append(acked, i)
		}
	}
	if len(acked) == 0 {
		return settled, nil
	}
	ctx, cancel := context.WithTimeout(ctx, groupPatience)
	defer cancel()
	err = db.batch(ctx, func(q *pgx.Batch) {
		clear(settled)
		q.Queue(db.sql(ackPlain), keysAt(acked, keys), fencesOf(acked, all)).Query(func(rows pgx.Rows) error {
			var i int64
			_, err := pgx.ForEachRow(rows, []any{&i}, func() error { settled[acked[i-1]] = true; return nil })
			return err
		})
	})
	switch {
	case err != nil && (refused(err) || unsent(err)): // nothing is settled yet
		clear(settled)
		err = nil
	case err != nil && !ours(err):
		err = errors.Join(world.ErrUnknownOutcome, err)
	}
	return settled, err
}

// settleIn settles within a transaction, and tells of which queues something can be received now or earlier
// than before.
func (k *messaging) settleIn(ctx context.Context, in txn, all []world.Settlement) (settled []bool, queues []string, err error) {
	settled = make([]bool, len(all))
	keys := make([]int64, len(all))
	var acked, returned []int
	for i := range all {
		if keys[i], _, err = world.ReadReceipt(all[i].Receipt); err != nil {
			return nil, nil, err
		}
		if all[i].Kind == world.Ack {
			acked = append(acked, i)
		} else {
			returned = append(returned, i)
		}
	}
	g, err := k.lockGroups(ctx, in, keys)
	if err != nil {
		return nil, nil, err
	}
	news := make(map[int32]bool)
	note := func(places []int) func(row scanner) error {
		return func(row scanner) error {
			var i int64
			var queue int32
			var isNews bool
			if err := row.Scan(&i, &queue, &isNews); err != nil {
				return err
			}
			settled[places[i-1]] = true
			if isNews {
				news[queue] = true
			}
			return nil
		}
	}
	if len(acked) > 0 {
		if err := in.each(ctx, ackMessages, note(acked), keysAt(acked, keys), fencesOf(acked, all)); err != nil {
			return nil, nil, err
		}
	}
	if len(returned) > 0 {
		if err := in.each(ctx, returnMessages, note(returned), returnArgs(returned, keys, all)...); err != nil {
			return nil, nil, err
		}
	}
	if err := g.goOn(ctx, in); err != nil || len(news) == 0 {
		return settled, nil, err
	}
	of := make([]int32, 0, len(news))
	for queue := range news {
		of = append(of, queue)
	}
	err = in.each(ctx, queueNames, func(row scanner) error {
		var key int32
		var name string
		err := row.Scan(&key, &name)
		queues = append(queues, name)
		return err
	}, of)
	return settled, queues, err
}

func keysAt(places []int, keys []int64) (out []int64) {
	for _, i := range places {
		out = append(out, keys[i])
	}
	return out
}

func fencesOf(places []int, all []world.Settlement) (out []int32) {
	for _, i := range places {
		_, fence, _ := world.ReadReceipt(all[i].Receipt)
		out = append(out, int32(min(fence, 1<<31-1)))
	}
	return out
}

func returnArgs(places []int, keys []int64, all []world.Settlement) []any {
	n := len(places)
	after, held, dead, unread, reasons := make([]int64, n), make([]bool, n), make([]bool, n), make([]bool, n), make([]*string, n)
	for j, i := range places {
		s := &all[i]
		after[j], held[j], dead[j], unread[j] = s.After.Microseconds(), s.Kind == world.Extend, s.Kind == world.Bury, s.Kind == world.Unread
		if s.Error != "" {
			reasons[j] = &s.Error
		}
	}
	return []any{keysAt(places, keys), fencesOf(places, all), after, held, dead, unread, reasons}
}
