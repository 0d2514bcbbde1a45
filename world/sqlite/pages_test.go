package sqlite

// What connections keep of the file in memory, outside of Go's heap, where GOMEMLIMIT does not look.

import (
	"context"
	"database/sql/driver"
	"testing"
)

// TestReadersKeepFewPages: a connection that reads keeps 4 MB of pages at most, whoever reads whatever; before, four of them kept 250 MB of an idle server.
func TestReadersKeepFewPages(t *testing.T) {
	t.Parallel()
	w := open(t)
	pages := func(c *conn) int64 {
		t.Helper()
		s, err := c.raw.Prepare("pragma cache_size")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = s.Close() }()
		rows, err := s.(driver.StmtQueryContext).QueryContext(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = rows.Close() }()
		got := make([]driver.Value, 1)
		if err := rows.Next(got); err != nil {
			t.Fatal(err)
		}
		return got[0].(int64)
	}
	for range cap(w.readers) { // each in turn
		if err := w.read(t.Context(), func(c *conn) error {
			if got := pages(c); got != -readerPages {
				t.Errorf("a reader keeps %d, want %d: KiB are below 0", got, -readerPages)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	c, err := w.connect()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.close() }()
	if got := pages(c); got != -writerPages {
		t.Errorf("a writer keeps %d, want %d", got, -writerPages)
	}
}
