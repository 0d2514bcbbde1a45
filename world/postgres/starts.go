package postgres

// What keeps runs from beginning. A run that has not begun, and is not to, is in the queue under its class with a
// minus sign, which no worker asks for: so who claims need not know of it.

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
)

var (
	holdWorkflow    = load("hold_workflow")
	releaseWorkflow = load("release_workflow")
	lockHolds       = load("lock_holds")
	listHolds       = load("list_holds")
	unsettledHolds  = load("unsettled_holds")
	moveOnHold      = load("move_on_hold")
	endOfPage       = load("end_of_page")
	moveHeld        = load("move_held")
	settleHold      = load("settle_hold")
	insertLapses    = load("insert_lapses")
	dueLapses       = load("due_lapses")
)

// starts keep runs of a schema from beginning.
//
//   - Births look into holds themselves, and are set aside or refused, whatever their process knows.
//   - What was there before is moved page by page. Each page is a transaction that has a lock against others of its
//     kind, and looks what is to be done: so of a hold and a release the later one stands.
type starts struct {
	w     *World
	page  int64         // how many keys of the queue are looked at in one transaction
	after time.Duration // for how long what others have begun is left to them
}

// Starts returns the store of holds and starts; see [world.World].
func (w *World) Starts() world.Starter { return starts{w, world.HoldPage, world.SettleAfter} }

// Hold holds a workflow; see [world.Starter].
func (s starts) Hold(ctx context.Context, h world.Hold) error {
	if err := world.CheckHold(&h); err != nil {
		return err
	}
	return s.set(ctx, h.Workflow, holdWorkflow, h.Workflow, h.By, h.Note)
}

// Release has the runs of a workflow begin again; see [world.Starter].
func (s starts) Release(ctx context.Context, workflow string) error {
	if world.CheckWorkflowName(workflow) != nil {
		return nil // it is not held
	}
	return s.set(ctx, workflow, releaseWorkflow, workflow)
}

func (s starts) set(ctx context.Context, workflow string, what *statement, args ...any) error {
	if err := s.alone(ctx, func(ctx context.Context, tx txn) error {
		_, err := tx.exec(ctx, what, args...)
		return err
	}); err != nil {
		return err
	}
	s.w.telling.tell(world.Notice{Kind: world.NoticeSchedule}) // who looks goes on with it, if this process dies
	return s.settle(ctx, workflow)
}

// alone makes a change while nobody else changes what is held. What is twice is once: so it is made again where the
// answer was lost.
func (s starts) alone(ctx context.Context, f func(ctx context.Context, tx txn) error) error {
	for try := 0; ; try++ {
		err := s.w.change(ctx, func(ctx context.Context, tx pgx.Tx) error {
			t := s.w.in(tx)
			if _, err := t.exec(ctx, lockHolds); err != nil {
				return err
			}
			return f(ctx, t)
		})
		if !errors.Is(err, world.ErrUnknownOutcome) || try == 3 {
			return err
		}
	}
}

// settle moves the runs of a workflow, until all are where they belong.
func (s starts) settle(ctx context.Context, workflow string) (err error) {
	for from, done := int64(0), false; !done && err == nil; {
		from, done, err = s.step(ctx, workflow, from)
	}
	return err
}

// step does so for a page of the queue, behind a key. It tells the last key of the page, and whether nothing is left.
func (s starts) step(ctx context.Context, workflow string, from int64) (to int64, done bool, err error) {
	err = s.alone(ctx, func(ctx context.Context, tx txn) error {
		held := false
		done, to = true, math.MaxInt64
		if err := tx.each(ctx, moveOnHold, func(row scanner) error { done = false; return row.Scan(&held) }, workflow); err != nil || done {
			return err // nothing is to be done any more
		}
		if err := tx.each(ctx, endOfPage, func(row scanner) error { return row.Scan(&to) }, from, s.page-1); err != nil {
			return err
		}
		if _, err := tx.exec(ctx, moveHeld, from, to, workflow, held); err != nil {
			return err
		}
		if done = to == math.MaxInt64; !done {
			return nil
		}
		_, err := tx.exec(ctx, settleHold, workflow)
		return err
	})
	if err == nil {
		s.w.telling.tell(world.Notice{Kind: world.NoticeWork})
	}
	return to, done, err
}

