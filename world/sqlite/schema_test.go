package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A new file is as one that went through all migrations: tables, indexes and triggers, to the letter, and what is in
// them.
func TestNewFileIsAsMigrated(t *testing.T) {
	t.Parallel()
	texts, err := migrations()
	if err != nil {
		t.Fatal(err)
	}
	walked, c := emptyFile(t)
	for i, text := range texts {
		if _, err := c.raw.(driver.ExecerContext).ExecContext(t.Context(), text, nil); err != nil {
			t.Fatalf("migration %d: %v", i+1, err)
		}
	}
	if *update {
		if err := os.WriteFile("schema.sql", []byte(schemaOf(t, walked)), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	fresh, c := emptyFile(t)
	if err := migrate(c); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(schemaOf(t, walked), schemaOf(t, fresh)); diff != "" {
		t.Errorf("make golden; a new file is not as one of all migrations (migrated -, new +):\n%s", diff)
	}
}

func emptyFile(t *testing.T) (path string, c *conn) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "runs.db")
	c, err := connect(context.Background(), dsn(path, &Options{}), new(atomic.Int64))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.close(); err != nil {
			t.Error(err)
		}
	})
	return path, c
}

// schemaOf is the script that makes a file's schema, and the rows that are in it.
func schemaOf(t *testing.T, path string) string {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	texts := func(query string) (all []string) {
		rows, err := db.Query(query)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var text string
			if err := rows.Scan(&text); err != nil {
				t.Fatal(err)
			}
			all = append(all, text)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		return all
	}
	// sqlite_sequence comes by itself, and is empty.
	parts := []string{"-- What the migrations leave in an empty file. TestNewFileIsAsMigrated writes it, with -update, and holds it against them."}
	parts = append(parts, texts("SELECT sql || ';' FROM sqlite_schema WHERE sql IS NOT NULL AND name != 'sqlite_sequence' ORDER BY rowid")...)
	for _, table := range texts("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid") {
		values := strings.Join(texts(fmt.Sprintf("SELECT 'quote(' || name || ')' FROM pragma_table_info('%s') ORDER BY cid", table)), " || ', ' || ")
		parts = append(parts, texts(fmt.Sprintf("SELECT 'INSERT INTO %s VALUES (' || %s || ');' FROM %[1]s", table, values))...)
	}
	parts = append(parts, texts("SELECT 'PRAGMA application_id = ' || application_id || ';' FROM pragma_application_id")...)
	parts = append(parts, texts("SELECT 'PRAGMA user_version = ' || user_version || ';' FROM pragma_user_version")...)
	return strings.Join(parts, "\n\n") + "\n"
}
