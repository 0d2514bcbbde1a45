package postgres

// Rows that were changed behind the world's back: see worldtest.RunDamage.

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/worldtest"
)

// damagedSchema is a schema that is changed past the world.
type damagedSchema struct {
	url    string
	conn   *pgx.Conn
	tables []string
}

func (d *damagedSchema) Open(t testing.TB) world.World {
	t.Helper()
	w, err := Open(t.Context(), d.url)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (d *damagedSchema) do(t testing.TB, text string, args ...any) int64 {
	t.Helper()
	tag, err := d.conn.Exec(t.Context(), text, args...)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return tag.RowsAffected()
}

func (d *damagedSchema) Keep(t testing.TB) {
	t.Helper()
	d.do(t, "CREATE SCHEMA kept")
	for _, c := range d.Columns(t) {
		if n := len(d.tables); n == 0 || d.tables[n-1] != c[0] {
			d.tables = append(d.tables, c[0])
			d.do(t, fmt.Sprintf("CREATE TABLE kept.%s AS SELECT * FROM %s.%[1]s", c[0], defaultSchema))
		}
	}
}

func (d *damagedSchema) Restore(t testing.TB) {
	t.Helper()
	// First those whose triggers tell of it in others.
	texts := []string{"DELETE FROM " + defaultSchema + ".tasks", "DELETE FROM " + defaultSchema + ".messages"}
	for _, name := range d.tables {
		texts = append(texts, fmt.Sprintf("DELETE FROM %s.%s", defaultSchema, name))
	}
	for _, name := range d.tables {
		texts = append(texts, fmt.Sprintf("INSERT INTO %s.%[2]s SELECT * FROM kept.%[2]s", defaultSchema, name))
	}
	d.do(t, strings.Join(texts, ";"))
}

func (d *damagedSchema) Columns(t testing.TB) [][2]string {
	t.Helper()
	rows, err := d.conn.Query(t.Context(), `SELECT table_name, column_name FROM information_schema.columns c JOIN information_schema.tables USING (table_schema, table_name)
		WHERE table_schema = $1 AND table_type = 'BASE TABLE' AND table_name NOT LIKE '%version%' ORDER BY 1, 2`, defaultSchema)
	if err != nil {
		t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (c [2]string, err error) { return c, row.Scan(&c[0], &c[1]) })
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func (d *damagedSchema) Spoil(t testing.TB, table, column, how, run string) bool {
	t.Helper()
	has := func(column string) (yes bool) {
		if err := d.conn.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM information_schema.columns WHERE table_schema = $1 AND table_name = $2 AND column_name = $3)",
			defaultSchema, table, column).Scan(&yes); err != nil {
			t.Fatal(err)
		}
		return yes
	}
	key := fmt.Sprintf("(SELECT key FROM %s.runs WHERE id = '%s')", defaultSchema, run)
	where := "true"
	switch {
	case table == "queue" && slices.Contains([]string{"places", "keeps", "has", "parked_at"}, column):
		where = "places IS NOT NULL" // those that need places
	case table == "tasks" && slices.Contains([]string{"places", "has", "rates", "parked_at", "asked_at"}, column):
		where = "places IS NOT NULL"
	case table == "runs":
		where = "id = '" + run + "'"
	case table == "apart":
		where = "run = '" + run + "'"
	case table == "apart_pieces":
		where = fmt.Sprintf("value IN (SELECT value FROM %s.apart WHERE run = '%s')", defaultSchema, run)
	case table == "queues":
		where = fmt.Sprintf("name = (SELECT workflow FROM %s.runs WHERE id = '%s')", defaultSchema, run)
	case table == "messages" && slices.Contains([]string{"places", "has", "rates", "parked_at"}, column):
		where = "places IS NOT NULL"
	case table == "messages", table == "dedupes", table == "message_groups":
		where = fmt.Sprintf("queue = (SELECT q.key FROM %s.queues q JOIN %[1]s.runs r ON r.workflow = q.name WHERE r.id = '%[2]s')", defaultSchema, run)
	case table == "publications":
		where = fmt.Sprintf("topic = (SELECT workflow FROM %s.runs WHERE id = '%s')", defaultSchema, run)
	case table == "due":
		where = fmt.Sprintf("publication IN (SELECT p.key FROM %s.publications p JOIN %[1]s.runs r ON r.workflow = p.topic WHERE r.id = '%[2]s')", defaultSchema, run)
	case table == "subscriptions":
		where = fmt.Sprintf("name = (SELECT workflow FROM %s.runs WHERE id = '%s')", defaultSchema, run)
	case has("run"):
		where = "run = " + key
	case table == "awaits":
		where = "waiter = " + key
	case table == "classes", table == "totals":
		where = fmt.Sprintf("workflow = (SELECT workflow FROM %s.runs WHERE id = '%s')", defaultSchema, run)
	}
	var kind string
	if err := d.conn.QueryRow(t.Context(), "SELECT data_type FROM information_schema.columns WHERE table_schema = $1 AND table_name = $2 AND column_name = $3",
		defaultSchema, table, column).Scan(&kind); err != nil {
		t.Fatal(err)
	}
	name := pgx.Identifier{column}.Sanitize()
	to := map[string]string{
		"text flip":                        "overlay(%s PLACING chr(ascii(substr(%[1]s, 1 + length(%[1]s) / 2, 1)) # 1) FROM 1 + length(%[1]s) / 2 FOR 1)",
		"text garbage":                     `'{"' || chr(1)`,
		"bytea flip":                       "set_byte(%s, length(%[1]s) / 2, get_byte(%[1]s, length(%[1]s) / 2) # 1)",
		"bytea garbage":                    `'\xffffffffffffffffff01'::bytea`,
		"bigint flip":                      "%s # 4",
		"bigint garbage":                   "-9223372036854775808",
		"integer flip":                     "%s # 4",
		"integer garbage":                  "-2147483648",
		"smallint flip":                    "%s # 4",
		"smallint garbage":                 "-32768",
		"boolean flip":                     "NOT %s",
		"boolean garbage":                  "true",
		"timestamp with time zone flip":    "%s + interval '1 microsecond'",
		"timestamp with time zone garbage": "'294276-12-31T23:59:59Z'::timestamptz",
		"bigint huge":                      "9223372036854775807",
		"integer huge":                     "2147483647",
		"smallint huge":                    "32767",
		"timestamp with time zone huge":    "'infinity'::timestamptz",
		"timestamp with time zone type":    "'-infinity'::timestamptz",
	}[kind+" "+how]
	if how == "null" {
		to = "NULL"
	}
	if to == "" {
		return false
	}
	if strings.Contains(to, "%") {
		to = fmt.Sprintf(to, name)
	}
	one := fmt.Sprintf("ctid = (SELECT max(ctid) FROM %s.%s WHERE %s)", defaultSchema, table, where)
	for _, where := range []string{where, one} { // of all rows, or where they would be equal then, of one
		tag, err := d.conn.Exec(t.Context(), fmt.Sprintf("UPDATE %s.%s SET %s = %s WHERE %s AND %[3]s IS DISTINCT FROM %[4]s", defaultSchema, table, name, to, where))
		if err == nil {
			return tag.RowsAffected() > 0
		}
	}
	return false // the schema does not allow it, or the value has no such bit
}

