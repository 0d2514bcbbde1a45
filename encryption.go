package stepwell

// This file holds the keys that payloads are encrypted with.

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/stepwell/stepwell/internal/crypt"
	"github.com/stepwell/stepwell/world"
)

// Keyring holds the keys that payloads are encrypted with at rest, for [Config].Encryption. The first is that of new runs; the others are there for runs
// that were started under them. A run keeps the key that it was started with, children and forks get the first. To rotate, put a new key first and keep the old ones until no
// run that is kept has them: see [RunInfo].Encryption, and stepwell keys check.
//
// A worker that lacks a run's key leaves the run as it is, blocked with the reason NO_KEY, and it goes on where the key is there; who starts, signals and reads
// needs the keys too. What is encrypted, and what is not, docs/encryption.md says. A Keyring does not change, and is safe for concurrent use; printed, it names its
// keys and shows none.
type Keyring = crypt.Keyring

// EncryptionKey is one key of a [Keyring]: an ID, which is kept with what is encrypted, and 32 secret bytes. Printed, it shows its ID alone.
type EncryptionKey = crypt.Key

// NewEncryptionKey makes a random key. Its Text is what [ParseKeyring] reads.
func NewEncryptionKey(id string) (EncryptionKey, error) { return crypt.NewKey(id) }

// NewKeyring makes a keyring of keys. Bad and repeated IDs are [ErrInvalid], and so is a key of zeros.
func NewKeyring(first EncryptionKey, others ...EncryptionKey) (*Keyring, error) {
	return crypt.NewKeyring(first, others...)
}

// ParseKeyring reads keys from text: each is ID:BASE64 with 32 bytes; commas or white space separate them, and # begins a comment. Errors are [ErrInvalid], and
// show nothing of a key.
func ParseKeyring(text string) (*Keyring, error) { return crypt.Parse(text) }

// ReadKeyring reads keys from a file, as [ParseKeyring] does.
func ReadKeyring(path string) (*Keyring, error) {
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

// legible is a row as people read it: the message of a block that cannot be decrypted says so.
func legible(row world.Run) world.Run {
	if row.Queue != nil && row.Queue.Blocked != nil && row.Queue.Blocked.Sealed != "" {
		queue, block := *row.Queue, *row.Queue.Blocked
		block.Message = fmt.Sprintf("what is wrong is encrypted with the key %q, which is not here", block.Sealed)
		queue.Blocked, row.Queue = &block, &queue
	}
	return row
}

// readableStream refuses chunks that only look like text, as they are encrypted with a key that is not here.
func (a *App) readableStream(ctx context.Context, run string, chunks []world.Chunk) error {
	if a.able.Decrypter != nil || len(chunks) == 0 { // a world with keys refuses by itself
		return nil
	}
	sealed := func(c world.Chunk) bool {
		return crypt.LooksSealed(c.Value) || c.Error != nil && crypt.LooksSealed(c.Error.Value)
	}
	if !slices.ContainsFunc(chunks, sealed) {
		return nil
	}
	row, err := a.world.Run(ctx, run)
	if err == nil && row.Encryption != "" {
		err = &world.KeyError{Run: run, Key: row.Encryption}
	}
	return err
}

// The environment variables of [KeyringFromEnv].
const (
	keysVariable    = "STEPWELL_ENCRYPTION_KEYS"
	keyFileVariable = "STEPWELL_ENCRYPTION_KEY_FILE"
)

// KeyringFromEnv reads the keys that the environment variable STEPWELL_ENCRYPTION_KEYS holds, or else those of the file that STEPWELL_ENCRYPTION_KEY_FILE
// names; getenv is os.Getenv, say. Without either it is nil, which encrypts nothing. [New] does the same where [Config].Encryption is nil.
func KeyringFromEnv(getenv func(string) string) (*Keyring, error) {
	if getenv == nil {
		return nil, missing("keyring: getenv")
	}
	if text := getenv(keysVariable); strings.TrimSpace(text) != "" {
		r, err := ParseKeyring(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", keysVariable, err)
		}
		return r, nil
	}
	if path := getenv(keyFileVariable); path != "" {
		r, err := ReadKeyring(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", keyFileVariable, err)
		}
		return r, nil
	}
	return nil, nil
}
