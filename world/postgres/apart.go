package postgres

// Values that are kept apart from logs.

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/layout"
)

var (
	keepPiece   = load("keep_piece")
	holdApart   = load("hold_apart")
	heldApart   = load("held_apart")
	holdResults = load("hold_results")
	readPiece   = load("read_piece")
	sweepApart  = load("sweep_apart")
	sweepPieces = load("sweep_pieces")
	orphanApart = load("orphan_apart")
	dropOrphans = load("drop_orphans")
	dropValue   = load("drop_value")
	valueKeys   = load("value_keys")
)

// orphansBatch is how many values without a run a transaction deletes.
const orphansBatch = 20

// apartKeeper are the values that are kept apart.
type apartKeeper struct{ rd *reader }

// Values returns the store of large values; see [world.World].
func (w *World) Values() world.Values { return apartKeeper{&w.reader} }

// KeepPiece keeps a piece of a value apart; see [world.Values].
func (k apartKeeper) KeepPiece(ctx context.Context, p *world.Piece) error {
	if err := world.CheckPiece(p); err != nil {
		return err
	}
	run, value, number, data := p.Run, p.Value, p.Number, p.Data
	if data == nil {
		data = []byte{}
	}
	return k.rd.change(ctx, func(ctx context.Context, tx pgx.Tx) error {
		t := k.rd.in(tx)
		n, err := t.exec(ctx, keepPiece, run, value, int32(number), data, layout.PieceSum(value, number, data).Value(), p.Key)
		if err != nil || n > 0 {
			return err
		}
		return holds(ctx, t, run, value, world.NoPiece(run, value, number))
	})
}

// holds is an error where a run does not hold a value. While the run is there, it keeps what it holds.
func holds(ctx context.Context, t txn, run, value string, none error) error {
	if err := t.each(ctx, heldApart, func(scanner) error { none = nil; return nil }, run, value); err != nil {
		return err
	}
	return none
}

// Piece reads a piece of a value; see [world.Values].
func (k apartKeeper) Piece(ctx context.Context, run, value string, number int) (data []byte, err error) {
	held, there := false, false
	err = k.rd.read(ctx, readPiece, func(row pgx.Rows) error {
		var sum *int32
		if err := row.Scan(&there, &data, &sum); err != nil {
			return err
		}
		if held = true; !there {
			return nil
		}
		return layout.CheckPiece(run, value, number, data, layout.SumOf(*sum))
	}, run, value, int32(number))
	if err == nil && !there {
		err = layout.NoPiece(run, value, number, held)
	}
	return data, err
}

// DropValue deletes a value that no event names; see [world.Values].
func (k apartKeeper) DropValue(ctx context.Context, run, value string) error {
	if err := world.CheckValue(run, value); err != nil {
		return err
	}
	return k.rd.change(ctx, func(ctx context.Context, tx pgx.Tx) error {
		return deletePieces(ctx, k.rd.in(tx), dropValue, run, value)
	})
}

// ValueKeys tells which keys values are encrypted with; see [world.Values].
func (k apartKeeper) ValueKeys(ctx context.Context) (out []world.ValueKey, err error) {
	err = k.rd.read(ctx, valueKeys, func(row pgx.Rows) error {
		var k world.ValueKey
		err := row.Scan(&k.Key, &k.Runs)
		out = append(out, k)
		return err
	})
	return out, err
}

// apartRow is a value that events of a run refer to, or name. The run holds it already, or gets it of another that
// does; "": none.
type apartRow struct {
	run, value, of string
	named          bool // only: it need not be held
}

// hold puts on the sheet that events of a run refer to values.
func (d *draft) hold(run, of string, events []world.Event) {
	for i := range events {
		if events[i].Apart != "" {
			d.sheet.hold(run, of, events[i].Apart)
		}
	}
}

// hold is that of values of a run.
func (s *sheet) hold(run, of, apart string) {
	whole, names := world.SplitApart(apart)
	if whole != "" {
		s.apart = append(s.apart, apartRow{run: run, value: whole, of: clean(of)})
	}
	for _, value := range names {
		s.apart = append(s.apart, apartRow{run: run, value: value, of: clean(of), named: true})
	}
}

// namesApart reports whether events of a commit name values, which their run may not hold: see lacks.
func namesApart(c *world.Commit) bool {
	return slices.ContainsFunc(c.Events, func(e world.Event) bool { return e.Apart != "" })
}

// writeApart adds that runs hold values.
func (b *script) writeApart(rows []apartRow) {
	if len(rows) == 0 {
		return
	}
	b.held = make(map[apartRow]bool, len(rows))
	b.items = append(b.items, item{s: holdApart, args: []any{
		column(rows, func(r *apartRow) string { return r.run }), column(rows, func(r *apartRow) string { return r.value }),
		column(rows, func(r *apartRow) string { return r.of }),
	}, each: func(row scanner) error {
		var r apartRow
		err := row.Scan(&r.run, &r.value)
		b.held[r] = true
		return err
	}})
}

// lacks refuses a commit where one of its runs does not hold what its events name. Such commits are made alone.
func (d *draft) lacks(held map[apartRow]bool) error {
	for _, r := range d.sheet.apart {
		if r.of = ""; !r.named && !held[r] {
			return world.NoValue(r.run, r.value)
		}
	}
	return nil
}

// holdsWhole refuses events of a run that is there which refer to what it does not hold.
func holdsWhole(ctx context.Context, rd *reader, run string, events []world.Event) error {
	for i := range events {
		value := world.WholeApart(events[i].Apart)
		if value == "" {
			continue
		}
		none := world.NoValue(run, value)
		if err := rd.read(ctx, heldApart, func(pgx.Rows) error { none = nil; return nil }, run, value); err != nil {
			return err
		}
		if none != nil {
			return none
		}
	}
	return nil
}

// sweepHeld lets runs that are swept hold nothing any more, and deletes what nobody holds then.
func sweepHeld(ctx context.Context, tx txn, runs []string) error {
	return deletePieces(ctx, tx, sweepApart, runs)
}

// deletePieces lets go of values, and deletes what nobody holds then.
func deletePieces(ctx context.Context, tx txn, letGo *statement, args ...any) error {
	var values []string
	if err := tx.each(ctx, letGo, func(row scanner) error {
		var value string
		err := row.Scan(&value)
		values = append(values, value)
		return err
	}, args...); err != nil || len(values) == 0 {
		return err
	}
	_, err := tx.exec(ctx, sweepPieces, values)
	return err
}

// sweepOrphans deletes values that were written for runs that never came to be. What is named between the look and the
// deletion is not deleted, nor found again.
func sweepOrphans(ctx context.Context, k *keeper) error {
	for before := k.now().Add(-world.ApartOrphan); ; {
		var runs, values []string
		if err := k.read(ctx, orphanApart, func(row pgx.Rows) error {
			var run, value string
			err := row.Scan(&run, &value)
			runs, values = append(runs, run), append(values, value)
			return err
		}, before, int32(orphansBatch)); err != nil || len(runs) == 0 {
			return err
		}
		if err := k.change(ctx, func(ctx context.Context, tx pgx.Tx) error {
			return deletePieces(ctx, k.in(tx), dropOrphans, before, runs, values)
		}); err != nil {
			return err
		}
	}
}
