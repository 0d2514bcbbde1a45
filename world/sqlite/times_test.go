package sqlite

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/worldtest"
)

// headTimes are the times in the head of a row of the log: see layout.AppendRow.
var headTimes = regexp.MustCompile(`"(t|w|r|u|nb)":\d{16}`)

// TestOldTimes spoils each column that holds a time, and the times in the heads of rows.
func TestOldTimes(t *testing.T) {
	t.Parallel()
	worldtest.RunOldTimes(t, func(t testing.TB) (world.World, func(int64, func(string))) {
		path := filepath.Join(t.TempDir(), "runs.db")
		w, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		return w, func(us int64, look func(what string)) {
			db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = db.Close() }()
			do := func(text string, args ...any) {
				t.Helper()
				if _, err := db.Exec(text, args...); err != nil {
					t.Fatalf("%s: %v", text, err)
				}
			}
			for table, sums := range map[string]string{
				"log": "sum = NULL", "inbox": "sum = NULL", "tasks": "sum = NULL", "chunks": "sum = NULL", "runs": "sum = NULL, end_sum = NULL",
			} {
				do("UPDATE " + table + " SET " + sums) // as an earlier release writes rows
			}
			n := 0
			for _, at := range pairs(t, db, `SELECT m.name, c.name FROM sqlite_schema m, pragma_table_info(m.name) c WHERE m.type = 'table' AND c.name LIKE '%\_us' ESCAPE '\'`) {
				if at == [2]string{"workers", "until_us"} && us < 0 {
					continue // the lease is over then, and no row is unreadable
				}
				do(fmt.Sprintf("UPDATE %s SET %s = ? WHERE %s IS NOT NULL", at[0], at[1], at[1]), us)
				look(at[0] + "." + at[1])
				n++
			}
			if n < 10 {
				t.Fatalf("the schema has %d times", n)
			}
			for _, table := range []string{"log", "inbox"} {
				for _, row := range pairs(t, db, "SELECT rowid, head FROM "+table) {
					do("UPDATE "+table+" SET head = ? WHERE rowid = ?", headTimes.ReplaceAllString(row[1], fmt.Sprintf(`"$1":%d`, max(us, -1<<63+1))), row[0])
				}
				look("the heads of " + table)
			}
		}
	})
}

func pairs(t testing.TB, db *sql.DB, query string) (all [][2]string) {
	t.Helper()
	rows, err := db.Query(query)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var p [2]string
		if err := rows.Scan(&p[0], &p[1]); err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}
