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

// Bounds of values that are kept apart.
const (
	MaxApart    = 1 << 30   // bytes of one value, as JSON
	ApartPiece  = 512 << 10 // bytes of a piece of one, but for the last
	MaxPiece    = 1 << 20   // bytes of a piece as it is kept: encrypted, say
	ApartOrphan = 24 * time.Hour
)

// PrefixApart begins the IDs of values that are kept apart.
const PrefixApart = "valu"

// ApartKeeper is a [World] that keeps values apart from logs.
type ApartKeeper interface {
	// Values are those of the world.
	Values() Values
}

// Values are kept apart from logs, in pieces. Who first writes a value under a run makes that
// run hold it, whether or not the run is there yet. A value is deleted with the last run that holds it; what is held by
// a run that is not there, and never came to be, Sweep deletes after [ApartOrphan].
//
// That an event refers to a value its Apart says, and never the look of its payload. A world takes such an event for a
// run that holds the value, and for the birth of one whose [Origin] holds it, or the run whose commit has the birth:
// that run holds it too from then on. All else is refused with [ErrInvalid], and nothing is written. The result of a
// run that is over is told by the world itself: who waits for it holds the value with that.
//
// The same holds of values that a payload names, see [SplitApart], but that nothing is refused: a run that does not
// hold what it names, and does not come to it, goes on without it.
type Values interface {
	// KeepPiece keeps a piece of a value under a run; it is durable when it returns. Pieces are numbered from 0, which
	// comes first. One that comes again is the same, and changes nothing, nor does one of a value that an event names.
	// A value that the run does not hold, and cannot begin to, as another holds it or the piece is not the first:
	// [ErrNotFound].
	KeepPiece(ctx context.Context, p *Piece) error

	// Piece reads a piece of a value that a run holds. One that is not there, or that the run does not hold:
	// [ErrNotFound]. The first one of a value that it holds, and that is lost: [ErrCorrupt].
	Piece(ctx context.Context, run, value string, number int) ([]byte, error)

	// DropValue deletes a value that a run holds, and that no event of it names: what was kept for a commit that is not
	// made. Of another one nothing is deleted, and it is no error.
	DropValue(ctx context.Context, run, value string) error

	// ValueKeys tells which keys values are encrypted with, by their IDs. It reads no piece.
	ValueKeys(ctx context.Context) ([]ValueKey, error)
}

// ValueKey is a key that values which are kept apart are encrypted with. A value may be of another key than a run that
// holds it: a fork, or who awaited its run, needs both.
type ValueKey struct {
	Key  string `json:"key"`  // ID; "": they are plain
	Runs int64  `json:"runs"` // that hold any
}

// Piece is a piece of a value that is to be kept. Number counts from 0.
type Piece struct {
	Run, Value string
	Number     int
	Data       []byte
	Key        string // ID of the key that Data is encrypted with; "": it is plain
	Birth      bool   // it is for a birth: whatever is known of a run with this ID is of another one
}

// Apart refers to a value that is kept apart. As JSON it stands in a log where the value would.
type Apart struct {
	ID     string `json:"id"`     // "valu_" and a ULID
	Size   int64  `json:"size"`   // of its JSON, in bytes
	SHA256 string `json:"sha256"` // of its JSON
}

const apartMark = `{"stepwell:apart":`

// JSON is the reference as it stands in a log.
func (a *Apart) JSON() []byte {
	b, _ := json.Marshal(a) // texts and a number
	return append(append([]byte(apartMark), b...), '}')
}

// ReadApart reads a payload that refers to a value which is kept apart, by what is said beside it: by [Event].Apart,
// [State].InputApart and their like. With no ID it is a value of its own, whatever it looks like.
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

// ApartTypes are the types of the events whose payloads may be kept apart: what a run's own code takes and makes.
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

// ApartOptions are the options of a task that also name the value which its input refers to.
func ApartOptions(options []byte, id string) []byte {
	out := append([]byte(apartOption+`"`), id...) // an ID needs no escapes
	if body := bytes.TrimSpace(options); len(body) > 2 && body[0] == '{' {
		return append(append(out, `",`...), body[1:]...)
	}
	return append(out, `"}`...)
}

// TaskApart is the value that [ApartOptions] has named; "": the input is that of the task.
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

// CheckApart refuses, with [ErrInvalid], what is no ID of a value that is kept apart.
func CheckApart(id string) error {
	rest, ok := strings.CutPrefix(id, PrefixApart+"_")
	if _, err := ulid.ParseStrict(rest); !ok || err != nil {
		return fmt.Errorf("%w: value %s: want an ID that begins with %s_", ErrInvalid, show(id), PrefixApart)
	}
	return nil
}

// CheckValue refuses, with [ErrInvalid], what no run can hold.
func CheckValue(run, value string) error {
	if err := CheckRunID(run); err != nil {
		return err
	}
	return CheckApart(value)
}

// CheckPiece refuses, with [ErrInvalid] or [ErrTooLarge], a piece that no world can keep.
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

// NoValue refuses an event of a run that refers to a value which the run does not hold.
func NoValue(run, value string) error {
	return fmt.Errorf("%w: run %s: an event refers to value %s, which the run does not hold", ErrInvalid, run, value)
}

// NoPiece says that a run holds no such piece of a value.
func NoPiece(run, value string, number int) error {
	return fmt.Errorf("run %s: piece %d of value %s, kept apart: %w", run, number, value, ErrNotFound)
}

// SameValue reports whether a value is the one that is recorded, there or, where an ID says so, apart.
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
