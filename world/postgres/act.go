package postgres

// What operators do to a run: pause, resume, cancel by force.

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

var (
	findDelivery    = load("find_delivery")
	actWaits        = load("act_waits")
	insertDelivered = load("insert_delivered")
	actQueue        = load("act_queue")
	tryBlocked      = load("try_blocked")
	askChildren     = load("ask_children")
	reserveNumber   = load("reserve_number")
	freeNumber      = load("free_number")
	workerID        = load("worker_id")
)

// acting is one act.
type acting struct {
	w    *World
	d    *world.Delivery
	tx   txn
	r    *run // under the lock of its queue row
	done world.Delivered

	draft  *draft // what it wrote to the log
	posted *sending
	news   []world.Notice
}

// act appends to the log of a run that nobody owns, or goes to its inbox. A forced cancel is appended in any case.
func (w *World) act(ctx context.Context, d *world.Delivery) (world.Delivered, error) {
	if !storable([]any{d.Run, d.ID}) {
		return world.Delivered{}, fmt.Errorf("run %q: %w", d.Run, world.ErrNotFound)
	}
	var a *acting
	if err := w.change(ctx, func(ctx context.Context, tx pgx.Tx) error {
		a = &acting{w: w, d: d, tx: w.in(tx)}
		err := a.do(ctx)
		if sqlState(err) == codeUnique {
			return fmt.Errorf("%w: %w", errAgain, err)
		}
		return err
	}); err != nil {
		return world.Delivered{}, err
	}
	if a.posted != nil {
		w.sender.delivered([]*sending{a.posted})
		w.telling.tell(a.posted.notice()...)
	}
	if a.draft == nil {
		w.telling.tell(a.news...)
	} else {
		a.draft.own, a.draft.gone = nil, nil // whoever owns it hears of it from the database
		w.counters.groups.Add(1)
		w.counters.deliveries.Add(1)
		w.telling.tell(append(w.durable(a.draft), a.news...)...)
	}
	return a.done, nil
}

func (a *acting) do(ctx context.Context) (err error) {
	if a.d.Events[0].Type == world.InputReceived {
		return a.input(ctx)
	}
	if err := a.lock(ctx); err != nil {
		return err
	}
	r, e := a.r, a.d.Events[0]
	a.done = world.Delivered{Run: r.id}
	if r.live && r.owner != 0 {
		if err := a.tx.each(ctx, workerID, func(row scanner) error { return row.Scan(&a.done.Owner) }, r.owner); err != nil {
			return err
		}
	}
	if a.d.ID != "" {
		key := a.d.Key()
		if err := a.tx.each(ctx, findDelivery, func(row scanner) error {
			a.done.Duplicate = true
			return row.Scan(new([]byte), &a.done.Late)
		}, r.key, key[:]); err != nil || a.done.Duplicate {
			return err
		}
	}
	if !r.live && e.Type == world.RunCancelled {
		if err := a.unqueued(ctx); err != nil {
			return err
		}
	}
	facts := rules.Acted{Live: r.live, Owned: r.owner != 0, Blocked: r.blocked, Begun: r.running && r.claim > 0, Delayed: r.live && !r.running && r.wake.After(a.w.now())}
	if !r.live {
		last, err := lastKnown(ctx, a.tx, r)
		if err == nil {
			facts.End = last.Type
			_, err = rules.Act(a.d, facts)
		}
		return err
	}
	if e.Type != world.RunCancelled && r.owner == 0 {
		if err := rightPause(ctx, a.tx, r); err != nil {
			return err
		}
	}
	if facts.Paused = r.paused; facts.Queues(a.d) {
		if err := a.tx.each(ctx, actWaits, func(scanner) error { facts.Waits = true; return nil }, r.key); err != nil {
			return err
		}
	}
	deed, err := rules.Act(a.d, facts)
	if err != nil {
		return err
	}
	if deed.Retry {
		if _, err := a.tx.exec(ctx, tryBlocked, r.key); err != nil {
			return err
		}
		a.news = append(a.news, world.Notice{Kind: world.NoticeWork, Run: r.id})
	}
	if deed.Post {
		return a.post(ctx)
	}
	if err := a.note(ctx); err != nil || !deed.Append {
		return err
	}
	return a.append(ctx, e)
}

// lock looks the run up and locks its queue row.
func (a *acting) lock(ctx context.Context) error {
	for range 2 { // before the lock, for its key; and as it is under it
		r, err := look(ctx, a.tx, a.d.Run)
		switch {
		case err != nil:
			return err
		case r == nil:
			return fmt.Errorf("run %s: %w", a.d.Run, world.ErrNotFound)
		case a.r == nil && r.live:
			if err := a.tx.each(ctx, lockRun, func(scanner) error { return nil }, r.key); err != nil {
				return err
			}
		}
		a.r = r
	}
	return nil
}

