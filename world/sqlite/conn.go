package sqlite

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	driversqlite "modernc.org/sqlite"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/layout"
)

// conn is one connection with its prepared statements. It speaks to the driver itself, without database/sql: a commit is a statement of a few
// microseconds, and database/sql's locks, conversions and result objects cost about as much again. It is used by one goroutine at a time.
type conn struct {
	raw   driver.Conn
	stmts []driver.Stmt // by statement.index, prepared at first use
	args  []driver.NamedValue
	calls *atomic.Int64
	lazy  bool                                       // its commits may not wait for the disk
	fault func(s *statement, run func() error) error // of tests: stands between a statement and the file
}

// How many KiB of pages a connection keeps. They lie outside of Go's heap, take twice the room there, and stay when nobody reads: so those who read have few, and
// lose them at each commit as it is. Behind them is the system's cache of the file.
const (
	writerPages = 32_000
	readerPages = 4_000
)

// dsn is the data source name of a connection.
func dsn(path string, o *Options) string {
	q := url.Values{}
	for _, p := range []string{
		fmt.Sprintf("busy_timeout(%d)", o.BusyTimeout.Milliseconds()),
		"synchronous(FULL)", "foreign_keys(0)", "wal_autocheckpoint(0)", "temp_store(MEMORY)", "trusted_schema(0)",
		fmt.Sprintf("cache_size(-%d)", cmp.Or(o.pageCache, writerPages)),
	} {
		q.Add("_pragma", p)
	}
	if o.MaxPages > 0 {
		q.Add("_pragma", fmt.Sprintf("max_page_count(%d)", o.MaxPages))
	}
	if o.vfs != "" {
		q.Set("vfs", o.vfs)
	}
	return "file:" + escapePath(path) + "?" + q.Encode()
}

// escapePath keeps what has a meaning in a file: URI from being read as such.
func escapePath(path string) string {
	return strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path)
}

func connect(ctx context.Context, dsn string, calls *atomic.Int64) (*conn, error) {
	c, err := driversqlite.NewConnector(dsn)
	if err != nil {
		return nil, err
	}
	raw, err := c.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &conn{raw: raw, stmts: make([]driver.Stmt, len(statements)), calls: calls}, nil
}

func (c *conn) close() error {
	var errs []error
	for _, s := range c.stmts {
		if s != nil {
			errs = append(errs, s.Close())
		}
	}
	return errors.Join(append(errs, c.raw.Close())...)
}

func (c *conn) prepared(s *statement) (driver.Stmt, error) {
	if p := c.stmts[s.index]; p != nil {
		return p, nil
	}
	p, err := c.raw.Prepare(s.text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	c.stmts[s.index] = p
	return p, nil
}

func (c *conn) bind(args []any) []driver.NamedValue {
	c.args = c.args[:0]
	for i, a := range args {
		c.args = append(c.args, driver.NamedValue{Ordinal: i + 1, Value: a})
	}
	return c.args
}

// exec runs a statement and returns how many rows it changed.
func (c *conn) exec(s *statement, args ...any) (int64, error) {
	p, err := c.prepared(s)
	if err != nil {
		return 0, err
	}
	c.calls.Add(1)
	bound := c.bind(args)
	if c.fault != nil {
		var changed int64
		err := c.fault(s, func() error {
			r, err := p.(driver.StmtExecContext).ExecContext(context.Background(), bound)
			if err == nil {
				changed, err = r.RowsAffected()
			}
			return err
		})
		return changed, err
	}
	r, err := p.(driver.StmtExecContext).ExecContext(context.Background(), bound)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", s.name, err)
	}
	return r.RowsAffected()
}

// insert runs a statement and returns the key of the row it inserted, 0 where it inserted none.
func (c *conn) insert(s *statement, args ...any) (int64, error) {
	p, err := c.prepared(s)
	if err != nil {
		return 0, err
	}
	c.calls.Add(1)
	r, err := p.(driver.StmtExecContext).ExecContext(context.Background(), c.bind(args))
	if err != nil {
		return 0, fmt.Errorf("%s: %w", s.name, err)
	}
	if n, err := r.RowsAffected(); n == 0 || err != nil {
		return 0, err
	}
	return r.LastInsertId()
}

// query calls each with every row, until it says that it has enough.
func (c *conn) query(s *statement, each func(r row) (more bool, err error), args ...any) (err error) {
	p, err := c.prepared(s)
	if err != nil {
		return err
	}
	c.calls.Add(1)
	rows, err := p.(driver.StmtQueryContext).QueryContext(context.Background(), c.bind(args))
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	defer func() {
		if e := rows.Close(); err == nil && e != nil {
			err = fmt.Errorf("%s: %w", s.name, e)
		}
	}()
	values := make(row, len(rows.Columns()))
	for {
		switch err := rows.Next(values); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w", s.name, err)
		}
		if more, err := each(values); err != nil || !more {
			return err
		}
	}
}

// one reads the only row, and reports whether there is one.
func (c *conn) one(s *statement, scan func(r row) error, args ...any) (found bool, err error) {
	err = c.query(s, func(r row) (bool, error) {
		found = true
		return false, scan(r)
	}, args...)
	return found, err
}

// row is one row as the driver gives it.
type row []driver.Value

func (r row) int(i int) int64 {
	n, _ := r[i].(int64)
	return n
}

func (r row) null(i int) bool { return r[i] == nil }

func (r row) bool(i int) bool { return r.int(i) != 0 }

func (r row) text(i int) string {
	switch v := r[i].(type) {
	case string:
		return v
	case []byte:
		return string(v)
	}
	return ""
}

// bytes returns a blob; it belongs to the caller. A blob of no bytes is not nil.
func (r row) bytes(i int) []byte {
	switch v := r[i].(type) {
	case []byte:
		if v == nil {
			return []byte{}
		}
		return v
	case string:
		return []byte(v)
	}
	return nil
}

// sum is the checksum in a column.
func (r row) sum(i int) layout.Sum {
	if r[i] == nil {
		return layout.Sum{}
	}
	return layout.SumOf(int32(r.int(i)))
}

func (r row) time(i int) time.Time {
	if r[i] == nil {
		return time.Time{}
	}
	return world.FromMicro(r.int(i))
}

// micros is how a time is kept: null where it is zero.
func micros(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

// orNull keeps the empty string as null.
func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
