package cli

// Runs that leave their database and come to another.

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
)

func TestExportAndImport(t *testing.T) {
	path, copied := fixture(t), filepath.Join(t.TempDir(), "copy.db")
	code, text, errs := call{}.do(context.Background(), "export", waitingRun, "wrun_01JD4A", "--db", path)
	if code != exitOK || errs != "" || strings.Count(text, `{"history":1`) != 2 {
		t.Fatalf("exit code %d, stderr %q, stdout %q; want two histories", code, errs, text)
	}
	for _, step := range []struct {
		stdin string
		args  string
		code  int
		out   string // in stdout
		err   string // in stderr
	}{
		{text, "import", exitOK, "imported run " + waitingRun + ", 16 events, running; it is paused:  stepwell runs resume " + waitingRun, ""},
		{text, "import -", exitExists, "", "see it:  stepwell runs show " + waitingRun},
		{"", "runs show " + waitingRun, exitOK, "paused by ann@laptop", ""},
		{"", "runs show " + failedRun, exitOK, "failed", ""},
		{text[:len(text)/4], "import", exitUsage, "", "history, line "},
		{"", "import", exitUsage, "", "the file contains no runs"},
		{"", "import " + filepath.Join(t.TempDir(), "none"), exitUsage, "", "none"},
		{"", "export wrun_none", exitNotFound, "", "there is no run"},
		{"", "export", exitUsage, "", "export: missing argument"},
	} {
		code, out, errs := call{stdin: step.stdin}.do(context.Background(), append(strings.Fields(step.args), "--db", copied)...)
		if code != step.code || !strings.Contains(out, step.out) || !strings.Contains(errs, step.err) {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q; want %d, %q and %q", step.args, code, out, errs, step.code, step.out, step.err)
		}
	}
	// What was exported, imported and exported again is the same log, but for the pause.
	_, again, _ := call{}.do(context.Background(), "export", failedRun, "--db", copied)
	_, want, _ := call{}.do(context.Background(), "export", failedRun, "--db", path)
	events := func(s string) string {
		_, rest, _ := strings.Cut(s, "\n")
		_, rest, _ = strings.Cut(rest, "\n")
		return rest
	} // without head and birth
	if events(again) != events(want) {
		t.Errorf("exported again:\n%s\nwant\n%s", again, want)
	}
}
