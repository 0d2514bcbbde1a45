package postgres

// What the examination says of rows that are damaged, beside those of runs and logs: see world.Verify.

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
)

var (
	doctorOrphans = load("doctor_orphans")
	doctorApart   = load("doctor_apart")
	doctorInbox   = load("doctor_inbox")
	doctorEnds    = load("doctor_ends")
)

// mostDamaged is how many runs a finding names.
const mostDamaged = 5

// orphans looks for rows whose run, or class, is not there.
func (x *examination) orphans(ctx context.Context) (world.Finding, error) {
	var found []world.Orphans
	err := x.w.read(ctx, doctorOrphans, func(row pgx.Rows) error {
		var o world.Orphans
		err := row.Scan(&o.Table, &o.N, &o.First)
		found = append(found, o)
		return err
	})
	return world.OrphansFound(found, pgx.Identifier{x.w.opt.Schema}.Sanitize()+"."), err
}

// apart counts values that are kept apart, and looks for those of which nothing is there, or that nobody holds.
func (x *examination) apart(ctx context.Context) (f world.Finding, err error) {
	err = x.w.read(ctx, doctorApart, func(row pgx.Rows) error {
		var held, empty, left int64
		err := row.Scan(&held, &empty, &left)
		f = world.ApartFound(held, empty, left, pgx.Identifier{x.w.opt.Schema}.Sanitize()+".")
		return err
	})
	return f, err
}

// inboxes reads mail, and compares it with its checksums.
func (x *examination) inboxes(ctx context.Context) (world.Finding, error) {
	n, wrong := 0, 0
	var runs []string
	err := x.w.read(ctx, doctorInbox, func(row pgx.Rows) error {
		n++
		_, m, err := scanMail(row)
		if m.Damage != "" {
			if wrong++; wrong <= mostDamaged {
				runs = append(runs, "run "+m.Run+", "+m.Damage)
			}
		}
		return err
	})
	if wrong == 0 {
		return good("%d deliveries wait, unchanged since they were sent", n), err
	}
	return bad("restore a backup; or end the run with `stepwell runs cancel --force`, then fork it", "%d of %d deliveries: %s", wrong, n, strings.Join(runs, "; ")), err
}
