package postgres

// Singletons: at most one run of a workflow and key is live. The key stands in the run's row of the queue, and goes
// with it. What becomes of a birth is in package rules.

import (
	"context"
	"slices"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

var (
	liveSingle = load("live_single")
	freeSingle = load("free_single")
	setSingles = load("set_singles")
)

// singleRow is a new run that has the key of a singleton.
type singleRow struct {
	run      int64
	id, text string
	behind   *string // the run for whose end it waits; nil: none
}

// liveRun is the run that has a key; "": none.
func liveRun(ctx context.Context, tx txn, key string) (id string, err error) {
	err = tx.each(ctx, liveSingle, func(row scanner) error { return row.Scan(&id) }, clean(key))
	return id, err
}

// meetSingle tells which run is there in the place of a birth, before anything is written of it; or refused says why
// there is none. Whose ID or idempotency key is taken is told of by its insertion.
func meetSingle(ctx context.Context, tx txn, d *draft) (existing string, refused, err error) {
	one := rules.SingleOf(d.c)
	if one == nil {
		return "", nil, nil
	}
	live, err := liveRun(ctx, tx, one.Text())
	if err != nil {
		return "", nil, err
	}
	existing, refused = one.Meet(live)
	if existing == "" && refused == nil {
		return "", nil, nil
	}
	known := false
	if err := tx.each(ctx, runExists, func(scanner) error { known = true; return nil }, d.c.Run); err != nil {
		return "", nil, err
	}
	if b := d.c.Events[0].Birth; !known && b.Key != "" {
		same, err := d.byIdem(ctx, tx, d.c)
		if err != nil {
			return "", nil, err
		}
		known = same != ""
	}
	if known {
		return "", nil, nil
	}
	return existing, refused, nil
}

// claimSingle has a new run take the key from the run that has it, if one does still, which is cancelled. The row of
// that is locked until the end of the transaction: so either it is over, or it is told.
func claimSingle(ctx context.Context, tx txn, d *draft, c *world.Commit, key int64) error {
	one := rules.SingleOf(c)
	if one == nil {
		return nil
	}
	text := clean(one.Text())
	old, behind := "", (*string)(nil)
	if i := slices.IndexFunc(d.sheet.limits.singles, func(r singleRow) bool { return r.text == text }); i >= 0 { // a sibling
		old, behind = d.sheet.limits.singles[i].id, d.sheet.limits.singles[i].behind
		d.sheet.limits.singles = slices.Delete(d.sheet.limits.singles, i, i+1)
	} else if one.Replaces() { // else nobody has it, or setting it fails
		if err := tx.each(ctx, freeSingle, func(row scanner) error { return row.Scan(&old, &behind) }, text); err != nil {
			return err
		}
	}
	if behind == nil && old != "" {
		behind = &old
	}
	d.sheet.limits.singles = append(d.sheet.limits.singles, singleRow{key, c.Run, text, behind})
	if old == "" {
		return nil
	}
	cancel := one.Cancel(old)
	return d.send(&cancel)
}

func singleArgs(rows []singleRow) []any {
	return []any{column(rows, func(r *singleRow) int64 { return r.run }), column(rows, func(r *singleRow) string { return r.text }),
		column(rows, func(r *singleRow) *string { return r.behind })}
}
