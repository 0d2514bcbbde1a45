package keyring_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell/keyring"
	"github.com/stepwell/stepwell/world"
)

func TestRing(t *testing.T) {
	k, err := keyring.NewKey("2026-11")
	if err != nil {
		t.Fatal(err)
	}
	old, err := keyring.NewKey("old")
	if err != nil {
		t.Fatal(err)
	}
	r, err := keyring.Parse(fmt.Sprintf("# of this year\n%s # new runs\n\n,%s\n", k.Text(), old.Text()))
	if err != nil {
		t.Fatal(err)
	}
	if got := r.IDs(); r.Primary() != "2026-11" || !cmp.Equal(got, []string{"2026-11", "old"}) || !r.Has("old") || r.Has("other") {
		t.Errorf("got keys %q, primary %q", got, r.Primary())
	}
	text, err := json.Marshal(map[string]any{"ring": r})
	if err != nil {
		t.Errorf("a keyring as JSON: %v", err)
	}
	if _, err := json.Marshal(k); !errors.Is(err, world.ErrInvalid) {
		t.Errorf("a key as JSON: got %v, want it refused", err)
	}
	var logged bytes.Buffer
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("keys", "key", k, "ring", r, "within", []any{k, r}, "config", struct{ Key keyring.Key }{k})
	slog.New(slog.NewTextHandler(&logged, nil)).Info("keys", "key", k, "ring", r, "within", []any{k, r}, "config", struct{ Key keyring.Key }{k})
	shown := []string{string(text), logged.String()}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "% x", "%X", "%d", "%b", "%o", "%c", "%U", "%08.3f", "%t"} {
		config := struct{ Key keyring.Key }{k}
		shown = append(shown, fmt.Sprintf(verb+verb+verb+verb+verb, k, &k, r, config, []any{k, r}))
	}
	for _, shown := range shown {
		found := strings.Contains(shown, k.Text()[8:20])
		for _, form := range []string{"%d", "%x", "% x", "%X", "%b", "%o", "%c", "%U", "%#v"} {
			found = found || strings.Contains(shown, strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf(form, k.Secret[:4]), "["), "]"))
		}
		if found {
			t.Errorf("a printed key shows itself: %s", shown)
		}
	}
}

// TestParseRefuses: what is wrong is said with the number of the key, and with nothing of it.
func TestParseRefuses(t *testing.T) {
	good := "k:" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32))
	hidden := "c2VjcmV0c2VjcmV0"
	for name, test := range map[string]struct{ text, want string }{
		"nothing":      {" # only a comment\n", "no encryption keys"},
		"no ID":        {hidden, "encryption key 1: invalid: want ID:BASE64"},
		"an empty ID":  {":" + hidden, "not a key ID"},
		"a bad ID":     {"a/" + hidden + ":x", "not a key ID"},
		"no base64":    {"k:%%%" + hidden, `key "k": want the base64 of 32 bytes`},
		"too short":    {good + ",k2:" + hidden, `encryption key 2: invalid: key "k2": want the base64 of 32 bytes`},
		"twice":        {good + " " + good, `"k" is there twice`},
		"zeros":        {"k:" + strings.Repeat("A", 43) + "=", "all zeros"},
		"a long ID":    {strings.Repeat("k", 65) + ":" + hidden, "not a key ID"},
		"a large file": {strings.Repeat("#\n", 1<<20), "more than"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := keyring.Parse(test.text)
			if !errors.Is(err, world.ErrInvalid) || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), hidden) {
				t.Errorf("got %v, want %q and no secret in it", err, test.want)
			}
		})
	}
}
