package postgres

// Claiming one run or task by name. It is looked up by its key, not in the queue, and then given as any other: what claim_runs and claim_tasks check under the
// lock of the row decides.

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
)

var (
	findOnlyRun  = load("find_only_run")
	findOnlyTask = load("find_only_task")
)

// only is what was found of the run or task that is asked for.
type only struct {
	found  bool
	now    time.Time
	it     candidate
	holder *int64 // the worker that has it; nil: nobody
	dead   *bool
}

// claimOnly gives one run or task. Where a dead worker has it, that is buried first.
func (t *claiming) claimOnly(ctx context.Context, q *world.ClaimQuery) (world.Claimed, error) {
	t.out.Now = t.w.now()
	for round := 1; ; round++ {
		o, err := t.find(ctx, q)
		if err != nil {
			return world.Claimed{}, err
		}
		if !o.found {
			return t.out, nil
		}
		t.out.Now = t.w.notBefore(o.now)
		switch {
		case o.holder == nil:
			return t.giveOnly(ctx, q, o)
		case o.dead == nil || !*o.dead || round == claimRounds || !t.w.burials.buryAll(ctx, []int64{*o.holder}):
			return t.out, nil
		}
	}
}

func (t *claiming) giveOnly(ctx context.Context, q *world.ClaimQuery, o *only) (world.Claimed, error) {
	var err error
	switch all := []candidate{o.it}; {
	case q.Step == "" && t.runs > 0:
		_, err = t.give(ctx, o.now, all, nil)
	case q.Step != "" && t.tasks > 0:
		_, err = t.give(ctx, o.now, nil, all)
	}
	if err != nil && len(t.out.Runs)+len(t.out.Tasks) == 0 {
		return world.Claimed{}, err
	}
	return t.out, nil
}

func (t *claiming) find(ctx context.Context, q *world.ClaimQuery) (*only, error) {
	o := &only{}
	if q.Step == "" {
		return o, t.w.read(ctx, findOnlyRun, func(row pgx.Rows) error {
			o.found, o.it.kind, o.it.limited = true, readyRun, t.w.limits.used()
			return row.Scan(&o.now, &o.it.key, &o.it.partition.class, &o.holder, &o.dead)
		}, q.Run)
	}
	return o, t.w.read(ctx, findOnlyTask, func(row pgx.Rows) error {
		o.found, o.it.kind = true, readyTask
		s := &o.it.task
		var history *string
		err := row.Scan(&o.now, &s.key, &o.it.workflow, &s.step, &s.attempt, &s.failures, &s.abandoned, &history, &o.holder, &o.dead)
		o.it.key, s.history = s.key, textOf(history)
		return err
	}, q.Run, q.Step, texts(q.Steps))
}
