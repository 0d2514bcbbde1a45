package main

// What --check says, of a database with runs, of one without, of none, and of a server; and that it fails where an
// assistant's call would.

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stepwell/stepwell/world/sqlite"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	path := sqliteURL(t)
	start(t, database(t, path), sleeps, "newest", order{})
	empty := filepath.Join(t.TempDir(), "empty.db")
	w, err := sqlite.Open(empty)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args       string
		says, errs string
		code       int
	}{
		{"--db " + path, "list_runs answers: the newest run is newest\n", "", 0},
		{"--db " + path, "11 tools that only look: doctor, explain_why, ", "", 0},
		{"--db " + path + " --allow-writes", " tools, some of which act: bulk_runs, cancel_run, ", "", 0},
		{"--db " + empty, "list_runs answers: there are no runs\n", "", 0},
		{"--db " + empty + "-not", "", "there is no database", 1},
		{"--server http://127.0.0.1:1", "", "not reached", 1},
		{"--db " + path + " --http :0", "", "--check does not listen", 2},
	} {
		cmd := exec.CommandContext(t.Context(), program("stepwell"), append([]string{"mcp", "--check"}, strings.Fields(test.args)...)...)
		var out, errs strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &errs
		_ = cmd.Run() // its exit code says it
		if cmd.ProcessState.ExitCode() != test.code || !strings.Contains(out.String(), test.says) || !strings.Contains(errs.String(), test.errs) || (test.code != 0) != (out.Len() == 0) {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q; want %d, %q, %q", test.args, cmd.ProcessState.ExitCode(), &out, &errs, test.code, test.says, test.errs)
		}
	}
}
