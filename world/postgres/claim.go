package postgres

// Claim. A look, which is one statement and locks nothing, says what could be claimed; what is chosen is then given in one transaction that locks only that, and skips
// what others hold. So claimers that meet cost each other a look at most, and nobody holds a lock while it thinks.

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/layout"
)

// claimRounds is how often a Claim looks again where others were quicker, or a dead worker was buried.
const claimRounds = 4

var (
	claimRuns   = load("claim_runs")
	claimedRuns = load("claimed_runs")
	runsMail    = load("runs_mail")
	setClaiming = load("set_claiming")

	putTasksAside = load("put_tasks_aside")
)

// Claim gives runnable runs and ready tasks to a worker; see [world.Queue]. Without work it is one
// statement.
func (w *World) Claim(ctx context.Context, q world.ClaimQuery) (world.Claimed, error) {
	if ctx.Err() != nil {
		return world.Claimed{}, context.Cause(ctx)
	}
	wk, err := w.find(ctx, q.Worker)
	switch {
	case err != nil:
		return world.Claimed{}, fmt.Errorf("worker %s: take: %w", q.Worker, err)
	case wk == nil || w.isClosed():
		return world.Claimed{}, w.notAlive(q.Worker)
	}
	t := claiming{w: w, wk: wk, runs: max(q.Runs, 0), tasks: max(q.Tasks, 0), steps: q.Steps, skip: make(map[int64]bool)}
	if t.count(q.Number); t.noted && t.runs == 0 && t.tasks == 0 {
		return t.mark(ctx)
	}
	if t.classes, err = w.classes.keysOf(ctx, q.Classes); err != nil {
		return world.Claimed{}, err
	}
	if q.Run != "" {
		return t.claimOnly(ctx, &q)
	}
	all, err := t.hint(ctx)
	if err != nil {
		return world.Claimed{}, err
	}
	for round := 1; !all; round++ {
		more, err := t.round(ctx)
		switch {
		case err != nil && len(t.out.Runs)+len(t.out.Tasks) == 0:
			return world.Claimed{}, err
		case err != nil && (errors.Is(err, world.ErrUnknownOutcome) || errors.Is(err, world.ErrLeaseLost)):
			return world.Claimed{}, err
		case err != nil || !more || round == claimRounds:
			if round == claimRounds && len(t.skip) > 0 {
				w.counters.statements.Add(1)
				_, _ = w.pool.Exec(ctx, w.sql(putTasksAside), slices.Collect(maps.Keys(t.skip))) // or the next Claim does it
			}
			w.queue.looks.settle(&t)
			return t.out, nil
		}
	}
	return t.out, nil
}

// claiming is one Claim.
type claiming struct {
	w           *World
	wk          *worker
	number      int64 // among those of the worker
	noted       bool  // it is to be noted in the database: other processes may have claims of this worker
	classes     []int32
	steps       []string
	runs, tasks int            // how many it may give still
	skip        map[int64]bool // others were quicker
	look        int64          // the number of its last look
	out         world.Claimed
}

// round looks and gives. It reports whether another round may give more.
func (t *claiming) round(ctx context.Context) (again bool, err error) {
	look, err := t.w.look(ctx, t)
	if err != nil {
		return false, err
	}
	if look.unlisted {
		if _, _, listed, err := t.w.rejoin(ctx, t.wk); err != nil {
			return false, err
		} else if !listed {
			look.gone = true
		}
	}
	if look.gone {
		t.w.crew.forget(t.wk)
		return false, t.w.notAlive(t.wk.ID)
	}
	if t.w.burials.buryAll(ctx, look.dead) {
		return true, nil
	}
	t.out.Now = t.w.notBefore(look.now)
	changed, err := t.w.limits.follow(ctx, look)
	if err != nil {
		return false, err
	}
	fairness := &t.w.queue.fairness
	runs, tasks := fairness.pick(look.runs, look.now, t.runs, t.skip), fairness.pick(look.tasks, look.now, t.tasks, t.skip)
	chosen := len(runs) + len(tasks)
	again = changed
	if !look.full && (len(runs) < t.runs || len(tasks) < t.tasks) {
		again = t.w.fullLook(chosen == 0) || again
	}
	if chosen > 0 {
		given, err := t.give(ctx, look.now, runs, tasks)
		if err != nil {
			return false, err
		}
		again = again || given < chosen
	} else if t.wk.Remote { // another server may have been told of its death
		if err := t.alive(ctx); err != nil {
			return false, err
		}
	}
	t.rest(look, runs, tasks)
	if !look.full && !again && !t.out.More { // it filled all the room: what it did not see is not to wait for a notice
		t.w.queue.news.kickSoon()
	}
	return again, nil
}