// Holds are the workflows that are held; see [world.Starter].
func (s starts) Holds(ctx context.Context) (out []world.Hold, err error) {
	err = s.w.read(ctx, listHolds, func(row pgx.Rows) error {
		var h world.Hold
		err := row.Scan(&h.Workflow, &h.By, &h.Note, &h.Since)
		h.Since = h.Since.UTC()
		out = append(out, h)
		return err
	})
	return out, err
}

// Settle goes on with what somebody left; see [world.Starter].
func (s starts) Settle(ctx context.Context) (next time.Duration, err error) {
	var left []string
	if err := s.w.read(ctx, unsettledHolds, func(row pgx.Rows) error {
		var name string
		var wait int64
		err := row.Scan(&name, &wait)
		switch {
		case wait < 0:
			left = append(left, name)
		case next == 0 || time.Duration(wait)*time.Microsecond < next:
			next = time.Duration(wait)*time.Microsecond + time.Millisecond
		}
		return err
	}, s.after.Microseconds()); err != nil {
		return 0, err
	}
	for _, name := range left {
		if err := s.settle(ctx, name); err != nil {
			return 0, err
		}
	}
	for _, look := range []func(context.Context) (time.Duration, error){s.neglected, s.neglectedRuns} {
		again, err := look(ctx)
		if err != nil {
			return 0, err
		}
		if next == 0 || again > 0 && again < next {
			next = again
		}
	}
	return next, nil
}

// lapseRow says by when a run is to begin.
type lapseRow struct {
	at  time.Time
	run int64
	ttl time.Duration
}

// lapses puts on the sheet by when a new run is to begin.
func lapses(d *draft, events []world.Event, r *run) {
	at := world.Lapses(r.created, events)
	if at.IsZero() || r.owner != 0 && r.running {
		return
	}
	d.sheet.lapses = append(d.sheet.lapses, lapseRow{at, r.key, events[0].Birth.StartTTL})
	if d.w.lapseNews.Tells(at, d.w.now()) {
		d.notice(world.NoticeSchedule, "")
	}
}

func lapseArgs(rows []lapseRow) []any {
	return []any{
		column(rows, func(r *lapseRow) time.Time { return r.at }), column(rows, func(r *lapseRow) int64 { return r.run }),
		column(rows, func(r *lapseRow) int64 { return int64(r.ttl) }),
	}
}

// Lapsing are runs that have not begun in time; see [world.Starter].
func (s starts) Lapsing(ctx context.Context) (out world.Lapsing, err error) {
	err = s.w.change(ctx, func(ctx context.Context, tx pgx.Tx) error {
		out = world.Lapsing{}
		looked := 0
		return s.w.in(tx).each(ctx, dueLapses, func(row scanner) error {
			var key, ttl, next *int64
			var id *string
			if err := row.Scan(&key, &id, &ttl, &next); err != nil {
				return err
			}
			switch {
			case key != nil:
				looked++
				out.More = looked == world.MaxLapsing
			case next != nil && !out.More:
				out.Next = time.Duration(*next) * time.Microsecond
			}
			if id != nil && ttl != nil {
				out.Runs = append(out.Runs, world.LapsingRun{Run: *id, Within: time.Duration(*ttl)})
			}
			return nil
		}, int64(world.MaxLapsing), world.LapsePatience.Microseconds())
	})
	if err == nil && len(out.Runs) > 0 && (out.Next == 0 || out.Next > world.LapsePatience) {
		out.Next = world.LapsePatience // they are looked at again
	}
	return out, err
}
