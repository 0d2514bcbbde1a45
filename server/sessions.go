package server

// This file makes the sessions of the web UI: each server with the same API keys knows them, also after a restart.

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"slices"
	"time"
)

// A session is the secret of its key and when it ends, encrypted with what the server has of the key, its hash. Who has
// the hash alone can make none, as the secret is not in it; who has the session alone cannot read it. It ends with its
// time, and with the key.

// sessionSeal encrypts sessions of a key.
func (k *Key) sessionSeal() (cipher.AEAD, error) {
	derived, err := hkdf.Key(sha256.New, k.hash[:], nil, "stepwell session 1", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// session makes a session of the key that has a secret; "": none has it.
func (e *entry) session(secret string, until time.Time) (string, error) {
	key := e.keyOf(secret)
	if key == nil {
		return "", nil
	}
	seal, err := key.sessionSeal()
	if err != nil {
		return "", err
	}
	text := append(binary.BigEndian.AppendUint64(nil, uint64(until.Unix())), secret...)
	return base64.RawURLEncoding.EncodeToString(seal.Seal(nil, nil, text, nil)), nil
}

// mostSession is how long a session may be: with the longest secret.
const mostSession = 1 << 10

// visitor finds the key of a session that is not over.
func (e *entry) visitor(session string, now time.Time) *Key {
	if len(session) > mostSession {
		return nil
	}
	sealed, err := base64.RawURLEncoding.DecodeString(session)
	if err != nil {
		return nil
	}
	for i := range e.opts.Keys {
		key := &e.opts.Keys[i]
		seal, err := key.sessionSeal()
		if err != nil {
			return nil
		}
		text, err := seal.Open(nil, nil, sealed, nil)
		if err != nil || len(text) < 8 {
			continue
		}
		until, hash := binary.BigEndian.Uint64(text), sha256.Sum256(text[8:])
		if subtle.ConstantTimeCompare(hash[:], key.hash[:]) == 1 && uint64(now.Unix()) < until {
			return key
		}
	}
	return nil
}

// formSecret signs the tokens of forms; nil: there are no keys, and no sessions either.
func (e *entry) formSecret() []byte {
	if len(e.opts.Keys) == 0 {
		return nil
	}
	hashes := make([][]byte, len(e.opts.Keys))
	for i := range e.opts.Keys {
		hashes[i] = e.opts.Keys[i].hash[:]
	}
	slices.SortFunc(hashes, func(a, b []byte) int { return slices.Compare(a, b) }) // whatever order they are given in
	secret, err := hkdf.Key(sha256.New, slices.Concat(hashes...), nil, "stepwell forms 1", 32)
	if err != nil {
		return nil
	}
	return secret
}
