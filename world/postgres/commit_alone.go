package postgres

// The way of a commit that has a transaction of its own: it looks first, and so can say what is wrong, or write what a condition asks for
// instead.

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/stepwell/stepwell/world"
)

var (
	lookRun   = load("look_run")
	runExists = load("run_exists")
	lockRun   = load("lock_run")
	shareRun  = load("share_run")
	lockLane  = load("lock_lane")
	taskHeld  = load("task_held")
)

// commitAlone writes a commit in a transaction of its own. wk is nil where no such worker is alive here, or it is a client's birth.
func (w *World) commitAlone(ctx context.Context, c *world.Commit, wk *worker) (done world.Committed, err error) {
	if w.unknown.has(c) { // it may have been written after all
		if done, err := w.Outcome(ctx, c); !errors.Is(err, world.ErrNotFound) {
			return done, err
		}
	}
	if err := w.foresee(ctx, c, wk); err != nil {
		return done, err
	}
	keys, err := w.newDraft(ctx, c, wk)
	if err != nil {
		return done, err
	}
	var d *draft
	holder := newKeyHolder(w, c)
	err = w.persist(ctx, func(ctx context.Context) (err error) {
		defer func() { holder.met(err) }()
		lane, err := w.freeLane(ctx) // before the connection, so that those who wait for a lane leave the others to the rest
		if err != nil {
			return err
		}
		defer func() { w.writing.lanes <- lane }()
		return w.changeOnce(ctx, func(ctx context.Context, tx pgx.Tx) error {
			d = &draft{w: w, ctx: ctx, c: c, wk: wk, keys: keys.keys, pays: true}
			defer holder.watch(ctx, tx)()
			return d.alone(ctx, w.in(tx), lane)
		})
	})
	switch {
	case errors.Is(err, world.ErrUnknownOutcome):
		w.unknown.note(c)
		return done, err
	case (errors.Is(err, world.ErrLeaseLost) || errors.Is(err, world.ErrRunExists) || errors.Is(err, world.ErrReceipt) || c.Schedule != nil && errors.Is(err, world.ErrConflict)) && w.unknown.has(c): // the server was still at it when it was asked
		if done, outcome := w.Outcome(ctx, c); outcome == nil || errors.Is(err, world.ErrLeaseLost) {
			return done, outcome
		}
		return done, err
	case err != nil:
		return done, holder.tell(err)
	case d.done.Existing == c.Run && w.unknown.has(c): // its key is its own
		if done, outcome := w.Outcome(ctx, c); outcome == nil {
			return done, nil
		}
	}
	return d.settled(ctx)
}

