package postgres

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/stepwell/stepwell/world"
)

var (
	addressees = load("addressees")
	insertMail = load("insert_mail")
)

// Deliver sends to a run's inbox, acts on a run, or ends an attempt of a task; see [world.Delivery]. Mail that arrives while other mail is being written
// shares the next transaction.
func (w *World) Deliver(ctx context.Context, d *world.Delivery) (world.Delivered, error) {
	if err := world.CheckDelivery(d); err != nil {
		return world.Delivered{}, err
	}
	switch {
	case ctx.Err() != nil:
		return world.Delivered{}, context.Cause(ctx)
	case w.isClosed():
		return world.Delivered{}, world.ErrClosed
	case d.Task != nil:
		return w.taskEnd(ctx, d)
	case d.Act:
		return w.act(ctx, d)
	}
	m, err := newSending(d)
	if err != nil {
		return world.Delivered{}, err
	}
	err = w.post(ctx, m)
	if errors.Is(err, errAlone) || errors.Is(err, world.ErrUnknownOutcome) && d.ID != "" { // known by its ID, it may be sent again
		err = w.deliverAlone(ctx, m)
	}
	if err != nil {
		return world.Delivered{}, err
	}
	return m.result, nil
}

// sending is one delivery that waits for its transaction. Whoever made it waits for done.
type sending struct {
	d      *world.Delivery
	row    sentRow // its head has the placeholder where the ID of a hook belongs
	result world.Delivered
	err    error
	done   chan struct{} // capacity 1

	// What was found out about the addressee.
	run    int64
	hook   string
	news   world.NoticeKind
	insert bool
}

// newSending encodes a delivery.
func newSending(d *world.Delivery) (*sending, error) {
	row, err := sentRowOf(d)
	if err != nil {
		return nil, err
	}
	return &sending{d: d, row: row, done: make(chan struct{}, 1)}, nil
}