// rest says what there is beside what was given: whether the limits cut it, and when to look again.
func (t *claiming) rest(look *looked, runs, tasks []candidate) {
	chosen := make(map[int64]bool, len(runs)+len(tasks))
	for _, c := range runs {
		chosen[c.key] = true
	}
	chosenTasks := make(map[int64]bool, len(tasks))
	for _, c := range tasks {
		chosenTasks[c.key] = true
	}
	t.out.More, t.out.Next = false, look.peers
	next := func(at time.Time) {
		if t.out.Next.IsZero() || at.Before(t.out.Next) {
			t.out.Next = at
		}
	}
	see := func(all []candidate, chosen map[int64]bool) {
		for i := range all {
			switch c := &all[i]; {
			case t.skip[c.key]:
				next(look.now) // somebody holds it, and may not take it
			case chosen[c.key]:
			case c.due.After(look.now):
				next(c.due)
			default:
				t.out.More = true
				if c.kind == mailedRun { // only a full look finds it again
					t.w.queue.looks.lookFull()
				}
			}
		}
	}
	if !look.rates.IsZero() {
		next(look.rates)
	}
	see(look.runs, chosen)
	see(look.tasks, chosenTasks)
}

// given is what a worker got.
type given struct {
	runs  map[int64]*claimedRun
	tasks map[int64]*world.Task
	mail  map[int64][]world.Mail
}

// give makes the worker the owner of runs and the holder of tasks, of those that are still free. It tells how many it got.
func (t *claiming) give(ctx context.Context, now time.Time, runs, tasks []candidate) (int, error) {
	w, wk := t.w, t.wk
	var got given
	var bad error
	stale := w.crew.stale(wk)
	err := w.batch(ctx, func(q *pgx.Batch) {
		got = given{make(map[int64]*claimedRun), make(map[int64]*world.Task), make(map[int64][]world.Mail)}
		q.Queue(w.sql(setClaiming), len(tasks) == 0)
		if len(runs) > 0 {
			t.queueRuns(q, runs, &got)
		}
		if len(tasks) > 0 {
			bad = t.queueTasks(q, now, tasks, got.tasks)
		}
		if stale {
			q.Queue(w.sql(renewWorkers), []int64{wk.key})
		}
		t.fence(q)
	})
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return 0, err
	case sqlState(err) == codeDivision:
		return 0, t.fenced(ctx)
	case again(err), refused(err), errors.Is(err, world.ErrClosed), errors.Is(err, world.ErrCorrupt):
		return 0, fmt.Errorf("worker %s: claim: %w", wk.ID, err) // nothing was written
	default:
		return 0, fmt.Errorf("worker %s: take: %w: %w", wk.ID, world.ErrUnknownOutcome, err)
	}
	if stale && len(tasks) > 0 { // else a crash of the server may undo it: the next claim renews once more
		w.crew.renewed(wk, now)
	}
	return len(got.runs) + len(got.tasks), errors.Join(bad, t.took(ctx, runs, tasks, &got))
}

// took notes what was given, in the order of the choice.
func (t *claiming) took(ctx context.Context, runs, tasks []candidate, got *given) error {
	w := t.w
	for _, c := range runs {
		r := got.runs[c.key]
		if r == nil {
			t.skip[c.key] = true
			continue
		}
		r.owner, r.live, r.unsure = t.wk.key, true, len(tasks) == 0
		if err := r.complete(ctx, w, got.mail[c.key]); err != nil {
			return err
		}
		w.crew.adopt(&r.run)
		t.out.Runs = append(t.out.Runs, r.out)
	}
	for _, c := range tasks {
		if o := got.tasks[c.key]; o != nil {
			t.out.Tasks = append(t.out.Tasks, *o)
		} else {
			t.skip[c.key] = true
		}
	}
	w.counters.claims.Add(int64(len(got.runs)))
	t.runs -= len(got.runs)
	t.tasks -= len(got.tasks)
	return nil
}

