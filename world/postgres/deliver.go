package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/stepwell/stepwell/world"
)

var (
	deliverMail = load("deliver")
	sendHolders = load("send_holders")
)

// Deliver sends to a run's inbox, acts on a run, or ends an attempt of a task; see
// [world.Delivery]. Deliveries that arrive during a transaction share the next one.
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
	return w.sender.send(ctx, d)
}

// sender writes mail.
//
//   - What is put into its line is answered, and a delivery is in an inbox once, however often and by whomever it is sent.
//   - A group waits for nobody's open transaction: what may have to wait goes alone, and holds one of few connections.
//   - Nobody is told of mail before it is durable.
type sender struct {
	*database
	writing *writing
	queue   *queueing
	telling *telling

	mail   line[*sending]
	behind chan struct{} // a place for each delivery that waits for an open transaction on a connection
}

func (se *sender) init(db *database, g *writing, q *queueing, t *telling) {
	se.database, se.writing, se.queue, se.telling = db, g, q, t
	se.behind = make(chan struct{}, mostBehind)
	se.mail.init(db)
}

// send puts a delivery into an inbox, and waits until that is durable.
func (se *sender) send(ctx context.Context, d *world.Delivery) (world.Delivered, error) {
	m, err := newSending(d)
	if err != nil {
		return world.Delivered{}, err
	}
	if err = se.mail.put(ctx, m, m.done); err == nil {
		err = m.err
	}
	if errors.Is(err, errRaced) {
		err = se.deliverBehind(ctx, m)
	}
	if errors.Is(err, errAlone) || errors.Is(err, world.ErrUnknownOutcome) && d.ID != "" { // known by its ID, it may be sent again
		err = se.deliverAlone(ctx, m)
	}
	if err != nil {
		return world.Delivered{}, err
	}
	return m.result, nil
}

// close lets what was sent be written. The World is closed: nothing more is sent.
func (se *sender) close() { se.mail.close() }

