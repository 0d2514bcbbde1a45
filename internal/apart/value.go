package apart

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"

	"github.com/stepwell/stepwell/world"
)

// A piece begins with a byte that says how the rest has to be read. 2 is of what is encrypted, which is seen where
// nobody decrypts it.
const (
	formPlain      = 0
	formCompressed = 1 // by zstd
	formEncrypted  = 2
)

// dropPatience is how long who gives up a value tries to delete it.
const dropPatience = 5 * time.Second

// Keep reads a value to its end, and keeps it apart under a run. One of more than most bytes is [world.ErrTooLarge].
// All but a piece of it is never in memory.
func Keep(ctx context.Context, to world.Values, run string, from io.Reader, most int64) (world.Apart, error) {
	return keepFor(ctx, to, run, false, from, most)
}

// keepFor is Keep, for a birth or not.
func keepFor(ctx context.Context, to world.Values, run string, birth bool, from io.Reader, most int64) (a world.Apart, err error) {
	w := NewWriter(ctx, to, run, most)
	w.ForBirth(birth)
	if _, err := w.ReadFrom(from); err != nil {
		return w.of, err
	}
	return w.Finish()
}

// Writer writes a value, piece by piece. It is not safe for concurrent use.
type Writer struct {
	ctx    context.Context //nolint:containedctx // of the one who writes
	to     world.Values
	run    string
	birth  bool
	most   int64
	of     world.Apart
	sum    hash.Hash
	kept   []byte // the piece that is being filled, with its form
	zip    squeezer
	number int
	err    error // why nothing more can be written
}

// NewWriter begins a value of most bytes at most.
func NewWriter(ctx context.Context, to world.Values, run string, most int64) *Writer {
	kept := append(make([]byte, 0, 1+world.ApartPiece), formPlain)
	return &Writer{ctx: ctx, to: to, run: run, most: most, sum: sha256.New(), kept: kept, of: world.Apart{ID: world.NewID(world.PrefixApart, world.Now())}}
}

// ForBirth says that the value is for a run that is not there yet.
func (w *Writer) ForBirth(is bool) { w.birth = is }

// As gives the value an ID that it had elsewhere. Where it is another run's here, writing ends with
// [world.ErrNotFound].
func (w *Writer) As(id string) { w.of.ID = id }

// IsEncrypted reports whether a piece is as it was encrypted.
func IsEncrypted(piece []byte) bool { return len(piece) > 0 && piece[0] == formEncrypted }

// ID is the value's.
func (w *Writer) ID() string { return w.of.ID }

// Write adds to the value. An error is final.
func (w *Writer) Write(p []byte) (n int, err error) {
	for w.err == nil && n < len(p) {
		m := min(len(p)-n, cap(w.kept)-len(w.kept))
		w.kept = append(w.kept, p[n:n+m]...)
		n += w.added(m)
	}
	return n, w.err
}

// ReadFrom adds what a reader gives, to its end: to [io.EOF] itself. What wraps that says that something was cut off,
// as [io.ErrUnexpectedEOF] does.
func (w *Writer) ReadFrom(from io.Reader) (n int64, err error) {
	for w.err == nil {
		m, err := from.Read(w.kept[len(w.kept):cap(w.kept)])
		w.kept = w.kept[:len(w.kept)+m]
		n += int64(w.added(m))
		switch {
		case err == io.EOF: //nolint:errorlint // see above
			return n, w.err
		case err != nil && w.err == nil:
			w.err = err
		}
	}
	return n, w.err
}

// added keeps the piece when it is full.
func (w *Writer) added(n int) int {
	if w.of.Size += int64(n); w.of.Size > w.most {
		w.err = fmt.Errorf("%w: a value of more than %d bytes", world.ErrTooLarge, w.most)
		return 0
	}
	if len(w.kept) == cap(w.kept) {
		w.flush()
	}
	return n
}

