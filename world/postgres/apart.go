package postgres

// Values that are kept apart from logs.

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/layout"
)

var (
	keepPiece   = load("keep_piece")
	holdApart   = load("hold_apart")
	holdSent    = load("hold_sent")
	holdResults = load("hold_results")
	readPiece   = load("read_piece")
	sweepApart  = load("sweep_apart")
	sweepPieces = load("sweep_pieces")
	orphanApart = load("orphan_apart")
)

// orphansBatch is of how many runs that are not there a transaction deletes what was written for them.
const orphansBatch = 20

var _ world.ApartKeeper = (*World)(nil)

// KeepPiece keeps a piece of a value apart; see [world.ApartKeeper].
func (rd *reader) KeepPiece(ctx context.Context, run, value string, number int, data []byte) error {
	if err := world.CheckPiece(run, value, number, data); err != nil {
		return err
	}
	if data == nil {
		data = []byte{}
	}
	return rd.change(ctx, func(ctx context.Context, tx pgx.Tx) error {
		_, err := rd.in(tx).exec(ctx, keepPiece, run, value, int32(number), data, layout.PieceSum(value, number, data).Value())
		return err
	})
}

// Piece reads a piece of a value; see [world.ApartKeeper].
func (rd *reader) Piece(ctx context.Context, run, value string, number int) (data []byte, err error) {
	found := false
	err = rd.read(ctx, readPiece, func(row pgx.Rows) error {
		var sum int32
		if err := row.Scan(&data, &sum); err != nil {
			return err
		}
		found = true
		return layout.CheckPiece(run, value, number, data, layout.SumOf(sum))
	}, run, value, int32(number))
	if err == nil && !found {
		err = fmt.Errorf("run %s: piece %d of value %s: %w", run, number, value, world.ErrNotFound)
	}
	return data, err
}

// apartRow is a value that a run is to hold.
type apartRow struct{ run, value string }

// apartRows are those of a sheet.
type apartRows struct {
	named []apartRow // by events of the run
	sent  []apartRow // to it
}

func apartArgs(rows []apartRow) []any {
	return []any{column(rows, func(r *apartRow) string { return r.run }), column(rows, func(r *apartRow) string { return r.value })}
}

// hold puts on the sheet that events of a run name values.
func (d *draft) hold(run string, events []world.Event) {
	for i := range events {
		for _, value := range events[i].Apart {
			d.sheet.apart.named = append(d.sheet.apart.named, apartRow{run, value})
		}
	}
}

// namesApart reports whether what a run is created with names values, which may not be there.
func namesApart(c *world.Commit) bool {
	if !c.Birth() {
		return false
	}
	for i := range c.Events {
		if len(c.Events[i].Apart) > 0 {
			return true
		}
	}
	return false
}

// writeApart adds that runs hold values.
func (b *script) writeApart(rows []apartRow) {
	if len(rows) == 0 {
		return
	}
	b.items = append(b.items, item{s: holdApart, args: apartArgs(rows), each: func(row scanner) error {
		var value string
		if err := row.Scan(&value); err != nil {
			return err
		}
		if b.held == nil {
			b.held = make(map[string]bool)
		}
		b.held[value] = true
		return nil
	}})
}

// lacks is a value that a run which is created names, and that is not there; "": none.
func (d *draft) lacks(held map[string]bool) string {
	created := map[string]bool{}
	for _, c := range append([]*world.Commit{d.c}, d.c.Births...) {
		if c.Birth() {
			created[c.Run] = true
		}
	}
	for _, r := range d.sheet.apart.named {
		if created[r.run] && !held[r.value] {
			return r.value
		}
	}
	return ""
}

// sentApart are the values that what is sent to a run names.
func sentApart(d *world.Delivery) (rows []apartRow) {
	for i := range d.Events {
		for _, value := range d.Events[i].Apart {
			if d.Run != "" {
				rows = append(rows, apartRow{clean(d.Run), value})
			}
		}
	}
	return rows
}

// holdSent makes the run that something is sent to hold the values which that names, before it is sent.
func (se *sender) holdSent(ctx context.Context, d *world.Delivery) error {
	rows := sentApart(d)
	if len(rows) == 0 {
		return nil
	}
	return se.change(ctx, func(ctx context.Context, tx pgx.Tx) error {
		_, err := se.in(tx).exec(ctx, holdSent, apartArgs(rows)...)
		return err
	})
}

// sweepApart lets runs that are swept hold nothing any more, and deletes what nobody holds then.
func (k *keeper) sweepApart(ctx context.Context, tx txn, runs []string) error {
	var values []string
	if err := tx.each(ctx, sweepApart, func(row scanner) error {
		var value string
		err := row.Scan(&value)
		values = append(values, value)
		return err
	}, runs); err != nil || len(values) == 0 {
		return err
	}
	_, err := tx.exec(ctx, sweepPieces, values)
	return err
}

// sweepOrphans deletes values that were written for runs that never came to be.
func (k *keeper) sweepOrphans(ctx context.Context) error {
	for {
		var runs []string
		if err := k.read(ctx, orphanApart, func(row pgx.Rows) error {
			var run string
			err := row.Scan(&run)
			runs = append(runs, run)
			return err
		}, k.now().Add(-world.ApartOrphan), int32(orphansBatch)); err != nil || len(runs) == 0 {
			return err
		}
		if err := k.change(ctx, func(ctx context.Context, tx pgx.Tx) error { return k.sweepApart(ctx, k.in(tx), runs) }); err != nil {
			return err
		}
	}
}
