package crypt

// This file derives the keys of runs from those of a ring.

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"sync"

	"github.com/stepwell/stepwell/keyring"
	"github.com/stepwell/stepwell/world"
)

// Keyring encrypts with the keys of a ring. It is safe for concurrent use.
type Keyring struct {
	*keyring.Ring

	mu         sync.Mutex
	young, old map[runKey]cipher.AEAD // guarded by mu
}

// Of is the Keyring of a ring; nil for nil.
func Of(ring *keyring.Ring) *Keyring {
	if ring == nil {
		return nil
	}
	return &Keyring{Ring: ring}
}

type runKey struct{ key, run string }

// maxDerived is how many ciphers of runs are kept at hand, twice.
const maxDerived = 8192

// cipher is that of a run under a key; nil where the key is not there.
func (r *Keyring) cipher(key, run string) (cipher.AEAD, error) {
	master, ok := r.Key(key)
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
	derived, err := hkdf.Key(sha256.New, master.Secret[:], nil, "stepwell payload 1\x00"+run, len(master.Secret))
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
	master, ok := r.Key(key)
	if !ok {
		return nil, &world.KeyError{Run: run, Key: key}
	}
	derived, err := hkdf.Key(sha256.New, master.Secret[:], nil, "stepwell fingerprint 1\x00"+run, len(master.Secret))
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