func (w *Writer) flush() {
	_, _ = w.sum.Write(w.kept[1:]) // it never fails
	p := world.Piece{Run: w.run, Value: w.of.ID, Number: w.number, Data: w.zip.compressed(w.kept), Birth: w.birth}
	if err := keep(w.ctx, w.to, &p); err != nil {
		w.err = fmt.Errorf("run %s: value %s of %d bytes, which is kept apart: %w", w.run, w.of.ID, w.of.Size, err)
	}
	w.number++
	w.kept = w.kept[:1]
}

// Finish keeps the rest, and tells what refers to the value. All of it is durable then, and nothing more can be
// written.
func (w *Writer) Finish() (world.Apart, error) {
	if w.err == nil && (len(w.kept) > 1 || w.number == 0) {
		w.flush()
	}
	if w.err != nil {
		return w.of, w.err
	}
	w.err, w.kept = errFinished, nil
	w.of.SHA256 = hex.EncodeToString(w.sum.Sum(nil))
	return w.of, nil
}

var errFinished = fmt.Errorf("%w: the value is already written", world.ErrInvalid)

// Drop gives up what was written.
func (w *Writer) Drop() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), dropPatience)
	defer cancel()
	w.err, w.kept = errFinished, nil
	if w.number > 0 {
		_ = w.to.DropValue(ctx, w.run, w.of.ID) // what is left goes with the run, or a day later
	}
}

// keep keeps a piece. What is not known to be there is written again: that is the same.
func keep(ctx context.Context, to world.Values, p *world.Piece) (err error) {
	for range 3 {
		if err = to.KeepPiece(ctx, p); !errors.Is(err, world.ErrUnknownOutcome) {
			return err
		}
	}
	return fmt.Errorf("%w: %v", world.ErrStorage, err) // nothing refers to it: nothing was changed
}

// Open reads a value that a run holds, as the event with a number refers to it; 0: that is not known. What is not
// there, or not as it was written, is a [*world.CorruptError]; it is told no later than in the
// place of [io.EOF].
func Open(ctx context.Context, from world.Values, run string, seq int64, a world.Apart) io.Reader {
	return &reader{ctx: ctx, from: from, run: run, seq: seq, of: a, sum: sha256.New()}
}

// OpenHeld is Open of a value that a run may not hold: that is [world.ErrNotFound]. What it begins with is read at
// once.
func OpenHeld(ctx context.Context, from world.Values, run string, a world.Apart) (io.Reader, error) {
	r := &reader{ctx: ctx, from: from, run: run, of: a, sum: sha256.New()}
	r.missing = fmt.Errorf("run %s does not hold value %s: %w", run, a.ID, world.ErrNotFound)
	if err := r.next(); err != nil {
		return nil, err
	}
	return r, nil
}

// Read reads a payload: the value that it refers to, where an ID says so, or itself. One that is larger than most is
// [world.ErrTooLarge].
func Read(ctx context.Context, from world.Values, run string, payload []byte, id string, most int64) ([]byte, error) {
	if id = world.WholeApart(id); id == "" {
		return payload, nil
	}
	a, ok := world.ReadApart(payload, id)
	switch {
	case !ok:
		return nil, bad(run, 0, &world.Apart{ID: id}, "the log does not refer to it")
	case from == nil:
		return nil, fmt.Errorf("%w: run %s: value %s is stored outside of the log, and this store does not keep such values", world.ErrFormat, run, a.ID)
	case a.Size > most:
		return nil, fmt.Errorf("%w: run %s: value %s has %d bytes, the limit is %d bytes", world.ErrTooLarge, run, a.ID, a.Size, most)
	}
	b := make([]byte, a.Size)
	r := Open(ctx, from, run, 0, a)
	if _, err := io.ReadFull(r, b); err != nil {
		if err == io.ErrUnexpectedEOF || err == io.EOF { //nolint:errorlint // of the reader itself
			err = bad(run, 0, &a, "it ends too early")
		}
		return nil, err
	}
	if _, err := r.Read(make([]byte, 1)); err != io.EOF { //nolint:errorlint // as above
		if err == nil {
			err = bad(run, 0, &a, "it is too long")
		}
		return nil, err
	}
	return b, nil
}

