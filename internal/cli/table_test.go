package cli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell/internal/terminal"
)

func TestTable(t *testing.T) {
	long := "card declined by the bank of the customer, who has to be asked"
	for _, test := range []struct {
		name    string
		columns int
		t       table
		rows    [][]cell
		want    string
	}{
		{"nothing is cut in a pipe", 0, table{gap: "  "}, [][]cell{{{text: "a"}, {text: long}}}, "a  " + long},
		{"cut", 50, table{gap: "  "}, [][]cell{{{text: "a"}, {text: long}}}, "a  card declined by the bank of the customer, who…"},
		{"wrapped", 40, table{gap: "  ", wrap: true}, [][]cell{{{text: "a"}, {text: long}}},
			"a  card declined by the bank of the\n   customer, who has to be asked"},
		{"below", 32, table{gap: "  "}, [][]cell{{{text: "order"}, {text: "failed"}, {text: long}}, {{text: "b"}, {text: "done"}}},
			"order  failed\n    card declined by the bank o…\nb      done"},
		{"dear columns go where all is too wide", 14, table{gap: "  ", spare: []int{2}, dear: []int{1}},
			[][]cell{{{text: "abcdefgh"}, {text: "12345"}, {text: "6"}, {text: "x"}}}, "abcdefgh  x"},
		{"spare columns go first", 45, table{gap: "  ", spare: []int{2, 1}},
			[][]cell{{{text: "a"}, {text: "12345"}, {text: "67890"}, {text: long}}}, "a  card declined by the bank of the customer…"},
		{"comments stay comments", 40, table{gap: "  ", wrap: true, lead: "# "}, [][]cell{{{text: "a"}, {text: "# " + long}}},
			"a  # card declined by the bank of the\n   # customer, who has to be asked"},
		{"commands are not cut", 12, table{gap: "  "}, [][]cell{{{text: "a"}, {text: "stepwell runs show", whole: true}}}, "a  stepwell runs show"},
		{"wide characters", 0, table{gap: "  "}, [][]cell{{{text: "注文"}, {text: "x"}}, {{text: "abcd"}, {text: "y"}}}, "注文  x\nabcd  y"},
		{"numbers", 0, table{gap: "  "}, [][]cell{{{text: "a"}, {text: "1", right: true}}, {{text: "b"}, {text: "22", right: true}}}, "a   1\nb  22"},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, row := range test.rows {
				test.t.add(row...)
			}
			var b strings.Builder
			test.t.write(&b, style{columns: test.columns})
			if diff := cmp.Diff(test.want+"\n", b.String()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

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
