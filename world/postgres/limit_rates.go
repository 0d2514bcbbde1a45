package postgres

// Rates: a key of one keeps the turn of the next. Who admits decides by that, with the rules that other stores use, and
// writes it with what else of the key; when it is due again, who looks for work makes news of it.

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

var (
	paidRates = load("paid_rates")
	holdRate  = load("hold_rate")
	payRate   = load("pay_rate")
)

// rateRow is what look_limits tells of a key of a rate; null: it is of none.
type rateRow struct {
	per, turn, now *int64
	burst, used    *int32
	late           *bool
}

// rated is a key of a rate as an admission sees it.
type rated struct {
	rules.Rate
	turn, now int64
	late      bool
	used      int

	standby bool // what is decided: somebody is left in line, who has waited since one began
	due     *time.Time
}

// rated makes it; free is how many of its places nobody holds, if they are counted as those of other limits.
func (p *rateRow) rated(free int64) *rated {
	if p.per == nil || p.turn == nil || p.now == nil || p.burst == nil || p.used == nil || p.late == nil || *p.per <= 0 {
		return nil
	}
	return &rated{
		Rate: rules.Rate{Number: int(free) + int(*p.used), Per: time.Duration(*p.per), Burst: int(*p.burst)},
		turn: *p.turn, now: *p.now, late: *p.late, used: int(*p.used),
	}
}

// pay has so many begin that it had let in.
func (k *rated) pay(begun int) {
	k.turn, k.used, k.late = k.Pay(k.turn, k.now, k.late, begun), max(k.used-begun, 0), k.late || begun > 0
}

// room is how many it lets in now.
func (k *rated) room() int { return k.Free(k.turn, k.now, k.late, k.used) }

// settle decides what is kept of it, after so many are let in.
func (k *rated) settle(n int, standing bool) {
	k.standby = standing && k.late
	if due := k.Again(k.turn, k.now, standing, k.standby, k.used+n); due != 0 {
		at := time.UnixMicro(due).UTC()
		k.due = &at
	}
}

// rateArgs are what admit_runs is told of rates, by key.
func (a *admission) rateArgs() []any {
	n := len(a.order)
	turn, late, due := make([]*int64, n), make([]*bool, n), make([]*time.Time, n)
	for i, key := range a.order {
		if k := a.keys[key].rate; k != nil {
			turn[i], late[i], due[i] = &k.turn, &k.standby, k.due
		}
	}
	return []any{turn, late, due}
}

// refusable reports whether a rate may refuse a commit: it is a birth that has to pay at once.
func refusable(c *world.Commit) bool {
	return c.Birth() && slices.ContainsFunc(c.Events[0].Birth.Places, func(p world.Place) bool { return p.Refuse })
}

// payBefore has a birth in a caller's transaction pay the rates that would refuse it, before it is written: nobody is
// to wait for a caller. What is paid for a birth that fails is lost, and who makes the same one meanwhile pays too. A
// run that is there has paid.
func (l *limits) payBefore(ctx context.Context, c *world.Commit) error {
	if !refusable(c) {
		return nil
	}
	b, there := c.Events[0].Birth, false
	note := func(pgx.Rows) error { there = true; return nil }
	if err := l.read(ctx, runExists, note, c.Run); err != nil || there {
		return err
	}
	if b.Key != "" {
		if err := l.read(ctx, mergedRun, note, b.Workflow, b.Key); err != nil || there {
			return err
		}
	}
	if err := l.learnAll(ctx, c); err != nil {
		return err
	}
	return l.change(ctx, func(ctx context.Context, tx pgx.Tx) error { return l.payIn(ctx, l.in(tx), b) })
}

// payIn has a birth pay all rates that would refuse it, in a transaction that is given up where one of them does. Their
// keys are locked until its end, in their order, so that no two births wait for each other.
func (l *limits) payIn(ctx context.Context, tx txn, b *world.Birth) error {
	places := slices.DeleteFunc(slices.Clone(b.Places), func(p world.Place) bool { return !p.Refuse })
	slices.SortFunc(places, func(p, q world.Place) int { return cmp.Compare(clean(keyText(&p)), clean(keyText(&q))) })
	for i := range places {
		if err := l.payOne(ctx, tx, &places[i]); err != nil {
			return fmt.Errorf("workflow %s: %w", b.Workflow, err)
		}
	}
	return nil
}

func (l *limits) payOne(ctx context.Context, tx txn, p *world.Place) error {
	key := clean(keyText(p))
	var rate rules.Rate
	var turn, per, now int64
	if err := tx.each(ctx, holdRate, func(row scanner) error {
		err := row.Scan(&turn, &rate.Number, &per, &rate.Burst, &now)
		rate.Per = time.Duration(per)
		return err
	}, key); err != nil || per <= 0 {
		return err
	}
	if rate.Room(turn, now, false) <= 0 {
		at := time.Unix(0, now).UTC()
		return world.Refused(p, rate.Number, rate.At(turn, at, 0), at)
	}
	next := rate.Pay(turn, now, false, 1)
	_, err := tx.exec(ctx, payRate, key, next, time.UnixMicro(rate.Again(next, now, false, false, 0)).UTC())
	return err
}
