package sqlite

import (
	"context"
	"database/sql/driver"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares text with a file of testdata, or rewrites it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
	}
}

// Every statement is prepared on a fresh schema, says what it is for, and is found by the index that it should be found by.
func TestStatements(t *testing.T) {
	t.Parallel()
	w := open(t)
	c, err := w.connect()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.close() }()
	used := make(map[string]bool)
	var plans strings.Builder
	for _, s := range slices.SortedFunc(slices.Values(statements), func(a, b *statement) int { return strings.Compare(a.name, b.name) }) {
		used[s.name] = true
		if !strings.HasPrefix(s.text, "-- ") {
			t.Errorf("%s: does not begin with a comment", s.name)
		}
		if _, err := c.prepared(s); err != nil {
			t.Errorf("prepare: %v", err)
			continue
		}
		plan := planOf(t, c, s)
		if plan == "" {
			continue
		}
		fmt.Fprintf(&plans, "%s\n%s", s.name, plan)
		if full := fullScan.FindString(plan); full != "" && !mayScan[s.name] {
			t.Errorf("%s looks at a whole table: %s", s.name, full)
		}
	}
	for name := range texts {
		if !used[name] {
			t.Errorf("%s is not used", name)
		}
	}
	golden(t, "plans.txt", plans.String())
}

// fullScan is how a plan says that it looks at all rows of a table.
var fullScan = regexp.MustCompile(`SCAN (runs|queue|log|inbox|tasks|hooks|awaits|chunks|[rqlithawc])\b[^\n]*`)

// mayScan: these look at small tables, at all there is on purpose, or stop when they have enough.
var mayScan = map[string]bool{
	"list_classes": true, "list_workers": true, "worker_keys": true, "count_runs": true, "list_hooks": true,
	"count_tables": true, "cancel_runs": true, "list_cancel_runs": true, "find_ready_run": true, "ready": true, "sweep_runs": true, "doctor_tasks": true, "doctor_mail": true,
	"doctor_runs": true, "doctor_workers": true, "doctor_chunks": true, "doctor_orphans": true, "doctor_apart": true, "doctor_inbox": true, "doctor_counts": true, "doctor_ends": true, "recount": true,
	"stopped_runs": true, "deaf_runs": true, "wrong_keys": true, "lost_in_line": true, "neglected_steps": true, "neglected_classes": true, "list_holders": true,
}

func planOf(t *testing.T, c *conn, s *statement) string {
	t.Helper()
	rows, err := c.raw.(driver.QueryerContext).QueryContext(context.Background(), "EXPLAIN QUERY PLAN "+s.text, nullArgs(s))
	if err != nil {
		return "" // BEGIN and its like
	}
	defer func() { _ = rows.Close() }()
	var out strings.Builder
	values := make(row, len(rows.Columns()))
	for {
		if err := rows.Next(values); err == io.EOF {
			return out.String()
		} else if err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		if len(values) == 4 {
			fmt.Fprintf(&out, "  %s\n", values.text(3))
		}
	}
}

var parameter = regexp.MustCompile(`\?(\d+)`)

func nullArgs(s *statement) []driver.NamedValue {
	n := strings.Count(s.text, "?,") + strings.Count(s.text, "?)") // those without a number
	for _, m := range parameter.FindAllStringSubmatch(s.text, -1) {
		var i int
		_, _ = fmt.Sscan(m[1], &i)
		n = max(n, i)
	}
	args := make([]driver.NamedValue, n)
	for i := range args {
		args[i] = driver.NamedValue{Ordinal: i + 1}
	}
	return args
}
