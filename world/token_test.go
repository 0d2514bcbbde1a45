package world

import (
	"errors"
	"strings"
	"testing"
)

// TestForkToken: what the code asked for can be told from a fork's token, unless it is too long; a token is never too long itself.
func TestForkToken(t *testing.T) {
	const letters = "abcdefghijklmnopqrstuvwxyz"
	for _, asked := range []string{"a", "a~b", "desk~0123456789", strings.Repeat("x", MaxKey-forkMark-1), strings.Repeat("x", MaxKey-forkMark)} {
		token := ForkToken(asked, letters)
		if err := CheckToken(token); err != nil || token == asked {
			t.Errorf("of %q: %q, %v", asked, token, err)
		}
		got, ok := AskedToken(token)
		if want := len(asked)+1+forkMark <= MaxKey; ok != want || ok && got != asked {
			t.Errorf("of %q: %q told %q, %t; want it told: %t", asked, token, got, ok, want)
		}
	}
}

// TestShownToken: what errors show of a token does not let their reader send.
func TestShownToken(t *testing.T) {
	for token, want := range map[string]string{
		"": "", "abcdefgh": "…", "abcdefghi": "abcd…", "wh_0123456789": "wh_0…", "äöüß": "…", "äöüßéèêëñ": "äöüß…", "\xff\xfe3456789": "\xff\xfe34…",
	} {
		if got := ShownToken(token); got != want {
			t.Errorf("of %q: %q, want %q", token, got, want)
		}
	}
	const token = "0123456789abcdefghijklmnop"
	for _, bad := range []string{token + "\n", token + "\xff", strings.Repeat(token, 30)} {
		if err := CheckToken(bad); !errors.Is(err, ErrInvalid) || strings.Contains(err.Error(), token[:5]) {
			t.Errorf("of %q: %v", bad, err)
		}
	}
}
