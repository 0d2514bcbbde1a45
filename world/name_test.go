package world

// Tests of names and their limits.

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCheckNames(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	step := func(s string) error { return CheckName("step", s) }
	key := func(s string) error { return CheckKey("token", s) }
	for _, test := range []struct {
		what  string
		check func(string) error
		good  []string
		bad   []string
	}{
		{"workflow", CheckWorkflowName, []string{"a", "Order.v2_x-9", x(128), "."}, []string{"", x(129), "a b", "a/b", "é", "a\x00", "a\n", "a:b", "\xff"}},
		{"run", CheckRunID, []string{"a", "order:7@shop~x_y-z.1", x(128), "..."}, []string{"", x(129), ".", "..", "a/b", "a b", "é", "a?b", "a#b", "a%b", "\xff"}},
		{"name", step, []string{"a", "charge the card", "žluť 火", x(256), "\uFFFD", "a/b[1]"}, []string{"", x(257), "a\n", "a\tb", "\x00", "\u200b", "\u00a0", "a\xff", strings.Repeat("é", 129), "\u202e"}},
		{"key", key, []string{"a", x(512), "é"}, []string{"", x(513), "a\r", "\xc3"}},
	} {
		for _, s := range test.good {
			if err := test.check(s); err != nil {
				t.Errorf("%s %q: got %v, want it accepted", test.what, s, err)
			}
		}
		for _, s := range test.bad {
			err := test.check(s)
			if !errors.Is(err, ErrInvalid) {
				t.Errorf("%s %q: got %v, want ErrInvalid", test.what, s, err)
				continue
			}
			if msg := err.Error(); !utf8.ValidString(msg) || len(msg) > 300 || strings.ContainsAny(msg, "\n\x00") {
				t.Errorf("%s %q: got message %q, want a short, printable one", test.what, s, msg)
			}
		}
	}
}

// TestCheckNameMessage: a person reads what is wrong with which name.
func TestCheckNameMessage(t *testing.T) {
	got := CheckName("step", "a\tb").Error()
	if want := `invalid: step "a\tb": '\t' is not printable: want letters, digits, signs and spaces, and no line ends or controls`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	got = CheckName("step", strings.Repeat("x", 39)+strings.Repeat("é", 200)).Error()
	if want := `invalid: step "` + strings.Repeat("x", 39) + `"…: must have 1 to 256 bytes, has 439`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