func (d *damagedSchema) Exec(t testing.TB, text string) int64 {
	t.Helper()
	d.do(t, "SET search_path = "+defaultSchema)
	return d.do(t, text)
}

func (d *damagedSchema) Count(t testing.TB, text string) (n int) {
	t.Helper()
	d.do(t, "SET search_path = "+defaultSchema)
	if err := d.conn.QueryRow(t.Context(), text).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func (d *damagedSchema) Orphan(t testing.TB, run string) {
	t.Helper()
	if n := d.do(t, fmt.Sprintf("DELETE FROM %s.runs WHERE id = '%s'", defaultSchema, run)); n != 1 {
		t.Fatalf("%d rows deleted", n)
	}
}

// TestDamage changes each column of each table, in each way; unless told otherwise, some of them. See worldtest.RunDamage for what that covers.
func TestDamage(t *testing.T) {
	t.Parallel()
	worldtest.RunDamage(t, schemaToDamage(t), someDamage(t))
}

// someDamage picks one in 24 kinds of damage.
func someDamage(t *testing.T) func(table, column, how string) bool {
	try, i := sample.Share(t, 48), 0
	return func(string, string, string) bool { i++; return try(i) }
}

// TestMending changes what lies beside the logs: see worldtest.RunMending.
func TestMending(t *testing.T) {
	t.Parallel()
	worldtest.RunMending(t, schemaToDamage(t))
}

func schemaToDamage(t *testing.T) *damagedSchema {
	t.Helper()
	d := &damagedSchema{url: pgtest.URL(t)}
	var err error
	if d.conn, err = pgx.Connect(t.Context(), d.url); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.conn.Close(context.WithoutCancel(t.Context())) })
	return d
}

// TestForcedCancelWithoutQueue: a run that is not over and has lost its row in the queue can be ended.
func TestForcedCancelWithoutQueue(t *testing.T) {
	t.Parallel()
	d := &damagedSchema{url: pgtest.URL(t)}
	w := d.Open(t)
	birth := world.Event{Seq: 1, Type: world.RunCreated, Time: world.Now(), Payload: []byte("1"), Birth: &world.Birth{Workflow: "any", Version: 3}}
	if _, err := w.Commit(t.Context(), &world.Commit{ID: [16]byte{1}, Run: "run_1", First: 1, Events: []world.Event{birth}}); err != nil {
		t.Fatal(err)
	}
	var err error
	if d.conn, err = pgx.Connect(t.Context(), d.url); err != nil {
		t.Fatal(err)
	}
	if n := d.do(t, "DELETE FROM "+defaultSchema+".queue"); n != 1 {
		t.Fatalf("%d rows", n)
	}
	if err := d.conn.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	force := &world.Delivery{Run: "run_1", Act: true, Events: []world.Event{{Type: world.RunCancelled, By: "operator"}}}
	for range 2 { // the second finds it cancelled
		if _, err := w.Deliver(t.Context(), force); err != nil {
			t.Errorf("a forced cancel: %v", err)
		}
	}
	if row, err := w.Run(t.Context(), "run_1"); err != nil || row.Status != world.Cancelled || row.Damage != "" {
		t.Errorf("%s, damage %q, %v; want cancelled", row.Status, row.Damage, err)
	}
	if page, err := w.Events(t.Context(), "run_1", world.EventQuery{}); err != nil || len(page.Events) != 2 {
		t.Errorf("%d events, %v; want 2", len(page.Events), err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestBesideLog changes what lies beside logs, and what hangs on rows that are lost: see worldtest.RunDerived.
func TestBesideLog(t *testing.T) {
	t.Parallel()
	worldtest.RunDerived(t, schemaToDamage(t))
}
