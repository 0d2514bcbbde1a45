package world

// This file binds the IDs of encryption keys to the keys that they stand for.

import (
	"context"
	"fmt"
)

// KeyBook records a fingerprint for the ID of each encryption key, so that a different key with the
// same ID is refused, by each World on the storage.
type KeyBook interface {
	// BindKey returns the fingerprint that an ID is bound to; nil: none. With a print it binds an
	// unbound ID; the first binding stays. A fingerprint has 1 to 64 bytes, and reveals nothing of
	// its key.
	BindKey(ctx context.Context, id string, print []byte) (bound []byte, err error)
}

// Limits of key IDs and fingerprints, in bytes.
const (
	MaxKeyID    = 64
	MaxKeyPrint = 64
)

// CheckBinding returns [ErrInvalid] for an invalid ID or fingerprint.
func CheckBinding(id string, print []byte) error {
	if id == "" || len(id) > MaxKeyID || len(print) > MaxKeyPrint {
		return fmt.Errorf("%w: an encryption key ID of %d bytes and a fingerprint of %d: want 1 to %d, and %d at most", ErrInvalid, len(id), len(print), MaxKeyID, MaxKeyPrint)
	}
	return CheckKey("encryption key ID:", id)
}
