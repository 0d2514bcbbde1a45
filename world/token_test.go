package world

import (
	"strings"
	"testing"
)

// TestForkToken: what the code asked for can be told from a fork's token, unless it is too long; a token is never too long itself.
func TestForkToken(t *testing.T) {
	const letters = "abcdefghijklmnopqrstuvwxyz"
	for _, asked := range []string{"a", "a~b", "desk~0123456789", strings.Repeat("x", MaxKey-forkMark-1), strings.Repeat("x", MaxKey-forkMark)} {
		token := ForkToken(asked, letters)
		if err := CheckKey("hook token", token); err != nil || token == asked {
			t.Errorf("of %q: %q, %v", asked, token, err)
		}
		got, ok := AskedToken(token)
		if want := len(asked)+1+forkMark <= MaxKey; ok != want || ok && got != asked {
			t.Errorf("of %q: %q told %q, %t; want it told: %t", asked, token, got, ok, want)
		}
	}
}