func bad(run string, seq int64, a *world.Apart, what string) error {
	return &world.CorruptError{Run: run, Seq: seq, Err: fmt.Errorf("value %s, of %d bytes, which is kept apart: %s", a.ID, a.Size, what)}
}

type reader struct {
	ctx    context.Context //nolint:containedctx // of the one who reads
	from   world.Values
	run    string
	seq    int64
	of     world.Apart
	sum    hash.Hash
	piece  []byte // what of it is not read yet
	number int    // of the next
	read   int64
	err    error

	zip     expander
	missing error // where the first piece is not there; nil: that is damage
}

// Read reads on.
func (r *reader) Read(p []byte) (int, error) {
	for r.err == nil && len(r.piece) == 0 {
		r.err = r.next()
	}
	if len(r.piece) == 0 {
		return 0, r.err
	}
	n := copy(p, r.piece)
	r.piece = r.piece[n:]
	return n, nil
}

// next reads the next piece. Behind the last it holds all that was read against what was written.
func (r *reader) next() (err error) {
	if r.read == r.of.Size && r.number > 0 {
		if hex.EncodeToString(r.sum.Sum(nil)) != r.of.SHA256 {
			return bad(r.run, r.seq, &r.of, "its content was changed")
		}
		return io.EOF
	}
	r.piece, err = r.from.Piece(r.ctx, r.run, r.of.ID, r.number)
	damaged := (*world.CorruptError)(nil)
	switch {
	case errors.As(err, &damaged):
		return &world.CorruptError{Run: r.run, Seq: r.seq, Err: damaged.Err}
	case errors.Is(err, world.ErrNotFound) && r.number == 0 && r.missing != nil:
		return r.missing
	case errors.Is(err, world.ErrNotFound):
		return bad(r.run, r.seq, &r.of, fmt.Sprintf("piece %d is not there", r.number))
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		// It is of a connection. Nobody is to take it for the end.
		return fmt.Errorf("%w: run %s: value %s, piece %d: %v", world.ErrStorage, r.run, r.of.ID, r.number, err)
	case err != nil:
		return err
	}
	if r.piece, err = r.plain(r.piece); err != nil {
		return err
	}
	want := min(r.of.Size-r.read, world.ApartPiece)
	if int64(len(r.piece)) != want {
		have := len(r.piece)
		r.piece = nil
		return bad(r.run, r.seq, &r.of, fmt.Sprintf("piece %d has %d bytes, not %d", r.number, have, want))
	}
	r.number++
	r.read += want
	_, _ = r.sum.Write(r.piece) // it never fails
	return nil
}

// plain is what a piece holds.
func (r *reader) plain(piece []byte) ([]byte, error) {
	switch {
	case len(piece) == 0:
		return nil, bad(r.run, r.seq, &r.of, fmt.Sprintf("piece %d is empty", r.number))
	case piece[0] == formPlain:
		return piece[1:], nil
	case piece[0] == formCompressed:
		plain, err := r.zip.expanded(piece[1:])
		if err != nil {
			return nil, bad(r.run, r.seq, &r.of, fmt.Sprintf("piece %d cannot be expanded: %v", r.number, err))
		}
		return plain, nil
	case piece[0] == formEncrypted:
		return nil, fmt.Errorf("run %s: value %s is encrypted: %w", r.run, r.of.ID, world.ErrNoKey)
	}
	return nil, fmt.Errorf("%w: run %s: value %s: a piece of form %d; this release knows %d and %d", world.ErrFormat, r.run, r.of.ID, piece[0], formPlain, formCompressed)
}
