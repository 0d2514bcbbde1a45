package crypt

// This file encrypts values that are kept apart, piece by piece, for the run under which they are written: those that
// hold them later are told which that is.
//
//	1 byte   2: encrypted
//	1 byte   n; n bytes: ID of the key
//	1 byte   m; m bytes: the run
//	12 bytes nonce
//	the encrypted piece, and a tag of 16 bytes
//
// The head, the value and the number of the piece are authenticated.

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/stepwell/stepwell/world"
)

const encryptedPiece = 2

// Values are the values of the world below, encrypted.
func (w *World) Values() world.Values { return values{w.World.Values(), w} }

type values struct {
	world.Values
	w *World
}

// KeepPiece encrypts a piece with the key of its run. Of a birth that is the key which the birth gets: what is known of
// a run with the same ID is of one that was deleted.
func (v values) KeepPiece(ctx context.Context, p *world.Piece) (err error) {
	if err := world.CheckPiece(p); err != nil {
		return err
	}
	out := *p
	if out.Key = v.w.ring.Primary(); !p.Birth {
		if out.Key, err = v.w.keyOf(ctx, nil, p.Run, true); errors.Is(err, world.ErrNotFound) {
			err = fmt.Errorf("%w: %w", world.ErrLeaseLost, err) // as the world would say of the commit
		}
	}
	if err == nil && out.Key != "" {
		if err = v.w.vet(ctx, out.Key, p.Birth); err == nil {
			out.Data, err = v.w.ring.encryptPiece(out.Key, p.Run, p.Value, p.Number, p.Data)
		}
	}
	if err != nil {
		return err
	}
	return v.Values.KeepPiece(ctx, &out)
}

// Piece decrypts a piece. Where the key is not there it is refused, with [world.ErrNoKey].
func (v values) Piece(ctx context.Context, run, value string, number int) ([]byte, error) {
	data, err := v.Values.Piece(ctx, run, value, number)
	if err != nil || len(data) == 0 || data[0] != encryptedPiece {
		return data, err
	}
	plain, key, err := v.w.ring.openPiece(run, value, number, data)
	if errors.Is(err, errAuth) || errors.Is(err, errForm) {
		err = v.w.wrongKey(ctx, key, &world.CorruptError{Run: run, Err: fmt.Errorf("piece %d of value %s, which is kept apart: %w", number, value, err)})
	}
	return plain, err
}

// OpenPiece decrypts a piece that is not in a world, which could say what key its ID stands for; what is not encrypted
// is its own.
func (r *Keyring) OpenPiece(run, value string, number int, data []byte) ([]byte, error) {
	if r == nil || len(data) == 0 || data[0] != encryptedPiece {
		return data, nil
	}
	plain, key, err := r.openPiece(run, value, number, data)
	if errors.Is(err, errAuth) {
		return nil, fmt.Errorf("%w: piece %d of value %s does not decrypt with the key that is here under the ID %q: it is another key, or the file was changed", world.ErrWrongKey, number, value, key)
	}
	if errors.Is(err, errForm) {
		err = &world.CorruptError{Run: run, Err: fmt.Errorf("piece %d of value %s: %w", number, value, err)}
	}
	return plain, err
}

func piecePlace(value string, number int) string {
	return "piece " + strconv.Itoa(number) + " of " + value
}

func (r *Keyring) encryptPiece(key, run, value string, number int, plain []byte) ([]byte, error) {
	aead, err := r.cipher(key, run)
	if err != nil {
		return nil, err
	}
	if aead == nil {
		return nil, &world.KeyError{Run: run, Key: key}
	}
	head := make([]byte, 0, 3+len(key)+len(run)+overhead+len(plain))
	head = append(append(head, encryptedPiece, byte(len(key))), key...)
	head = append(append(head, byte(len(run))), run...)
	return aead.Seal(head, nil, plain, associated(head, run, piecePlace(value, number))), nil // #nosec G407 -- see encrypt
}

func (r *Keyring) openPiece(run, value string, number int, data []byte) (plain []byte, key string, err error) {
	rest := data[1:]
	text := func() (s string) {
		if len(rest) > 0 && len(rest) > int(rest[0]) {
			s, rest = string(rest[1:1+int(rest[0])]), rest[1+int(rest[0]):]
		}
		return s
	}
	key = text()
	of := text()
	if world.CheckKeyID(key) != nil || of == "" {
		return nil, key, errForm
	}
	aead, err := r.cipher(key, of)
	switch {
	case err != nil:
		return nil, key, err
	case aead == nil:
		return nil, key, &world.KeyError{Run: run, Key: key}
	}
	head := data[:len(data)-len(rest)]
	if plain, err = aead.Open(nil, nil, rest, associated(head, of, piecePlace(value, number))); err != nil {
		return nil, key, errAuth
	}
	return plain, key, nil
}
