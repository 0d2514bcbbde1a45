package terminal_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell/internal/terminal"
)

func TestWidth(t *testing.T) {
	for text, want := range map[string]int{"": 0, "abc": 3, "é": 1, "e\u0301": 1, "注文": 4, "✓ a": 3, "🚀": 2, "ＡＢ": 4} {
		if got := terminal.Width(text); got != want {
			t.Errorf("%q: got %d columns, want %d", text, got, want)
		}
	}
}

func TestClip(t *testing.T) {
	for _, test := range []struct {
		text    string
		columns int
		want    string
	}{
		{"disk full", 9, "disk full"},
		{"disk full", 8, "disk fu…"},
		{"disk full", 6, "disk…"},
		{"注文番号", 8, "注文番号"},
		{"注文番号", 7, "注文番…"},
		{"注文番号", 6, "注文…"}, // half a character is none
		{"ab", 1, "…"},
	} {
		if got := terminal.Clip(test.text, test.columns); got != test.want {
			t.Errorf("%q in %d columns: got %q, want %q", test.text, test.columns, got, test.want)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, test := range []struct {
		text    string
		columns int
		want    []string
	}{
		{"", 5, []string{""}},
		{"one two", 7, []string{"one two"}},
		{"one two", 6, []string{"one", "two"}},
		{"one   two three", 9, []string{"one   two", "three"}},
		{"a verylongword b", 4, []string{"a", "verylongword", "b"}},
		{"verylongword", 4, []string{"verylongword"}},
		{"注文 番号", 5, []string{"注文", "番号"}},
	} {
		if diff := cmp.Diff(test.want, terminal.Wrap(test.text, test.columns)); diff != "" {
			t.Errorf("%q in %d columns: -want +got:\n%s", test.text, test.columns, diff)
		}
	}
}