// unqueued takes a run that has lost its queue row, though it has not ended, as one that is not over, so that a forced cancel can end it.
func (a *acting) unqueued(ctx context.Context) error {
	r := a.r
	return a.tx.each(ctx, showRun, func(row scanner) error {
		_, kept, err := scanRun(row)
		if err == nil && kept.Queue == nil && !kept.Status.Terminal() {
			r.live, r.running, r.class = true, r.last > 1, world.Class{Workflow: r.workflow, Version: kept.Version}
		}
		return err
	}, r.id)
}

// post puts the act into the inbox of the run.
func (a *acting) post(ctx context.Context) (err error) {
	if a.posted, err = newSending(a.d); err != nil {
		return err
	}
	if err := a.w.sender.deliverIn(ctx, a.tx, a.posted, waitLocked); err != nil {
		return err
	}
	a.done = a.posted.result
	return nil
}

// note keeps the ID of the act, which is known from now on, whatever becomes of the act.
func (a *acting) note(ctx context.Context) error {
	if a.d.ID == "" {
		return nil
	}
	key := a.d.Key()
	var marked *bool
	if yes := world.Marked(key); yes {
		marked = &yes
	}
	_, err := a.tx.exec(ctx, insertDelivered, a.r.key, key[:], nil, a.d.Keeper(), marked)
	return err
}

// next has an event follow the last of the run, whose queue row is locked: what is to be written, and the run behind it.
func (a *acting) next(ctx context.Context, e world.Event) (d *draft, next run, err error) {
	r := a.r
	last, err := lastKnown(ctx, a.tx, r)
	if err != nil {
		return nil, next, err
	}
	e.Delivery, e.Time = a.d.ID, rules.Later(a.w.now(), last.Time)
	c := &world.Commit{Run: r.id, First: last.Seq + 1, Events: []world.Event{e}}
	d, next = &draft{w: a.w, ctx: ctx, tx: a.tx, c: c}, *r
	if err := d.turn(c, &next, c.Events, r.standing(), nil); err != nil {
		return nil, next, err
	}
	d.sheet.locked, d.sheet.updated = nil, nil // the row is locked; nobody owns it
	return d, next, nil
}

// append writes the act to the log.
func (a *acting) append(ctx context.Context, e world.Event) error {
	r := a.r
	if r.owner != 0 && r.last != 0 { // a log without rows has lost them
		if err := a.reserve(ctx); err != nil {
			return err
		}
	}
	d, next, err := a.next(ctx, e)
	if err != nil {
		return err
	}
	e = d.c.Events[0]
	b := &script{db: &a.w.database}
	b.write(&d.sheet)
	switch e.Type {
	case world.RunCancelled:
		if r.owner != 0 {
			d.notice(world.NoticeMail, r.id)
		}
		if err := a.children(b, e); err != nil {
			return err
		}
	case world.RunResumed:
		d.notice(world.NoticeWork, r.id)
		fallthrough
	default:
		// What came or fell due meanwhile, and the resumption itself, want a turn.
		due := !next.paused && next.running
		b.put(1, actQueue, func() []any { return []any{r.key, next.paused, due, next.last} })
		if stands := parkRuns; r.limited {
			if next.paused {
				stands = restPlaces
				d.notice(world.NoticeWork, r.id)
			}
			b.put(1, stands, func() []any { return []any{[]int64{r.key}} })
		}
	}
	if err := a.tx.run(ctx, b); err != nil {
		return err
	}
	a.draft, a.news = d, append(a.news, b.news...)
	return nil
}

// An owner's commits do not lock the queue row. One that is under way when an act looks for the next number has it, so
// that the act has to look again as soon as that one is durable, and before the next one is there: several times in one
// round trip.
const (
	reserveTries = 8
	maxReserves  = 100
)

// reserve makes the next number of the log ours until the end of the transaction: an owner that commits meanwhile waits, and loses.
func (a *acting) reserve(ctx context.Context) error {
	seq := int64(0)
	for range maxReserves {
		b := &script{db: &a.w.database}
		for range reserveTries {
			b.items = append(b.items, item{s: reserveNumber, args: []any{a.r.key, int16(world.LogFormat)}, each: func(row scanner) error { return row.Scan(&seq) }})
		}
		if err := a.tx.run(ctx, b); err != nil {
			return err
		}
		if seq > 0 {
			_, err := a.tx.exec(ctx, freeNumber, a.r.key, seq)
			return err
		}
	}
	return errAgain
}

// children asks the attached children of a run that is ended by force to end as well: nobody else is left who could.
func (a *acting) children(b *script, e world.Event) error {
	head, body, err := encodeMail([]world.Event{rules.CancelOfChild(&e)})
	if err != nil {
		return fmt.Errorf("run %s: cancel of its children: %w", a.r.id, err)
	}
	b.told(1, askChildren, func() []any {
		return []any{a.r.key, a.r.id, int16(world.LogFormat), head, body, mailSum(head, body, "")}
	})
	return nil
}
