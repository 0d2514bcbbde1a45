package world

// This file says what a world keeps apart from logs: values that are too large for them. A log has a reference.

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
)

// Bounds of values that are kept apart.
const (
	MaxApart    = 1 << 30   // bytes of one value, as JSON
	ApartPiece  = 512 << 10 // bytes of a piece of one, but for the last
	MaxPiece    = 1 << 20   // bytes of a piece as it is kept: encrypted, say
	ApartOrphan = 24 * time.Hour
)

// PrefixApart begins the IDs of values that are kept apart.
const PrefixApart = "valu"

// ApartKeeper is a [World] that keeps values apart from logs, in pieces. A value is kept under its ID for the runs
// that
// hold it, and deleted with the last of them. Who first writes it under a run makes that run hold it, whether or not
// the
// run is there yet. So does an event with the value among its Apart, in the commit that brings it to a log or an
// inbox:
// that of a value which is not there holds nothing. What is held by a run that is not there, and never came to be,
// Sweep
// deletes after [ApartOrphan].
type ApartKeeper interface {
	// KeepPiece keeps a piece of a value under a run; it is durable when it returns. Pieces are numbered from 0. One
	// that comes
	// again is the same, and changes nothing; nor does the run hold a value that another holds already.
	KeepPiece(ctx context.Context, run, value string, number int, data []byte) error

	// Piece reads a piece of a value that a run holds. One that is not there, or that the run does not hold:
	// [ErrNotFound].
	Piece(ctx context.Context, run, value string, number int) ([]byte, error)
}

// Apart refers to a value that is kept apart. As JSON it stands in a log where the value would.
type Apart struct {
	ID     string `json:"id"`     // "valu_" and a ULID
	Of     string `json:"of"`     // the run under which it was written: those that hold it may be others
	Size   int64  `json:"size"`   // of its JSON, in bytes
	SHA256 string `json:"sha256"` // of its JSON
}

const apartMark = `{"stepwell:apart":`

// JSON is the reference as it stands in a log.
func (a *Apart) JSON() []byte {
	b, _ := json.Marshal(a) // texts and a number
	return append(append([]byte(apartMark), b...), '}')
}

// IsApart reports whether a payload refers to a value that is kept apart.
func IsApart(payload []byte) bool {
	_, ok := ReadApart(payload)
	return ok
}

// ReadApart reads a payload that refers to a value which is kept apart; false: it is the value itself.
func ReadApart(payload []byte) (a Apart, ok bool) {
	const most = 1024
	if len(payload) > most || !bytes.HasPrefix(payload, []byte(apartMark)) || payload[len(payload)-1] != '}' {
		return Apart{}, false // and nothing was allocated
	}
	return readApart(payload)
}

func readApart(payload []byte) (a Apart, ok bool) {
	if json.Unmarshal(payload[len(apartMark):len(payload)-1], &a) != nil || CheckApart(a.ID) != nil || a.Size < 0 || len(a.SHA256) != 2*sha256.Size {
		return Apart{}, false
	}
	return a, true
}

// CheckApart refuses, with [ErrInvalid], what is no ID of a value that is kept apart.
func CheckApart(id string) error {
	rest, ok := strings.CutPrefix(id, PrefixApart+"_")
	if _, err := ulid.ParseStrict(rest); !ok || err != nil {
		return fmt.Errorf("%w: value %s: want an ID that begins with %s_", ErrInvalid, show(id), PrefixApart)
	}
	return nil
}

// CheckPiece refuses, with [ErrInvalid] or [ErrTooLarge], a piece that no world can keep.
func CheckPiece(run, value string, number int, data []byte) error {
	if err := CheckRunID(run); err != nil {
		return err
	}
	if err := CheckApart(value); err != nil {
		return err
	}
	switch {
	case number < 0 || number > MaxApart/ApartPiece:
		return fmt.Errorf("%w: value %s: piece %d", ErrInvalid, value, number)
	case len(data) > MaxPiece:
		return fmt.Errorf("%w: value %s: piece %d has %d bytes, more than %d", ErrTooLarge, value, number, len(data), MaxPiece)
	}
	return nil
}

// NoValue refuses a run that is to be created with a value which is kept apart, and is not there.
func NoValue(run, value string) error {
	return fmt.Errorf("%w: run %s: it is created with value %s, kept apart, which is not here", ErrInvalid, run, value)
}

// SameValue reports whether a value is the one that is recorded, there or apart.
func SameValue(value, recorded []byte) bool {
	if bytes.Equal(value, recorded) {
		return true
	}
	a, ok := ReadApart(recorded)
	if !ok || a.Size != int64(len(value)) {
		return false
	}
	sum := sha256.Sum256(value)
	return hex.EncodeToString(sum[:]) == a.SHA256
}
