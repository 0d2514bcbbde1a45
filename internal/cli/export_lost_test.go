package cli

// What is lost of a run that is exported.

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestALostBlobIsNoticed: a file that lacks a blob which the run holds is not written as if it had it, and doctor names
// the run.
func TestALostBlobIsNoticed(t *testing.T) {
	t.Parallel()
	path, file := filepath.Join(t.TempDir(), "app.db"), filepath.Join(t.TempDir(), "rows.csv")
	if err := os.WriteFile(file, []byte("a,b\n1,2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	url := "http://" + served(t, nil, "--db", path)
	run := func(want int, args ...string) string {
		t.Helper()
		code, out, errs := today(t, "", args...)
		if code != want {
			t.Errorf("%v: exit code %d, want %d: %s%s", args, code, want, out, errs)
		}
		return out + errs
	}
	run(exitOK, "runs", "start", "import", "{}", "--id", "whole", "--blob", "rows="+file, "--db", path)
	run(exitOK, "export", "whole", "--values", "--db", path)
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(t.Context(), "DELETE FROM apart_pieces"); err != nil {
		t.Fatal(err)
	}
	for _, to := range [][]string{{"--db", path}, {"--server", url}} {
		if said := run(exitFailure, append([]string{"export", "whole", "--values"}, to...)...); !strings.Contains(said, "its pieces are not there") || !strings.Contains(said, "valu_") {
			t.Errorf("%v: it is exported with: %s", to, said)
		}
		run(exitOK, append([]string{"export", "whole"}, to...)...)
	}
	if said := run(exitFailure, "doctor", "--db", path); !strings.Contains(said, "whole") {
		t.Errorf("doctor does not name the run: %s", said)
	}
}
