package crypt

// This file holds keys, and reads them from text. No error and no printed value shows one.

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/stepwell/stepwell/world"
)

// KeySize is how many bytes a key has.
const KeySize = 32

// Bounds of keyrings.
const (
	maxKeyID = 64
	maxKeys  = 1000
	maxText  = 1 << 20
)

// Key is a master key with its name.
type Key struct {
	ID     string // 1 to 64 characters of [A-Za-z0-9_.-]; it is kept with what is encrypted, so it is no secret
	Secret [KeySize]byte
}

// String names the key, and shows no more.
func (k Key) String() string { return "key " + k.ID }

// Format shows the same, whatever the verb.
func (k Key) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, k.String()) }

// LogValue is the same, for logs.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.String()) }

// MarshalJSON refuses: what is printed as JSON would be the secret. See [Key.Text].
func (k Key) MarshalJSON() ([]byte, error) {
	return nil, fmt.Errorf("%w: the encryption %s is not written as JSON: its Text is the secret", world.ErrInvalid, k)
}

// Text is the key as [Parse] reads it. It is the secret.
func (k Key) Text() string { return k.ID + ":" + base64.StdEncoding.EncodeToString(k.Secret[:]) }

// NewKey makes a random key.
func NewKey(id string) (Key, error) {
	k := Key{ID: id}
	if err := checkKeyID(id); err != nil {
		return k, err
	}
	_, err := rand.Read(k.Secret[:])
	return k, err
}

// Keyring holds master keys: the first for new runs, the others for those that were begun under them. It does not change, and is safe for concurrent use.
type Keyring struct {
	ids    []string
	master map[string][KeySize]byte

	mu         sync.Mutex
	young, old map[runKey]cipher.AEAD // guarded by mu
}

type runKey struct{ key, run string }

// maxDerived is how many ciphers of runs are kept at hand, twice.
const maxDerived = 8192

// NewKeyring makes a keyring.
func NewKeyring(first Key, others ...Key) (*Keyring, error) {
	r := &Keyring{master: map[string][KeySize]byte{}}
	if len(others) >= maxKeys {
		return nil, fmt.Errorf("%w: %d encryption keys: at most %d", world.ErrInvalid, len(others)+1, maxKeys)
	}
	for i, k := range append([]Key{first}, others...) {
		if err := checkKeyID(k.ID); err != nil {
			return nil, fmt.Errorf("key %d: %w", i+1, err)
		}
		if k.Secret == [KeySize]byte{} {
			return nil, fmt.Errorf("%w: encryption key %q is all zeros", world.ErrInvalid, k.ID)
		}
		if _, exists := r.master[k.ID]; exists {
			return nil, fmt.Errorf("%w: encryption key %q is there twice", world.ErrInvalid, k.ID)
		}
		r.ids, r.master[k.ID] = append(r.ids, k.ID), k.Secret
	}
	return r, nil
}

// Parse reads keys, each as ID:BASE64 with 32 bytes, separated by commas or white space; # begins a comment, to the end of its line. The first is that of new runs.
func Parse(text string) (*Keyring, error) {
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
	return NewKeyring(keys[0], keys[1:]...)
}

// Read is [Parse] of what a reader has.
func Read(from io.Reader) (*Keyring, error) {
	text, err := io.ReadAll(io.LimitReader(from, maxText+1))
	if err != nil {
		return nil, fmt.Errorf("read encryption keys: %w", err)
	}
	return Parse(string(text))
}

// parseKey reads one key. Its errors say nothing of what they found: it may be a secret.
func parseKey(word string) (Key, error) {
	id, secret, ok := strings.Cut(word, ":")
	if !ok {
		return Key{}, fmt.Errorf("%w: want ID:BASE64", world.ErrInvalid)
	}
	k := Key{ID: id}
	if !validKeyID(id) {
		return Key{}, fmt.Errorf("%w: the part before the colon is not a key ID: want 1 to %d characters of [A-Za-z0-9_.-]", world.ErrInvalid, maxKeyID)
	}
	b, err := base64.StdEncoding.Strict().DecodeString(secret)
	if err != nil {
		b, err = base64.RawURLEncoding.Strict().DecodeString(strings.TrimRight(secret, "="))
	}
	if err != nil || len(b) != KeySize {
		return Key{}, fmt.Errorf("%w: key %q: want the base64 of %d bytes behind the colon", world.ErrInvalid, id, KeySize)
	}
	copy(k.Secret[:], b)
	return k, nil
}

func checkKeyID(id string) error {
	if !validKeyID(id) {
		return fmt.Errorf("%w: encryption key ID %.100q: want 1 to %d characters of [A-Za-z0-9_.-]", world.ErrInvalid, id, maxKeyID)
	}
	return nil
}

func validKeyID(id string) bool {
	return id != "" && len(id) <= maxKeyID && !strings.ContainsFunc(id, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '.' || c == '-')
	})
}

// Primary is the ID of the key of new runs.
func (r *Keyring) Primary() string { return r.ids[0] }

// IDs are those of all keys, that of new runs first.
func (r *Keyring) IDs() []string { return slices.Clone(r.ids) }

// Has reports whether a key is there.
func (r *Keyring) Has(id string) bool {
	_, ok := r.master[id]
	return ok
}

// String names the keys, and shows no more.
func (r *Keyring) String() string { return "keys " + strings.Join(r.ids, ", ") }

// Format shows the same, whatever the verb.
func (r *Keyring) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, r.String()) }

// LogValue is the same, for logs.
func (r *Keyring) LogValue() slog.Value { return slog.StringValue(r.String()) }

// cipher is that of a run under a key; nil where the key is not there.
func (r *Keyring) cipher(key, run string) (cipher.AEAD, error) {
	secret, ok := r.master[key]
	if !ok {
		return nil, nil
	}
	k := runKey{key, run}
	r.mu.Lock()
	aead := r.young[k]
	if aead == nil {
		if aead = r.old[k]; aead != nil {
			r.keepLocked(k, aead)
		}
	}
	r.mu.Unlock()
	if aead != nil {
		return aead, nil
	}
	derived, err := hkdf.Key(sha256.New, secret[:], nil, "stepwell payload 1\x00"+run, KeySize)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return nil, err
	}
	if aead, err = cipher.NewGCMWithRandomNonce(block); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keepLocked(k, aead)
	return aead, nil
}

// fingerprint tells payloads of a run from one another, and tells who does not have the key nothing more.
func (r *Keyring) fingerprint(key, run string, of []byte) ([]byte, error) {
	secret, ok := r.master[key]
	if !ok {
		return nil, &world.KeyError{Run: run, Key: key}
	}
	derived, err := hkdf.Key(sha256.New, secret[:], nil, "stepwell fingerprint 1\x00"+run, KeySize)
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, derived)
	mac.Write(of)
	return mac.Sum(nil)[:16], nil
}

// sums makes the hashes by which waits that listen are found, with a key; nil: it is not here.
func (r *Keyring) sums(key string) func(values []byte) int64 {
	if !r.Has(key) {
		return nil
	}
	return func(values []byte) int64 {
		sum, err := r.fingerprint(key, "listen", values)
		if err != nil {
			return 0
		}
		return int64(binary.BigEndian.Uint64(sum))
	}
}

func (r *Keyring) keepLocked(k runKey, aead cipher.AEAD) {
	if len(r.young) >= maxDerived {
		r.old, r.young = r.young, nil
	}
	if r.young == nil {
		r.young = make(map[runKey]cipher.AEAD)
	}
	r.young[k] = aead
}
