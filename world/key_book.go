package world

// This file binds the IDs of encryption keys to the keys that they stand for.

import (
	"context"
	"fmt"
)

// KeyBook is a [World] that remembers which key an ID stands for, by a fingerprint, so that another key under the same ID is refused where it enters.
type KeyBook interface {
	// BindKey returns the fingerprint that an ID is bound to; nil: it is bound to none. With a print it binds an ID that is not: who binds it first stands. A
	// fingerprint has 1 to 64 bytes, and says nothing of its key.
	BindKey(ctx context.Context, id string, print []byte) (bound []byte, err error)
}

// Bounds of what is bound.
const (
	MaxKeyID    = 64
	MaxKeyPrint = 64
)

// CheckBinding refuses, with [ErrInvalid], what no world binds.
func CheckBinding(id string, print []byte) error {
	if id == "" || len(id) > MaxKeyID || len(print) > MaxKeyPrint {
		return fmt.Errorf("%w: an encryption key ID of %d bytes and a fingerprint of %d: want 1 to %d, and %d at most", ErrInvalid, len(id), len(print), MaxKeyID, MaxKeyPrint)
	}
	return CheckKey("encryption key ID:", id)
}