// sending is one delivery that waits for its transaction. Whoever made it waits for done.
type sending struct {
	d      *world.Delivery
	row    sentRow // its head has the placeholder where the ID of a hook belongs
	result world.Delivered
	err    error
	done   chan struct{} // capacity 1

	// What was found out about the addressee.
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

// loop is the goroutine that writes mail. No two deliveries of a group have the same ID: the second knows then what
// became of the first.
func (se *sender) loop(ctx context.Context) {
	var batch []*sending
	ids := make(map[string]bool)
	for first := range se.mail.out() {
		for more := true; more; {
			clear(ids)
			ids[first.d.ID] = first.d.ID != ""
			batch, first, more = se.mail.gather(batch[:0], first, func(m *sending) int { return len(m.row.body) }, func(m *sending) bool {
				known := ids[m.d.ID]
				ids[m.d.ID] = m.d.ID != ""
				return !known
			})
			se.deliverGroup(ctx, batch)
			clear(batch)
		}
	}
}

// deliverGroup delivers and answers. Where the server refuses it, or there is none, each is to be tried alone.
func (se *sender) deliverGroup(ctx context.Context, batch []*sending) {
	ctx, cancel := context.WithTimeout(ctx, groupPatience)
	defer cancel()
	told := false
	err := se.pool.AcquireFunc(ctx, func(c *pgxpool.Conn) error {
		t := se.in(c)
		b := &script{db: se.database}
		b.put(1, setLockTimeout, func() []any { return []any{se.writing.groupLock} })
		se.putMail(b, batch, skipLocked)
		var err error
		if told = se.tellsAlong(batch); told {
			err = se.deliverTold(ctx, c.Conn(), b, batch[0])
		} else {
			err = t.run(ctx, b)
		}
		if err != nil && !refused(err) && !unsent(err) {
			return fmt.Errorf("%w: %w", world.ErrUnknownOutcome, se.classify(err))
		}
		return err
	})
	if err != nil && !errors.Is(err, world.ErrUnknownOutcome) {
		err = errAlone
	}
	var notices []world.Notice
	for _, m := range batch {
		if err != nil {
			m.err = err
		}
		notices = append(notices, m.notice()...)
	}
	se.delivered(batch)
	for _, m := range batch {
		m.done <- struct{}{}
	}
	if told {
		se.telling.tellHere(notices...)
	} else {
		se.telling.tell(notices...)
	}
}

// delivered counts what was put into inboxes.
func (se *sender) delivered(batch []*sending) {
	n := int64(0)
	for _, m := range batch {
		if m.err == nil && m.insert {
			n++
		}
	}
	se.counters.deliveries.Add(n)
}

// notice is what is news where the delivery is durable.
func (m *sending) notice() []world.Notice {
	if m.err != nil || !m.insert {
		return nil
	}
	return []world.Notice{{Kind: m.news, Run: m.result.Run}}
}

// deliverAlone delivers in a transaction of its own.
func (se *sender) deliverAlone(ctx context.Context, m *sending) error {
	err := se.change(ctx, func(ctx context.Context, tx pgx.Tx) error {
		return se.deliverIn(ctx, se.in(tx), m, waitLocked)
	})
	if err != nil {
		return err
	}
	se.delivered([]*sending{m})
	se.telling.tell(m.notice()...)
	return nil
}

// deliverBehind delivers what another transaction may have sent that is still open: it waits for that one, a moment at a time, so that it needs no connection
// meanwhile, and few that wait have one at once.
func (se *sender) deliverBehind(ctx context.Context, m *sending) error {
	err := se.persist(ctx, func(ctx context.Context) error {
		select {
		case se.behind <- struct{}{}:
			defer func() { <-se.behind }()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		return se.changeWith(ctx, behindOptions, func(ctx context.Context, tx pgx.Tx) error { return se.deliverIn(ctx, se.in(tx), m, waitLocked) })
	})
	if err != nil {
		return se.heldUp(ctx, m, err)
	}
	se.delivered([]*sending{m})
	se.telling.tell(m.notice()...)
	return nil
}

// heldUp says by whom, where a delivery could wait no longer.
func (se *sender) heldUp(ctx context.Context, m *sending, err error) error {
	if sqlState(err) != codeLockTimeout {
		return err
	}
	who := "another transaction"
	_ = se.read(ctx, sendHolders, func(row pgx.Rows) error { // best effort: it may be over
		var pid int32
		var name, since string
		if err := row.Scan(&pid, &name, &since); err != nil {
			return err
		}
		who = fmt.Sprintf("a transaction (process %d of the server, application %q, open since %s)", pid, name, since)
		return nil
	}, se.sendsClass())
	return fmt.Errorf("run %s: delivery %q: %s has sent it and is neither committed nor rolled back; nothing was written: end that transaction or wait for it, then send this again: %w",
		m.d.Run, m.d.ID, who, err)
}

// deliverIn delivers within a transaction.
func (se *sender) deliverIn(ctx context.Context, tx txn, m *sending, held int16) error {
	b := &script{db: se.database}
	se.putMail(b, []*sending{m}, held)
	for try := 0; ; try++ {
		if err := tx.run(ctx, b); err != nil {
			return err
		}
		switch {
		case !errors.Is(m.err, errRaced):
			return m.err
		case try == maxRaces:
			return errAgain
		}
		b.items = b.items[:0]
		se.putMail(b, []*sending{m}, held)
	}
}

// What is done about a delivery that a transaction may have made which an application keeps open. Such a transaction holds a lock for it (see deliver in sql/mail.sql), so that
// others can tell and need not wait for its rows, which they cannot see.
const (
	waitLocked int16 = iota // it waits for the rows
	skipLocked              // it is left out
	markHeld                // this is such a transaction
)

// errRaced: another transaction may make the same delivery at this moment.
var errRaced = errors.New("sent by another transaction")

// sendsClass is the first number of those locks.
func (se *sender) sendsClass() int32 { return schemaClass(se.opt.Schema + "/sends") }

// maxRaces is how often a delivery is tried again that somebody else was making.
const maxRaces = 5

// addressee is what is known of one, and what became of its delivery.
type addressee struct {
	id, owner   *string
	live, open  bool    // the run is not over; nor is the hook
	known, full *bool   // the delivery is known; it has no room
	locked      *string // ID of the key that it should be encrypted with
	first       []byte  // fingerprint of the first copy
	late        bool    // the first copy came too late
	raced       bool    // somebody else delivers the same at this moment
}

// decide says what became of a delivery.
func (m *sending) decide(a *addressee) {
	d := m.d
	switch {
	case a.id == nil && d.Token != "":
		m.err = fmt.Errorf("hook token %q: %w", world.ShownToken(d.Token), world.ErrNotFound)
		return
	case a.id == nil:
		m.err = fmt.Errorf("run %s: %w", d.Run, world.ErrNotFound)
		return
	case *a.known && world.Differ(a.first, m.row.print):
		m.err = fmt.Errorf("run %s: delivery %q: %w", *a.id, d.ID, world.ErrDeliveryUsed)
		return
	case *a.known:
	case d.Repeat:
		m.err = world.NoRepeat(*a.id, d)
		return
	case !a.live:
		m.err = over(*a.id)
		return
	case !a.open:
		m.err = fmt.Errorf("hook token %q: %w", world.ShownToken(d.Token), world.ErrNotFound)
		return
	case a.locked != nil:
		m.err = &world.KeyError{Run: *a.id, Key: *a.locked}
		return
	case a.raced: // it is there when this is tried again, or its transaction is still open
		m.err = errRaced
		return
	}
	m.result = world.Delivered{Run: *a.id, Owner: textOf(a.owner), Duplicate: *a.known, Late: a.late}
	if m.news = noticePost; m.result.Owner != "" {
		m.news = world.NoticeMail
	}
	switch {
	case m.result.Duplicate:
	case *a.full:
		m.err = fmt.Errorf("run %s: too many payloads are unread: %w", *a.id, world.ErrInboxFull)
	default:
		m.insert = true
	}
}

func over(run string) error { return fmt.Errorf("run %s: %w", run, world.ErrTerminal) }

// putMail adds the statement that looks the addressees of deliveries up and inserts what can arrive. No two of them have the same ID.
func (se *sender) putMail(b *script, batch []*sending, held int16) {
	for _, m := range batch {
		m.err, m.result, m.insert = nil, world.Delivered{}, false
	}
	b.items = append(b.items, item{s: deliverMail, each: func(row scanner) error {
		var i int64
		var a addressee
		if err := row.Scan(&i, &a.id, &a.live, &a.open, &a.owner, &a.known, &a.full, &a.locked, &a.first, &a.late, &a.raced); err != nil {
			return err
		}
		batch[i-1].decide(&a)
		return nil
	}, args: []any{
		column(batch, func(m **sending) *string { return (*m).row.run }), column(batch, func(m **sending) *string { return (*m).row.token }),
		column(batch, func(m **sending) *string { return (*m).row.delivery }), column(batch, func(m **sending) bool { return (*m).row.payload }),
		int64(se.opt.InboxLimit), column(batch, func(m **sending) bool { return (*m).row.cancel }),
		column(batch, func(m **sending) *string { return (*m).row.act }), int16(world.LogFormat),
		column(batch, func(m **sending) string { return (*m).row.placeholder }), column(batch, func(m **sending) string { return (*m).row.head }),
		column(batch, func(m **sending) []byte { return (*m).row.body }), column(batch, func(m **sending) bool { return (*m).row.plain }),
		column(batch, func(m **sending) []byte { return (*m).row.key }), column(batch, func(m **sending) []byte { return (*m).row.print }),
		column(batch, func(m **sending) *string { return (*m).row.sender }),
		column(batch, func(m **sending) string { return (*m).row.sum }), held, se.sendsClass(),
		column(batch, func(m **sending) bool { return (*m).d.Repeat }),
	}})
}
