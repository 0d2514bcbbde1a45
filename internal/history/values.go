package history

// Values that come with a history: pieces of those that are kept apart from logs. They are on disk while the history
// is looked at, and never in memory.

import (
	"fmt"
	"io"
	"os"

	"github.com/stepwell/stepwell/world"
)

// Values are those that came with a history, until the next is read.
type Values interface {
	// Has reports whether a value came.
	Has(value string) bool
	// Piece reads a piece of a value, by its number from 0. One that is not there: [world.ErrNotFound].
	Piece(value string, number int) ([]byte, error)
}

// values are the pieces that stand behind the events of one history.
type values struct {
	run  string
	of   map[string][]span
	last string   // ID of the value that the last piece is of
	file *os.File // without a name, where the system can; nil: nothing is in it, or it is closed
	end  int64
}

// span is where a piece is in the file.
type span struct {
	at   int64
	size int
}

func (v *values) some() bool { return v != nil && len(v.of) > 0 }

func (v *values) add(l *line) (err error) {
	if err := world.CheckApart(l.Value); err != nil {
		return err
	}
	pieces := v.of[l.Value]
	switch {
	case len(pieces) > 0 && v.last != l.Value:
		return fmt.Errorf("%w: value %s comes twice", world.ErrInvalid, l.Value)
	case l.Piece != len(pieces)+1:
		return fmt.Errorf("%w: value %s: piece %d instead of piece %d", world.ErrInvalid, l.Value, l.Piece, len(pieces)+1)
	case len(l.Data) > world.MaxPiece || len(pieces) > world.MaxApart/world.ApartPiece:
		return fmt.Errorf("%w: value %s: piece %d has %d bytes", world.ErrTooLarge, l.Value, l.Piece, len(l.Data))
	}
	if v.file == nil {
		v.of = map[string][]span{}
		if v.file, err = os.CreateTemp("", "stepwell-values-*"); err != nil {
			return fmt.Errorf("a file for the values of a history (TMPDIR says where): %w", err)
		}
		_ = os.Remove(v.file.Name()) // where a file that is open cannot be removed, close does
	}
	if _, err := v.file.WriteAt(l.Data, v.end); err != nil {
		return fmt.Errorf("keep value %s of a history (TMPDIR says where): %w", l.Value, err)
	}
	v.last, v.of[l.Value] = l.Value, append(pieces, span{v.end, len(l.Data)})
	v.end += int64(len(l.Data))
	return nil
}

func (v *values) close() {
	if v == nil || v.file == nil {
		return
	}
	_ = v.file.Close()
	_ = os.Remove(v.file.Name()) // see add
	v.file = nil
}

// Has reports whether a value came.
func (v *values) Has(id string) bool { return len(v.of[id]) > 0 }

// Piece reads a piece of a value.
func (v *values) Piece(value string, number int) ([]byte, error) {
	if number < 0 || number >= len(v.of[value]) {
		return nil, world.NoPiece(v.run, value, number)
	}
	if v.file == nil {
		return nil, fmt.Errorf("%w: run %s: the values of a history are there until the next is read, or the reading ends", world.ErrInvalid, v.run)
	}
	of := v.of[value][number]
	data := make([]byte, of.size)
	if _, err := v.file.ReadAt(data, of.at); err != nil && err != io.EOF { //nolint:errorlint // of the file itself
		return nil, fmt.Errorf("value %s of a history: %w", value, err)
	}
	return data, nil
}
