package keyring

// This file holds keys, and reads them from text. No error and no printed value shows one.

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/stepwell/stepwell/world"
)

// Bounds of rings.
const (
	maxKeys = 1000
	maxText = 1 << 20
)

// Key is one key of a [Ring]: an ID, which is stored with encrypted data, and 32 secret bytes.
// Printed, it shows only its ID.
type Key struct {
	ID     string // 1 to 64 characters of [A-Za-z0-9_.-], stored with each payload; not secret
	Secret [32]byte
}

// String shows only the ID.
func (k Key) String() string { return "key " + k.ID }

// Format shows only the ID, with any verb.
func (k Key) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, k.String()) }

// LogValue shows only the ID, in logs.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.String()) }

// MarshalJSON returns an error, because JSON would contain the secret. See [Key.Text].
func (k Key) MarshalJSON() ([]byte, error) {
	return nil, fmt.Errorf("%w: the encryption %s is not written as JSON: its Text is the secret", world.ErrInvalid, k)
}

// Text returns the key as [Parse] reads it. It contains the secret.
func (k Key) Text() string { return k.ID + ":" + base64.StdEncoding.EncodeToString(k.Secret[:]) }

// NewKey makes a random key. [Parse] reads its Text.
func NewKey(id string) (Key, error) {
	k := Key{ID: id}
	if err := world.CheckKeyID(id); err != nil {
		return k, err
	}
	_, err := rand.Read(k.Secret[:])
	return k, err
}

// parseKey reads one key. Its errors say nothing of what they found: it may be a secret.
func parseKey(word string) (Key, error) {
	id, secret, ok := strings.Cut(word, ":")
	if !ok {
		return Key{}, fmt.Errorf("%w: want ID:BASE64", world.ErrInvalid)
	}
	k := Key{ID: id}
	if world.CheckKeyID(id) != nil {
		return Key{}, fmt.Errorf("%w: the part before the colon is not a key ID: want 1 to 64 characters of [A-Za-z0-9_.-]", world.ErrInvalid)
	}
	b, err := base64.StdEncoding.Strict().DecodeString(secret)
	if err != nil {
		b, err = base64.RawURLEncoding.Strict().DecodeString(strings.TrimRight(secret, "="))
	}
	if err != nil || len(b) != len(k.Secret) {
		return Key{}, fmt.Errorf("%w: key %q: want the base64 of %d bytes behind the colon", world.ErrInvalid, id, len(k.Secret))
	}
	copy(k.Secret[:], b)
	return k, nil
}