// freeLane waits for the number of a lane that no transaction of this World uses. It is to be given back.
func (w *World) freeLane(ctx context.Context) (int16, error) {
	select {
	case lane := <-w.writing.lanes:
		return lane, nil
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// settled follows a transaction with one commit.
func (d *draft) settled(ctx context.Context) (world.Committed, error) {
	w := d.w
	if d.done.Existing != "" {
		w.telling.tell(d.news...)
		return d.done, nil
	}
	w.counters.groups.Add(1)
	w.telling.tell(append(w.durable(d), d.news...)...)
	if d.freed != 0 {
		d.done.Mail = true // where nobody knows
		waits := false
		if err := w.read(ctx, mailWaits, func(row pgx.Rows) error { waits = true; return nil }, []int64{d.freed}); err == nil {
			d.done.Mail = waits
		}
		w.telling.tell(d.foundMail()...)
	}
	return d.done, nil
}

// foresee refuses what one look shows to be late, and looks up what a transaction would need further connections for.
func (w *World) foresee(ctx context.Context, c *world.Commit, wk *worker) error {
	for _, b := range c.Births {
		if err := w.classes.learn(ctx, createdAs(b), b.Events); err != nil {
			return err
		}
	}
	if c.Birth() {
		return w.classes.learn(ctx, createdAs(c), c.Events)
	}
	if !storable([]any{c.Run}) {
		return lost(c)
	}
	var r *run
	if err := w.read(ctx, lookRun, func(row pgx.Rows) (err error) { r, err = scanLook(row, c.Run); return err }, c.Run); err != nil {
		return err
	}
	if err := fence(c, r, wk); err != nil {
		return err
	}
	return w.classes.learn(ctx, r.class, c.Events)
}

// fence checks that the worker owns the run and that the commit is the next one. r is nil where the run is unknown.
func fence(c *world.Commit, r *run, wk *worker) error {
	switch {
	case r == nil || !r.live || wk == nil || r.owner != wk.key || r.claim != c.Claim || c.First <= r.last:
		return lost(c)
	case c.First > r.last+1:
		return fmt.Errorf("%w: run %s: commit at event %d, the next is %d", world.ErrInvalid, c.Run, c.First, r.last+1)
	}
	return nil
}

// alone makes the commit within a transaction, but for its end. The fence is the last it locks.
func (d *draft) alone(ctx context.Context, tx txn, lane int16) error {
	c := d.c
	d.tx = tx
	key, keys := int64(0), d.keys
	if c.Birth() {
		key, keys = keys[0], keys[1:]
		if c.Items > 0 {
			if err := gather(ctx, d, tx, key); err != nil {
				return err
			}
			switch {
			case d.done.Gathering:
				return nil
			case d.done.Existing != "":
				return d.beside(ctx, tx)
			}
		}
		if met, err := metBefore(ctx, tx, c); err != nil {
			return err
		} else if met != "" {
			d.done.Existing = met
			return d.beside(ctx, tx)
		}
		existing, refused, err := meetSingle(ctx, tx, d)
		if refused != nil {
			return refused
		}
		if err == nil && existing == "" {
			existing, err = d.insert(ctx, tx, c, d.keys[0])
		}
		if errors.Is(err, world.ErrRunExists) && c.Events[0].Birth.Key != "" {
			var holder string
			if holder, err = d.byIdem(ctx, tx, c); err == nil {
				d.done, err = world.CreatedBefore(c, holder)
			}
			if err == nil {
				err = d.beside(ctx, tx)
			}
			return err
		}
		if err == nil {
			err = d.beside(ctx, tx)
		}
		if err != nil || existing != "" {
			d.done.Existing = existing
			return err
		}
		if c.Worker != "" && d.wk == nil || len(c.Held) > 0 {
			return lost(c)
		}
		if d.pays && refusable(c) {
			if err := d.w.limits.payIn(ctx, tx, c.Events[0].Birth); err != nil {
				return err
			}
		}
		if err := claimSingle(ctx, tx, d, c, key); err != nil {
			return err
		}
	} else if err := d.stillHeld(ctx, tx); err != nil {
		return err
	}
	f, err := d.insertChildren(ctx, tx, keys)
	if err != nil {
		return err
	}
	targets, err := d.lookTargets(ctx, tx)
	if err != nil {
		return err
	}
	r, err := d.lockRuns(ctx, tx, targets)
	if err != nil {
		return err
	}
	if r != nil {
		key = r.key
		if err := d.stillPaused(ctx, tx, r); err != nil {
			return err
		}
	}
	p, err := d.decide(ctx, tx, targets, f, keys)
	if err != nil {
		return err
	}
	if p.claimed {
		if err := d.claim(ctx, tx, key, p.Events); err != nil {
			return err
		}
	}
	if err := d.all(&p, r); err != nil {
		return err
	}
	return d.run(ctx, tx, lane)
}

// beside does what a birth does to what is no run.
func (d *draft) beside(ctx context.Context, tx txn) error {
	if d.c.Schedule == nil { // it acknowledges nothing
		return d.ack(ctx, tx)
	}
	put, err := putSchedule(ctx, tx, d.c.Schedule)
	if err == nil && !put {
		err = world.ScheduleMoved(d.c.Schedule)
	}
	return err
}

// ack deletes the message that a birth acknowledges, if there is one. Its group is locked behind the run's keys.
func (d *draft) ack(ctx context.Context, tx txn) error {
	if d.c.Ack == "" {
		return nil
	}
	held, queues, err := d.w.messaging.settleIn(ctx, tx, []world.Settlement{{Receipt: d.c.Ack, Kind: world.Ack}})
	if err == nil && !held[0] {
		err = world.NoReceipt(d.c)
	}
	for _, q := range queues {
		d.news = append(d.news, world.Notice{Kind: world.NoticeMessage, Run: q})
	}
	return err
}

// stillHeld refuses a commit one of whose tasks is not held; that is checked before all conditions, and once more when they are deleted.
func (d *draft) stillHeld(ctx context.Context, tx txn) error {
	for _, k := range d.c.Held {
		held := false
		if err := tx.each(ctx, taskHeld, func(scanner) error { held = true; return nil }, clean(d.c.Run), clean(k.Step), d.wk.key, int32(k.Attempt)); err != nil {
			return err
		}
		if !held {
			return fmt.Errorf("run %s: task %s, attempt %d: %w", d.c.Run, k.Step, k.Attempt, world.ErrLeaseLost)
		}
	}
	return nil
}

// run makes the statements of a draft whose births have their rows already.
func (d *draft) run(ctx context.Context, tx txn, lane int16) error {
	d.sheet.births = nil
	b := &script{db: &d.w.database}
	b.write(&d.sheet)
	alive := d.wk == nil
	if d.wk != nil {
		if d.c.Birth() && d.w.crew.stale(d.wk) {
			b.put(1, renewWorkers, func() []any { return []any{[]int64{d.wk.key}} })
		}
		b.items = append(b.items, item{s: lockLane, args: []any{d.wk.key, lane}, each: func(scanner) error { alive = true; return nil }})
	}
	err := tx.run(ctx, b)
	d.news = append(d.news, b.news...)
	switch {
	case err == nil && !alive:
		return lost(d.c)
	case err == nil:
		return d.lacks(b.held)
	case sqlState(err) == codeDivision: // a task that is not held, as the queue was looked at
		return lost(d.c)
	case sqlState(err) == codeNull && len(d.c.Messages) > 0:
		return noQueueOf(d.c)
	case sqlState(err) == codeUnique && constraint(err) == "log_run":
		return lost(d.c)
	case sqlState(err) == codeUnique:
		return fmt.Errorf("%w: %w", errAgain, err)
	}
	return err
}

func constraint(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.ConstraintName
	}
	return ""
}

// insert inserts the row of a birth. Where its idempotency key is known the run that has it is returned.
func (d *draft) insert(ctx context.Context, tx txn, c *world.Commit, key int64) (existing string, err error) {
	row, err := birthRowOf(c, key)
	if err != nil {
		return "", err
	}
	n, err := tx.exec(ctx, insertRun, row.args()...)
	if sqlState(err) == codeDivision {
		return "", world.HeldBirth(c)
	}
	if err != nil || n == 1 {
		return "", err
	}
	exists := false
	if err := tx.each(ctx, runExists, func(scanner) error { exists = true; return nil }, c.Run); err != nil {
		return "", err
	}
	if exists {
		return "", fmt.Errorf("run %s: %w", c.Run, world.ErrRunExists)
	}
	if existing, err = d.byIdem(ctx, tx, c); err == nil && existing == "" {
		err = errAgain // whoever had it is swept by now
	}
	return existing, err
}

// byIdem is the run that has the idempotency key of a birth, or was given the input of the start with it; "": none.
func (d *draft) byIdem(ctx context.Context, tx txn, c *world.Commit) (id string, err error) {
	b := c.Events[0].Birth
	err = tx.each(ctx, mergedRun, func(r scanner) error { return r.Scan(&id) }, b.Workflow, b.Key)
	return id, err
}

// lockRuns locks the queue rows that the commit depends on, in the order of their runs: its own, and those of runs that it wants to await, which it
// shares. It returns the run as it is under the lock, nil for a birth.
func (d *draft) lockRuns(ctx context.Context, tx txn, targets map[string]*run) (*run, error) {
	c := d.c
	var own *run
	if !c.Birth() {
		var err error
		if own, err = look(ctx, tx, c.Run); err != nil {
			return nil, err
		}
		if err := fence(c, own, d.wk); err != nil {
			return nil, err
		}
	}
	for _, t := range byKey(own, targets) {
		if t == own {
			if err := tx.each(ctx, lockRun, func(scanner) error { return nil }, t.key); err != nil {
				return nil, err
			}
			continue
		}
		t.live = false
		if err := tx.each(ctx, shareRun, func(scanner) error { t.live = true; return nil }, t.key); err != nil {
			return nil, err
		}
	}
	if own == nil {
		return nil, nil
	}
	own, err := look(ctx, tx, c.Run)
	if err != nil {
		return nil, err
	}
	return own, fence(c, own, d.wk)
}

// look reads what is known of a run, nil where it is unknown.
func look(ctx context.Context, tx txn, id string) (r *run, err error) {
	if !storable([]any{id}) {
		return nil, nil
	}
	err = tx.each(ctx, lookRun, func(row scanner) (err error) { r, err = scanLook(row, id); return err }, id)
	return r, err
}

// scanLook reads a row of look_run. What may hang on the run is not known.
func scanLook(row scanner, id string) (*run, error) {
	r := &run{id: id, tasks: true, hooks: true, awaits: true}
	var version, priority, owner, claim *int64
	var running, paused, blocked, full *bool
	var wake *time.Time
	var retention, claims int64
	if err := row.Scan(&r.key, &r.created, &r.workflow, &retention, &claims, &r.last, &version, &running, &priority, &owner, &claim, &paused, &blocked,
		&full, &wake, &r.limited); err != nil {
		return nil, err
	}
	r.created, r.retention, r.claim = r.created.UTC(), time.Duration(retention), claims
	if r.live = version != nil; !r.live {
		return r, nil
	}
	r.class = world.Class{Workflow: r.workflow, Version: int(*version)}
	r.running, r.priority, r.claim, r.paused, r.blocked, r.full, r.wake = *running, int(*priority), *claim, *paused, *blocked, *full, at(wake)
	if owner != nil {
		r.owner = *owner
	}
	return r, nil
}

// createdAs is the class that a run is created with.
func createdAs(c *world.Commit) world.Class {
	b := c.Events[0].Birth
	return world.Class{Workflow: b.Workflow, Version: b.Version}
}
