package world

// This file says what a world keeps apart from logs: values that are too large for them. A log has a reference.

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
)

// Limits of values that are stored apart.
const (
	MaxApart    = 1 << 30        // bytes of one value, as JSON
	ApartPiece  = 512 << 10      // bytes of a piece, except the last
	MaxPiece    = 1 << 20        // bytes of a stored piece, which may be encrypted
	ApartOrphan = 24 * time.Hour // after this time a value without its run is deleted
)

// PrefixApart begins the ID of a value that is stored apart.
const PrefixApart = "valu"

// Values stores large values apart from logs, in pieces. The first write of a value under a run
// makes the run hold it, even if the run does not exist yet. A value is deleted with the last run
// that holds it. If a run never comes to exist, Sweep deletes its values after [ApartOrphan].
//
// An event refers to a value by its field Apart, never by the look of its payload. A store accepts
// such an event for a run that holds the value. It accepts a birth if its [Origin], or the run
// whose commit contains the birth, holds the value; the new run then holds it too. Other references
// are refused with [ErrInvalid]. The store itself delivers results of ended runs; a waiting run
// thereby holds the value of the result.
//
// The same applies to values that a payload names (see [SplitApart]), but nothing is refused: a run
// that cannot hold a named value goes on without it.
type Values interface {
	// KeepPiece stores a piece of a value under a run, durably. Pieces are numbered from 0, and 0
	// comes first. Repeating a piece changes nothing, and neither does a piece of a value that an
	// event names. [ErrNotFound]: the run does not hold the value and cannot begin to, because
	// another run holds it or the piece is not the first.
	KeepPiece(ctx context.Context, p *Piece) error

	// Piece reads a piece of a value that a run holds. [ErrNotFound]: the piece does not exist, or
	// the run does not hold the value. [ErrCorrupt]: the run holds the value, and its first piece
	// is lost.
	Piece(ctx context.Context, run, value string, number int) ([]byte, error)

	// DropValue deletes a value that a run holds and no event of it names, for a commit that is not
	// made. Otherwise it deletes nothing, and returns no error.
	DropValue(ctx context.Context, run, value string) error

	// ValueKeys returns the encryption keys of values. It reads no piece.
	ValueKeys(ctx context.Context) ([]ValueKey, error)
}

// ValueKey is an encryption key of values. A value's key may differ from that of a run that holds
// it: a fork, or a run that awaited another, needs both.
type ValueKey struct {
	Key  string `json:"key"`  // ID of the key; "": plain
	Runs int64  `json:"runs"` // number of runs that hold such values
}

// Piece is a piece of a value to store. Number counts from 0.
type Piece struct {
	Run, Value string
	Number     int
	Data       []byte
	Key        string // ID of the key that encrypts Data; "": plain
	Birth      bool   // it is for a birth: an existing run with this ID is another one
}

// Apart refers to a value that is stored apart. Its JSON replaces the value in a log.
type Apart struct {
	ID     string `json:"id"`     // "valu_" and a ULID
	Size   int64  `json:"size"`   // of the value's JSON, in bytes
	SHA256 string `json:"sha256"` // of the value's JSON
}

const apartMark = `{"stepwell:apart":`

// JSON returns the reference as a log has it.
func (a *Apart) JSON() []byte {
	b, _ := json.Marshal(a) // texts and a number
	return append(append([]byte(apartMark), b...), '}')
}

// ReadApart reads the reference in a payload. id is the value's ID from beside the payload, as in
// [Event].Apart and [State].InputApart. With an empty id the payload is an ordinary value, whatever
// it looks like.
func ReadApart(payload []byte, id string) (a Apart, ok bool) {
	if id = WholeApart(id); id == "" || !bytes.HasPrefix(payload, []byte(apartMark)) || payload[len(payload)-1] != '}' {
		return Apart{}, false // and nothing was allocated
	}
	return readApart(payload, id)
}

func readApart(payload []byte, id string) (a Apart, ok bool) {
	if json.Unmarshal(payload[len(apartMark):len(payload)-1], &a) != nil || a.ID != id || a.Size < 0 || a.Size > MaxApart || len(a.SHA256) != 2*sha256.Size {
		return Apart{}, false
	}
	return a, true
}

