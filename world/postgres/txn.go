package postgres

// Transactions as the write side sees them: of pgx, or of database/sql with any driver.

import (
	"context"
	"database/sql"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// txn is a transaction that is under way.
type txn interface {
	// raw makes a statement that is none of a file.
	raw(ctx context.Context, sql string) error
	// exec tells how many rows were changed.
	exec(ctx context.Context, s *statement, args ...any) (int64, error)
	// each calls fn for each row of the answer.
	each(ctx context.Context, s *statement, fn func(row scanner) error, args ...any) error
	// run makes all statements of a script, in one round trip where that is possible.
	run(ctx context.Context, b *script) error
}

// pgxTxn is a transaction of pgx.
type pgxTxn struct {
	db *database
	tx pgxTx
}

// in is a transaction of pgx as the write side sees it.
func (db *database) in(tx pgxTx) pgxTxn { return pgxTxn{db, tx} }

// pgxTx is what a transaction and a connection of pgx have in common.
type pgxTx interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

func (t pgxTxn) raw(ctx context.Context, sql string) error {
	t.db.counters.statements.Add(1)
	_, err := t.tx.Exec(ctx, sql)
	return err
}

func (t pgxTxn) exec(ctx context.Context, s *statement, args ...any) (int64, error) {
	t.db.counters.statements.Add(1)
	tag, err := t.tx.Exec(ctx, t.db.sql(s), args...)
	return tag.RowsAffected(), err
}

func (t pgxTxn) each(ctx context.Context, s *statement, fn func(row scanner) error, args ...any) error {
	t.db.counters.statements.Add(1)
	rows, err := t.tx.Query(ctx, t.db.sql(s), args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := fn(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (t pgxTxn) run(ctx context.Context, b *script) error {
	if len(b.items) == 0 {
		return nil
	}
	t.db.counters.statements.Add(int64(len(b.items)))
	err := t.tx.SendBatch(ctx, b.batch()).Close()
	if err == nil && b.after != nil {
		b.after()
	}
	return err
}

// sqlTxn is a transaction of database/sql. Drivers differ in what they take as an array, so arrays go as texts.
type sqlTxn struct {
	db *database
	tx *sql.Tx
}

func (t sqlTxn) raw(ctx context.Context, text string) error {
	for one := range strings.SplitSeq(text, ";") {
		t.db.counters.statements.Add(1)
		if _, err := t.tx.ExecContext(ctx, one); err != nil {
			return err
		}
	}
	return nil
}

func (t sqlTxn) exec(ctx context.Context, s *statement, args ...any) (int64, error) {
	t.db.counters.statements.Add(1)
	r, err := t.tx.ExecContext(ctx, t.db.sql(s), asTexts(args)...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

func (t sqlTxn) each(ctx context.Context, s *statement, fn func(row scanner) error, args ...any) error {
	t.db.counters.statements.Add(1)
	rows, err := t.tx.QueryContext(ctx, t.db.sql(s), asTexts(args)...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := fn(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (t sqlTxn) run(ctx context.Context, b *script) error {
	for _, i := range b.items {
		each := i.each
		if each == nil {
			each = func(scanner) error { return nil }
		}
		if err := t.each(ctx, i.s, each, i.args...); err != nil {
			return err
		}
	}
	if b.after != nil {
		b.after()
	}
	return nil
}

// asTexts makes texts of arrays, as PostgreSQL writes them.
func asTexts(args []any) []any {
	out := make([]any, len(args))
	for i, a := range args {
		switch a := a.(type) {
		case []int64:
			out[i] = arrayText(a, func(v int64) string { return strconv.FormatInt(v, 10) })
		case []int32:
			out[i] = arrayText(a, func(v int32) string { return strconv.FormatInt(int64(v), 10) })
		case []int16:
			out[i] = arrayText(a, func(v int16) string { return strconv.FormatInt(int64(v), 10) })
		case []bool:
			out[i] = arrayText(a, strconv.FormatBool)
		case []string:
			out[i] = arrayText(a, quoted)
		case []*string:
			out[i] = arrayText(a, orNullText(quoted))
		case []*int64:
			out[i] = arrayText(a, orNullText(func(v int64) string { return strconv.FormatInt(v, 10) }))
		case []time.Time:
			out[i] = arrayText(a, timeText)
		case []*time.Time:
			out[i] = arrayText(a, orNullText(timeText))
		case [][]byte:
			out[i] = arrayText(a, bytesText)
		default:
			out[i] = a
		}
	}
	return out
}

func arrayText[V any](values []V, text func(V) string) string {
	var b strings.Builder
	b.WriteByte('{')
	for i, v := range values {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(text(v))
	}
	b.WriteByte('}')
	return b.String()
}

func orNullText[V any](text func(V) string) func(*V) string {
	return func(v *V) string {
		if v == nil {
			return "NULL"
		}
		return text(*v)
	}
}

func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

func timeText(t time.Time) string {
	return `"` + t.UTC().Format("2006-01-02 15:04:05.999999Z07:00") + `"`
}

func bytesText(b []byte) string {
	if b == nil {
		return "NULL"
	}
	return `"\\x` + hex.EncodeToString(b) + `"`
}