// post gives a delivery to the delivery writer and waits for it.
func (w *World) post(ctx context.Context, m *sending) error {
	w.gate.RLock()
	if w.closed {
		w.gate.RUnlock()
		return world.ErrClosed
	}
	w.writing.deliveries <- m
	w.gate.RUnlock()
	select {
	case <-m.done:
		return m.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// deliverAll is the goroutine that writes mail.
func (w *World) deliverAll(ctx context.Context) {
	var batch []*sending
	for first := range w.writing.deliveries {
		batch = append(batch[:0], first)
		bytes := len(first.row.body)
		runtime.Gosched()
	gather:
		for len(batch) < maxGroup && bytes < maxGroupBytes {
			select {
			case m, ok := <-w.writing.deliveries:
				if !ok {
					break gather
				}
				batch = append(batch, m)
				bytes += len(m.row.body)
			default:
				break gather
			}
		}
		w.deliverGroup(ctx, batch)
		clear(batch)
	}
}

// deliverGroup delivers and answers. Where the server refuses it, or there is none, each is to be tried alone.
func (w *World) deliverGroup(ctx context.Context, batch []*sending) {
	ctx, cancel := context.WithTimeout(ctx, groupPatience)
	defer cancel()
	err := w.pool.AcquireFunc(ctx, func(c *pgxpool.Conn) error {
		t := pgxTxn{w, c}
		if err := w.address(ctx, t, batch); err != nil {
			return err
		}
		b := &script{w: w}
		b.put(1, setLockTimeout, func() []any { return []any{w.writing.groupLock} })
		if !putMail(b, batch) {
			return nil
		}
		err := t.run(ctx, b)
		if err != nil && !refused(err) && !unsent(err) {
			return fmt.Errorf("%w: %w", world.ErrUnknownOutcome, w.classify(err))
		}
		return err
	})
	if err != nil && !errors.Is(err, world.ErrUnknownOutcome) {
		err = errAlone
	}
	var notices []world.Notice
	for _, m := range batch {
		if err != nil && (m.err == nil || m.insert) {
			m.err = err
		}
		notices = append(notices, m.notice()...)
	}
	w.delivered(batch)
	for _, m := range batch {
		m.done <- struct{}{}
	}
	w.tell(notices...)
}

// delivered counts what was put into inboxes.
func (w *World) delivered(batch []*sending) {
	n := int64(0)
	for _, m := range batch {
		if m.err == nil && m.insert {
			n++
		}
	}
	w.counters.deliveries.Add(n)
}

// notice is what is news where the delivery is durable.
func (m *sending) notice() []world.Notice {
	if m.err != nil || !m.insert {
		return nil
	}
	return []world.Notice{{Kind: m.news, Run: m.result.Run}}
}

// deliverAlone delivers in a transaction of its own.
func (w *World) deliverAlone(ctx context.Context, m *sending) error {
	err := w.change(ctx, func(ctx context.Context, tx pgx.Tx) error {
		return w.deliverIn(ctx, pgxTxn{w, tx}, m)
	})
	if err != nil {
		return err
	}
	w.delivered([]*sending{m})
	w.tell(m.notice()...)
	return nil
}

// deliverIn delivers within a transaction.
func (w *World) deliverIn(ctx context.Context, tx txn, m *sending) error {
	one := []*sending{m}
	if err := w.address(ctx, tx, one); err != nil {
		return err
	}
	if m.err != nil {
		return m.err
	}
	b := &script{w: w}
	if !putMail(b, one) {
		return nil
	}
	return tx.run(ctx, b)
}

// address looks all addressees up, and decides what is inserted.
func (w *World) address(ctx context.Context, tx txn, batch []*sending) error {
	for _, m := range batch {
		m.err, m.result, m.insert = nil, world.Delivered{}, false
	}
	seen := make(map[inboxKey]bool)
	room := make(map[int64]int)
	return tx.each(ctx, addressees, func(row scanner) error {
		var i int64
		var a addressee
		if err := row.Scan(&i, &a.run, &a.id, &a.hook, &a.live, &a.owner, &a.full, &a.waits, &a.payloads); err != nil {
			return err
		}
		m := batch[i-1]
		m.decide(&a, w.opt.InboxLimit, seen, room)
		return nil
	},
		column(batch, func(m **sending) *string { return (*m).row.run }), column(batch, func(m **sending) *string { return (*m).row.token }),
		column(batch, func(m **sending) *string { return (*m).row.delivery }), column(batch, func(m **sending) bool { return (*m).row.payload }),
		int64(w.opt.InboxLimit))
}

// inboxKey tells deliveries of one run apart.
type inboxKey struct {
	run int64
	id  string
}

// addressee is what is known of one.
type addressee struct {
	run         *int64
	id, hook    *string
	live        bool
	owner       *string
	full, waits *bool
	payloads    *int64
}

// decide says what becomes of a delivery, beside others of its group.
func (m *sending) decide(a *addressee, limit int, seen map[inboxKey]bool, room map[int64]int) {
	d := m.d
	switch {
	case a.run == nil && d.Token != "":
		m.err = fmt.Errorf("hook token %q: %w", d.Token, world.ErrNotFound)
		return
	case a.run == nil:
		m.err = fmt.Errorf("run %s: %w", d.Run, world.ErrNotFound)
		return
	case !a.live:
		m.err = over(*a.id)
		return
	}
	m.run, m.hook = *a.run, textOf(a.hook)
	m.result = world.Delivered{Run: *a.id, Owner: textOf(a.owner)}
	if m.news = world.NoticeWork; m.result.Owner != "" {
		m.news = world.NoticeMail
	}
	key := inboxKey{m.run, d.ID}
	if m.result.Duplicate = d.ID != "" && (seen[key] || *a.waits); m.result.Duplicate {
		return
	}
	if m.row.payload {
		n, ok := room[m.run]
		if !ok {
			n = int(*a.payloads)
		}
		if n >= limit || *a.full {
			m.err = fmt.Errorf("run %s: %d payloads wait: %w", *a.id, n, world.ErrInboxFull)
			return
		}
		room[m.run] = n + 1
	}
	seen[key], m.insert = true, true
}

func over(run string) error { return fmt.Errorf("run %s: %w", run, world.ErrTerminal) }

// putMail adds the statement that inserts, and reports whether there is anything to insert. What somebody else sent meanwhile under the same delivery
// ID is a duplicate.
func putMail(b *script, batch []*sending) bool {
	rows := slices.DeleteFunc(slices.Clone(batch), func(m *sending) bool { return !m.insert })
	if len(rows) == 0 {
		return false
	}
	inserted := make(map[inboxKey]bool)
	b.items = append(b.items, item{s: insertMail, each: func(row scanner) error {
		var k inboxKey
		if err := row.Scan(&k.run, &k.id); err != nil {
			return err
		}
		inserted[k] = true
		return nil
	}, args: []any{
		column(rows, func(m **sending) int64 { return (*m).run }), column(rows, func(m **sending) *string { return (*m).row.delivery }),
		column(rows, func(m **sending) bool { return (*m).row.cancel }), column(rows, func(m **sending) *string { return (*m).row.act }),
		column(rows, func(m **sending) bool { return (*m).row.payload }), int16(world.LogFormat),
		column(rows, func(m **sending) string { return (*m).row.placeholder }), column(rows, func(m **sending) string { return (*m).hook }),
		column(rows, func(m **sending) string { return (*m).row.head }), column(rows, func(m **sending) []byte { return (*m).row.body }),
	}})
	b.after = func() {
		for _, m := range rows {
			if m.d.ID != "" && !inserted[inboxKey{m.run, m.d.ID}] {
				m.insert, m.result.Duplicate = false, true
			}
		}
	}
	return true
}

// later is the time of an event that the world itself appends: never before the last one's.
func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