// ApartTypes returns the types of events whose payloads may be stored apart.
func ApartTypes() []EventType {
	return []EventType{RunCreated, RunContinued, RunCompleted, StepCreated, StepCompleted}
}

// checkApart refuses an event that says it refers to a value, and cannot.
func (e *Event) checkApart() error {
	if e.Apart == "" {
		return nil
	}
	if !slices.Contains(ApartTypes(), e.Type) {
		return fmt.Errorf("%w: %s with value %s: a payload of this type must be in the log", ErrInvalid, e.Type, show(e.Apart))
	}
	whole, named := SplitApart(e.Apart)
	for _, id := range named {
		if err := CheckApart(id); err != nil {
			return err
		}
	}
	switch {
	case len(named) > MaxNamed:
		return fmt.Errorf("%w: %s names %d values, the limit is %d", ErrInvalid, e.Type, len(named), MaxNamed)
	case whole == "":
		return nil
	}
	if err := CheckApart(whole); err != nil {
		return err
	}
	if _, ok := ReadApart(e.Payload, whole); !ok && e.Encrypted == "" {
		return fmt.Errorf("%w: %s with value %s: its payload does not refer to it", ErrInvalid, e.Type, whole)
	}
	return nil
}

const apartOption = `{"apart":`

// ApartOptions adds to a task's options the ID of the value that its input refers to.
func ApartOptions(options []byte, id string) []byte {
	out := append([]byte(apartOption+`"`), id...) // an ID needs no escapes
	if body := bytes.TrimSpace(options); len(body) > 2 && body[0] == '{' {
		return append(append(out, `",`...), body[1:]...)
	}
	return append(out, `"}`...)
}

// TaskApart returns the ID from [ApartOptions]; "": the input is the value.
func TaskApart(options []byte) string {
	if !bytes.HasPrefix(options, []byte(apartOption)) {
		return ""
	}
	var o struct {
		Apart string `json:"apart"`
	}
	_ = json.Unmarshal(options, &o) // what does not parse names none
	return o.Apart
}

// CheckApart returns [ErrInvalid] for a malformed value ID.
func CheckApart(id string) error {
	rest, ok := strings.CutPrefix(id, PrefixApart+"_")
	if _, err := ulid.ParseStrict(rest); !ok || err != nil {
		return fmt.Errorf("%w: value %s: want an ID that begins with %s_", ErrInvalid, show(id), PrefixApart)
	}
	return nil
}

// CheckValue returns [ErrInvalid] for a malformed run or value ID.
func CheckValue(run, value string) error {
	if err := CheckRunID(run); err != nil {
		return err
	}
	return CheckApart(value)
}

// CheckPiece returns [ErrInvalid] or [ErrTooLarge] for an invalid piece.
func CheckPiece(p *Piece) error {
	if err := CheckValue(p.Run, p.Value); err != nil {
		return err
	}
	switch {
	case p.Number < 0 || p.Number > MaxApart/ApartPiece:
		return fmt.Errorf("%w: value %s: piece %d", ErrInvalid, p.Value, p.Number)
	case len(p.Data) > MaxPiece:
		return fmt.Errorf("%w: value %s: piece %d has %d bytes, more than %d", ErrTooLarge, p.Value, p.Number, len(p.Data), MaxPiece)
	case p.Key == "":
		return nil
	}
	return CheckBinding(p.Key, nil)
}

// NoValue returns the error for an event that refers to a value which its run does not hold.
func NoValue(run, value string) error {
	return fmt.Errorf("%w: run %s: an event refers to value %s, which the run does not hold", ErrInvalid, run, value)
}

// NoPiece returns the error for a piece that does not exist.
func NoPiece(run, value string, number int) error {
	return fmt.Errorf("run %s: piece %d of value %s, kept apart: %w", run, number, value, ErrNotFound)
}

// SameValue reports whether a value equals the recorded one, which is stored apart if id is set.
func SameValue(value, recorded []byte, id string) bool {
	a, ok := ReadApart(recorded, id)
	if !ok {
		return bytes.Equal(value, recorded)
	}
	if a.Size != int64(len(value)) {
		return false
	}
	sum := sha256.Sum256(value)
	return hex.EncodeToString(sum[:]) == a.SHA256
}
