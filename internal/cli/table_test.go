package cli

import (
	"strings"
	"testing"

	"github.com/stepwell/stepwell/internal/terminal"
)

func TestColumns(t *testing.T) {
	for _, test := range []struct {
		terminal bool
		width    int
		env      string
		want     int
	}{{true, 100, "", 100}, {true, 100, "80", 80}, {true, 100, "wide", 100}, {true, 0, "", 0}, {false, 100, "80", 0}} {
		sh := &shell{terminal: test.terminal, ask: func() (int, int) { return test.width, 0 }, getenv: func(string) string { return test.env }}
		if got := columns(sh); got != test.want {
			t.Errorf("%+v: got %d", test, got)
		}
	}
}

// TestListsFitIn60Columns: no line of a list is wider than a narrow terminal, on which it would be broken.
func TestListsFitIn60Columns(t *testing.T) {
	path := fixture(t)
	for _, args := range []string{
		"runs list", "runs list --status blocked", "hooks list", "workers", "workflows", "workflows order", "failures", "queues list", "schedules list", "topics list",
		"limits list",
	} {
		env := map[string]string{"STEPWELL_DB": path, "NO_COLOR": "1", "COLUMNS": "60"}
		code, out, errs := call{terminal: true, env: env}.do(t.Context(), strings.Fields(args)...)
		if code != exitOK {
			t.Errorf("%s: exit code %d, %s", args, code, errs)
		}
		for line := range strings.Lines(out) {
			if n := terminal.Width(strings.TrimSuffix(line, "\n")); n > 60 {
				t.Errorf("%s: %d columns: %s", args, n, line)
			}
		}
	}
}
