package sqlfile_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell/internal/sqlfile"
)

func TestRead(t *testing.T) {
	got, err := sqlfile.Read(fstest.MapFS{
		"sql/runs.sql":  {Data: []byte("-- Runs and their rows.\n\n-- name: one\n-- Says one.\nSELECT 1\n\n-- name: two\nSELECT 2,\n  '-- name: x'\n")},
		"sql/queue.sql": {Data: []byte("-- name: three\nSELECT 3")},
		"sql/empty.sql": {Data: []byte("-- Nothing yet.\n")},
	}, "sql")
	want := map[string]string{"one": "-- Says one.\nSELECT 1", "two": "SELECT 2,\n  '-- name: x'", "three": "SELECT 3"}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestReadRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"SELECT 1\n-- name: one\nSELECT 1":             `"SELECT 1" stands before the first "-- name: "`,
		"-- name: one\n\n-- name: two\nSELECT 2":       `statement "one" is empty`,
		"-- name: one\nSELECT 1\n-- name: one\nSELECT": `statement "one" stands twice`,
		"-- name: \nSELECT 1":                          `statement "" is empty`,
	} {
		_, err := sqlfile.Read(fstest.MapFS{"sql/a.sql": {Data: []byte(text)}}, "sql")
		if err == nil || !strings.HasPrefix(err.Error(), "sql/a.sql: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