// claimedRun is a run that was just given.
type claimedRun struct {
	run
	classKey int32
	reason   *string // why it is blocked
	format   *int
	head     *string // of its only row; nil: it has more, or a large one
	body     []byte
	sum      *int32
	out      world.ClaimedRun
}

// shortLog is how large the only row of a log may be that is given with its run.
const shortLog = 16 << 10

// complete fills in what the engine is told.
func (r *claimedRun) complete(ctx context.Context, w *World, mail []world.Mail) (err error) {
	if r.class, err = w.classes.name(ctx, r.classKey); errors.Is(err, world.ErrCorrupt) {
		kept := world.Run{Damage: r.out.Damage}
		kept.CheckClass(&r.class, r.workflow, int64(r.classKey))
		r.out.Damage, err = kept.Damage, nil
	} else if err == nil && r.class.Workflow != r.workflow && r.out.Damage == "" {
		kept := world.Run{}
		kept.CheckClass(&r.class, r.workflow, int64(r.classKey))
		r.out.Damage = kept.Damage
	}
	if err != nil {
		return err
	}
	r.tasks, r.hooks, r.awaits = true, true, true // for all this World knows
	o := &r.out
	o.Run, o.Claim, o.Class, o.Priority, o.Seq, o.Paused, o.Mail = r.id, r.claim, r.class, r.priority, r.last, r.paused && !slices.ContainsFunc(mail, world.Mail.Resumes), mail
	o.Status = world.Pending
	if r.running {
		o.Status = world.Running
	}
	if r.head != nil {
		o.Log, _, _, _ = layout.ReadRow(r.id, r.created, 1, *r.format, *r.head, r.body, sumOf(r.sum)) // who reads it again is told what is wrong with it
	}
	if r.reason == nil {
		return nil
	}
	r.blocked, o.Blocked = true, world.ReadBlock([]byte(*r.reason))
	return nil
}

// queueRuns adds the statements that give runs.
func (t *claiming) queueRuns(q *pgx.Batch, runs []candidate, got *given) {
	w, key := t.w, t.wk.key
	var due, mailed, all, limited []int64
	for _, c := range runs {
		if c.limited {
			limited = append(limited, c.key)
		}
		if all = append(all, c.key); c.kind == readyRun {
			due = append(due, c.key)
		} else {
			mailed = append(mailed, c.key)
		}
	}
	q.Queue(w.sql(claimRuns), due, mailed, key, t.classes)
	if len(limited) > 0 {
		q.Queue(w.sql(paidRates), limited, key)
	}
	q.Queue(w.sql(claimedRuns), all, key, shortLog).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			r := new(claimedRun)
			var retention, had int64
			var wake *time.Time
			var row runRow
			kept := world.Run{Queue: &world.QueueRow{}}
			if err := rows.Scan(&r.id, &r.key, &r.created, &retention, &r.workflow, &r.classKey, &r.running, &r.priority, &r.claim, &r.last, &had,
				&r.paused, &r.reason, &r.full, &wake, &r.out.Strikes, &r.attrsKnown, &r.out.Segment, &r.limited, &r.format, &r.head, &r.body, &r.sum,
				&kept.Priority, &row.parentRun, &row.parentStep, &row.detached, &row.encrypted, &row.origin, &row.sum); err != nil {
				return err
			}
			r.created, r.retention, r.wake = r.created.UTC(), time.Duration(retention), at(wake)
			kept.ID, kept.Workflow, kept.CreatedAt, kept.Retention = r.id, r.workflow, at(&r.created), r.retention
			if row.parentRun != nil {
				kept.Parent = &world.Parent{Run: *row.parentRun, Step: textOf(row.parentStep), Detached: row.detached}
			}
			layout.CheckRun(&kept, textOf(row.encrypted), textOf(row.origin), "", sumOf(row.sum), layout.Sum{})
			kept.CheckEnd(r.last, had)
			r.out.Damage = kept.Damage
			got.runs[r.key] = r
		}
		return rows.Err()
	})
	q.Queue(w.sql(runsMail), all, key).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			run, m, err := scanMail(rows)
			if err != nil {
				return err
			}
			got.mail[run] = append(got.mail[run], m)
		}
		return rows.Err()
	})
}
