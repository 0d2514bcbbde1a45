package postgres_test

// Databases that earlier releases wrote, with runs in each state: they are migrated, and what is in them goes on.

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/internal/answers"
	"github.com/stepwell/stepwell/internal/pgtest"
)

var updateStored = flag.String("update-stored", "", "write a dump with runs as this release leaves them, under this `name`, into testdata/stored")

// TestStoredDatabases brings the dump of each release that has left one into a new database, and its runs to their ends.
// What is there is never written again; a release that changes what is stored adds its own, before it does:
// -update-stored=COMMIT.
func TestStoredDatabases(t *testing.T) {
	t.Parallel()
	const dir = "testdata/stored"
	if *updateStored != "" {
		writeStored(t, filepath.Join(dir, *updateStored+".sql"))
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.sql"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no dumps in %s: %v", dir, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".sql"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			url := pgtest.URL(t)
			conn, err := pgx.Connect(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			_, err = conn.PgConn().Exec(t.Context(), string(text)).ReadAll()
			_ = conn.Close(t.Context()) // all is committed, or err says why not
			if err != nil {
				t.Fatal(err)
			}
			answers.Find(t, openAnswers(t, url))
		})
	}
}

// notSQL are lines of a dump that psql alone understands, and settings that older servers do not know.
var notSQL = regexp.MustCompile(`(?m)^(\\|SET transaction_timeout|--).*\n`)

// writeStored dumps a database whose worker is alive: to who opens the copy it has died. The server lives in another year,
// so that all that the runs wait for is due whenever the dump is read.
func writeStored(t *testing.T, to string) {
	c := pgtest.New(t, pgtest.Config{NoSync: true, Steps: true})
	if err := c.SetClock(-6 * 365 * 24 * time.Hour); err != nil {
		t.Fatal(err)
	}
	url := c.URL(t)
	answers.Leave(t, openAnswers(t, url), strings.TrimSuffix(filepath.Base(to), ".sql"))
	text, err := exec.CommandContext(t.Context(), "pg_dump", "--inserts", "--no-owner", "--no-privileges", "--schema=stepwell", url).Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../..") // where this machine has the code is nobody's business
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.ReplaceAll(text, []byte(root+string(filepath.Separator)), nil)
	if err := os.WriteFile(to, notSQL.ReplaceAll(text, nil), 0o644); err != nil {
		t.Fatal(err)
	}
}
