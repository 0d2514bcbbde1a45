package sqlite

import (
	"database/sql/driver"
	"fmt"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
)

// A sweep deletes what was published more than a day ago and has gone out, or was set aside, however much it is, and
// nothing that is due.
func TestSweepOfPublications(t *testing.T) {
	t.Parallel()
	now := world.Now()
	w := open(t, Options{Now: func() time.Time { return now }})
	var all []world.Publication
	for i := range world.MaxBatch {
		all = append(all, world.Publication{Topic: "a", Payload: []byte(`1`), Dedupe: fmt.Sprint(i)})
	}
	all[5].Delay = 48 * time.Hour
	topics := w.Topics()
	var sent []world.Sent
	for range 2 {
		more, err := topics.Publish(t.Context(), all)
		if err != nil {
			t.Fatal(err)
		}
		sent = append(sent, more...)
		for i := range all {
			all[i].Dedupe += "again"
		}
	}
	var done []string
	var aside []world.Aside
	for i, s := range sent {
		switch i % world.MaxBatch {
		case 5, 6: // one is due later, and one is due
		case 7:
			aside = append(aside, world.Aside{ID: s.ID, Error: "a test"})
		default:
			done = append(done, s.ID)
		}
	}
	half := len(done) / 2
	for _, s := range []world.Spread{{Revision: 1, Done: done[:half]}, {Revision: 1, Done: done[half:]}, {Revision: 1, Aside: aside}} {
		if ok, err := topics.Spread(t.Context(), s); err != nil || !ok {
			t.Fatalf("spread: %t, %v", ok, err)
		}
	}
	for _, want := range []int64{2 * world.MaxBatch, 4, 4} {
		if _, err := w.Sweep(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if got := count(t, w, "publications"); got != want {
			t.Errorf("%d publications are there, want %d", got, want)
		}
		now = now.Add(25 * time.Hour)
	}
	if got := count(t, w, "due"); got != 4 {
		t.Errorf("%d are due, want 4", got)
	}
}

func count(t *testing.T, w *World, table string) (n int64) {
	t.Helper()
	if err := w.read(t.Context(), func(c *conn) error {
		rows, err := c.raw.(driver.QueryerContext).QueryContext(t.Context(), "SELECT count(*) FROM "+table, nil)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		got := make(row, 1)
		err = rows.Next(got)
		n = got.int(0)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return n
}

// A look at what was published since a time for one topic of many reads ten thousand with a statement, and stops where
// the time does.
func TestLookAtPublications(t *testing.T) {
	t.Parallel()
	now := world.Now()
	w := open(t, Options{Now: func() time.Time { return now }})
	topics := w.Topics()
	put := func(n int, topic string) {
		all := make([]world.Publication, n)
		for i := range all {
			all[i] = world.Publication{Topic: topic, Payload: []byte(`1`)}
		}
		if _, err := topics.Publish(t.Context(), all); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		put(1_000, "old")
	}
	now = now.Add(time.Minute)
	put(10, "paid")
	for range 20 {
		put(1_000, "other")
	}
	before := w.counters.read()
	found := 0
	for q := (world.PublicationQuery{Any: []string{"paid"}, Since: now, Limit: 1_000}); ; {
		page, err := topics.Publications(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		found += len(page.Publications)
		if q.Cursor = page.Cursor; q.Cursor == "" {
			break
		}
	}
	after := w.counters.read()
	if statements, rows := after.Statements-before.Statements, after.RowsRead-before.RowsRead; found != 10 || statements > 8 || rows > 30_010 {
		t.Errorf("%d found with %d statements that read %d rows; want 10, with 8 and 30,010 at most", found, statements, rows)
	}
}
