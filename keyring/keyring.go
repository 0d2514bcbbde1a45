// Package keyring has the keys that encrypt payloads at rest: see stepwell.Config.Encryption. It
// makes keys, and reads them from text, a file or the environment. docs/encryption.md says what is
// encrypted.
//
//	ring, err := keyring.Read("/run/secrets/stepwell-keys")
//	app, err := stepwell.New(w, stepwell.Config{Definitions: defs, Encryption: ring})
package keyring

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/stepwell/stepwell/world"
)

// Ring is a list of keys. New runs, children and forks use the first key. A run keeps its key, so
// older keys serve older runs. To rotate, put a new key first, and keep an old one until no kept
// run uses it: see Encryption of stepwell.RunInfo, and the command stepwell keys check.
//
// Without a run's key, a worker leaves the run blocked with the code NO_KEY; a worker with the key
// continues it. Clients need the keys too. A Ring is immutable and safe for concurrent use.
// Printed, it shows only the IDs of its keys.
type Ring struct {
	ids  []string
	keys map[string]Key
}

// New makes a ring of keys. The error is [world.ErrInvalid] for an invalid or repeated ID, and for
// a key of zeros.
func New(first Key, others ...Key) (*Ring, error) {
	r := &Ring{keys: map[string]Key{}}
	if len(others) >= maxKeys {
		return nil, fmt.Errorf("%w: %d encryption keys: at most %d", world.ErrInvalid, len(others)+1, maxKeys)
	}
	for i, k := range append([]Key{first}, others...) {
		if err := world.CheckKeyID(k.ID); err != nil {
			return nil, fmt.Errorf("key %d: %w", i+1, err)
		}
		if k.Secret == [32]byte{} {
			return nil, fmt.Errorf("%w: encryption key %q is all zeros", world.ErrInvalid, k.ID)
		}
		if _, exists := r.keys[k.ID]; exists {
			return nil, fmt.Errorf("%w: encryption key %q is there twice", world.ErrInvalid, k.ID)
		}
		r.ids, r.keys[k.ID] = append(r.ids, k.ID), k
	}
	return r, nil
}

// Parse reads keys from text. Each key is ID:BASE64, with 32 bytes. Commas or white space separate
// keys, and # begins a comment. The error is [world.ErrInvalid], and shows nothing of a key.
func Parse(text string) (*Ring, error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("%w: encryption keys: more than %d bytes", world.ErrInvalid, maxText)
	}
	var keys []Key
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		for word := range strings.FieldsFuncSeq(line, func(c rune) bool { return c == ',' || c == ' ' || c == '\t' || c == '\r' || c == '\n' }) {
			k, err := parseKey(word)
			if err != nil {
				return nil, fmt.Errorf("encryption key %d: %w", len(keys)+1, err)
			}
			keys = append(keys, k)
		}
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%w: no encryption keys: want ID:BASE64", world.ErrInvalid)
	}
	return New(keys[0], keys[1:]...)
}

// Read reads keys from a file, as [Parse] does.
func Read(path string) (*Ring, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("encryption keys: %w", err)
	}
	defer func() { _ = f.Close() }() // it was read
	text, err := io.ReadAll(io.LimitReader(f, maxText+1))
	if err != nil {
		return nil, fmt.Errorf("%s: read encryption keys: %w", path, err)
	}
	r, err := Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// The environment variables of [FromEnv].
const (
	keysVariable    = "STEPWELL_ENCRYPTION_KEYS"
	keyFileVariable = "STEPWELL_ENCRYPTION_KEY_FILE"
)

// FromEnv reads the keys in the environment variable STEPWELL_ENCRYPTION_KEYS, or else in the file
// that STEPWELL_ENCRYPTION_KEY_FILE names. getenv is usually os.Getenv. If neither is set, the ring
// is nil, which encrypts nothing. stepwell.New calls FromEnv if Config.Encryption is nil.
func FromEnv(getenv func(string) string) (*Ring, error) {
	if getenv == nil {
		return nil, fmt.Errorf("%w: keyring: getenv is nil", world.ErrInvalid)
	}
	if text := getenv(keysVariable); strings.TrimSpace(text) != "" {
		r, err := Parse(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", keysVariable, err)
		}
		return r, nil
	}
	if path := getenv(keyFileVariable); path != "" {
		r, err := Read(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", keyFileVariable, err)
		}
		return r, nil
	}
	return nil, nil
}

// Primary returns the ID of the first key, which new runs use.
func (r *Ring) Primary() string { return r.ids[0] }

// IDs returns the IDs of all keys, the first key first.
func (r *Ring) IDs() []string { return slices.Clone(r.ids) }

// Has reports whether the ring has the key with an ID.
func (r *Ring) Has(id string) bool {
	_, ok := r.keys[id]
	return ok
}

// Key returns the key with an ID.
func (r *Ring) Key(id string) (Key, bool) {
	k, ok := r.keys[id]
	return k, ok
}

// String shows only the IDs of the keys.
func (r *Ring) String() string { return "keys " + strings.Join(r.ids, ", ") }

// Format shows only the IDs, with any verb.
func (r *Ring) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, r.String()) }

// LogValue shows only the IDs, in logs.
func (r *Ring) LogValue() slog.Value { return slog.StringValue(r.String()) }
