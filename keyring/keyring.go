// Package keyring has the keys that payloads are encrypted with at rest, for stepwell.Config.Encryption: made, and read
// from text, a file or the environment. What is encrypted, and what is not, docs/encryption.md says.
//
//	ring, err := keyring.Read("/run/secrets/stepwell-keys")
//	app, err := stepwell.New(w, stepwell.Config{Definitions: defs, Encryption: ring})
package keyring

import (
	"fmt"
	"os"
	"strings"

	"github.com/stepwell/stepwell/internal/crypt"
	"github.com/stepwell/stepwell/world"
)

// Ring holds keys. The first is that of new runs; the others are there for runs that were started under them. A run
// keeps the key that it was started with, children and forks get the first. To rotate, put a new key first and keep the
// old ones until no run that is kept has them: see Encryption of stepwell.RunInfo, and stepwell keys check.
//
// A worker that lacks a run's key leaves the run as it is, blocked with the reason NO_KEY, and it goes on where the key
// is there; who starts, signals and reads needs the keys too. A Ring does not change, and is safe for concurrent use;
// printed, it names its keys and shows none.
type Ring = crypt.Keyring

// Key is one key of a [Ring]: an ID, which is kept with what is encrypted, and 32 secret bytes. Printed, it shows its
// ID alone.
type Key = crypt.Key

// NewKey makes a random key. Its Text is what [Parse] reads.
func NewKey(id string) (Key, error) { return crypt.NewKey(id) }

// New makes a ring of keys. Bad and repeated IDs are [world.ErrInvalid], and so is a key of zeros.
func New(first Key, others ...Key) (*Ring, error) { return crypt.NewKeyring(first, others...) }

// Parse reads keys from text: each is ID:BASE64 with 32 bytes; commas or white space separate them, and # begins a
// comment. Errors are [world.ErrInvalid], and show nothing of a key.
func Parse(text string) (*Ring, error) { return crypt.Parse(text) }

// Read reads keys from a file, as [Parse] does.
func Read(path string) (*Ring, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("encryption keys: %w", err)
	}
	defer func() { _ = f.Close() }() // it was read
	r, err := crypt.Read(f)
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

// FromEnv reads the keys that the environment variable STEPWELL_ENCRYPTION_KEYS holds, or else those of the file that
// STEPWELL_ENCRYPTION_KEY_FILE names; getenv is os.Getenv, say. Without either it is nil, which encrypts nothing.
// stepwell.New does the same where Config.Encryption is nil.
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
