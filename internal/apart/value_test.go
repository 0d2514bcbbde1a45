package apart

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// sink forgets pieces, and makes them up where they are read.
type sink struct {
	world.Values
	pieces      int
	first, last []byte // all but the last are as the first
}

func (s *sink) KeepPiece(_ context.Context, p *world.Piece) error {
	if s.pieces, s.last = p.Number+1, append(s.last[:0], p.Data...); p.Number == 0 {
		s.first = slices.Clone(p.Data)
	}
	return nil
}

func (s *sink) Piece(_ context.Context, _, _ string, number int) ([]byte, error) {
	switch {
	case number >= s.pieces:
		return nil, world.ErrNotFound
	case number == s.pieces-1:
		return slices.Clone(s.last), nil
	}
	return slices.Clone(s.first), nil
}

// zeros reads as so many zeros.
func zeros(n int64) io.Reader { return io.LimitReader(zero{}, n) }

type zero struct{}

func (zero) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// TestAStreamIsNeverWholeInMemory: 200 MiB are kept in the memory of a piece, and read in that of a piece at a time.
func TestAStreamIsNeverWholeInMemory(t *testing.T) {
	const size = 200 << 20
	var before, between, after runtime.MemStats
	s := &sink{}
	runtime.ReadMemStats(&before)
	a, err := Keep(t.Context(), s, "r", zeros(size), world.MaxApart)
	if err != nil || a.Size != size || s.pieces != size/world.ApartPiece {
		t.Fatalf("kept %d bytes in %d pieces: %v", a.Size, s.pieces, err)
	}
	runtime.GC()
	runtime.ReadMemStats(&between)
	if grown := between.TotalAlloc - before.TotalAlloc; grown > 4<<20 {
		t.Errorf("keeping it allocated %d bytes", grown)
	}
	n, err := io.Copy(io.Discard, Open(t.Context(), s, "r", 0, a))
	if err != nil || n != size {
		t.Fatalf("read %d bytes: %v", n, err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if live := int64(after.HeapAlloc) - int64(before.HeapAlloc); live > 4<<20 {
		t.Errorf("reading it left %d bytes in memory", live)
	}
}

// TestACutSourceIsNoValue: only io.EOF itself ends what a value is read from. Any other error is that of the writer,
// and nothing is made.
func TestACutSourceIsNoValue(t *testing.T) {
	for _, size := range []int64{0, 1, world.ApartPiece - 1, world.ApartPiece, world.ApartPiece + 1} {
		for _, cut := range []error{io.ErrUnexpectedEOF, fmt.Errorf("archive: %w", io.EOF), io.ErrClosedPipe} {
			from := io.MultiReader(zeros(size), iotest.ErrReader(cut))
			if _, err := Keep(t.Context(), &sink{}, "r", from, world.MaxApart); err != cut {
				t.Errorf("%d bytes, then %q: got %v", size, cut, err)
			}
			from = iotest.DataErrReader(io.MultiReader(zeros(size), iotest.ErrReader(cut)))
			if _, err := Keep(t.Context(), &sink{}, "r", from, world.MaxApart); err != cut {
				t.Errorf("%d bytes with %q: got %v", size, cut, err)
			}
		}
		a, err := Keep(t.Context(), &sink{}, "r", iotest.DataErrReader(iotest.HalfReader(zeros(size))), world.MaxApart)
		if err != nil || a.Size != size {
			t.Errorf("%d bytes: kept %d: %v", size, a.Size, err)
		}
	}
}

// away is a store whose connection is cut.
type away struct {
	world.Values
	err error
}

func (a *away) Piece(context.Context, string, string, int) ([]byte, error) { return nil, a.err }

// TestACutConnectionIsNoDamage: where the store is away a value is not damaged, nor at its end.
func TestACutConnectionIsNoDamage(t *testing.T) {
	for _, size := range []int64{0, 1, 2 * world.ApartPiece} {
		a, err := Keep(t.Context(), &sink{}, "r", zeros(size), world.MaxApart)
		if err != nil {
			t.Fatal(err)
		}
		for _, cut := range []error{io.EOF, io.ErrUnexpectedEOF} {
			from := &away{err: fmt.Errorf("%w: read a piece: %w", world.ErrStorage, cut)}
			_, whole := Read(t.Context(), from, "r", a.JSON(), a.ID, world.MaxApart)
			_, stream := io.Copy(io.Discard, Open(t.Context(), from, "r", 1, a))
			_, held := OpenHeld(t.Context(), from, "r", a)
			for _, err := range []error{whole, stream, held} {
				if !errors.Is(err, world.ErrStorage) || errors.Is(err, world.ErrCorrupt) || errors.Is(err, cut) {
					t.Errorf("%d bytes, %v: got %v", size, cut, err)
				}
			}
		}
	}
}

// TestSizes: a value of any size comes back, those of whole pieces too, and one that is too large is refused.
func TestSizes(t *testing.T) {
	w := memory.New()
	for _, size := range []int{0, 1, world.ApartPiece - 1, world.ApartPiece, world.ApartPiece + 1, 3 * world.ApartPiece} {
		value := bytes.Repeat([]byte("x"), size)
		a, err := Keep(t.Context(), w.Values(), "r", bytes.NewReader(value), int64(size))
		if err != nil {
			t.Fatal(err)
		}
		got, err := Read(t.Context(), w.Values(), "r", a.JSON(), a.ID, int64(size))
		if err != nil || !bytes.Equal(got, value) {
			t.Errorf("%d bytes: got %d, %v", size, len(got), err)
		}
		if _, err := Read(t.Context(), w.Values(), "r", a.JSON(), a.ID, int64(size)-1); !errors.Is(err, world.ErrTooLarge) {
			t.Errorf("%d bytes, one more than the limit: %v", size, err)
		}
		if _, err := Read(t.Context(), w.Values(), "other", a.JSON(), a.ID, int64(size)); !errors.Is(err, world.ErrCorrupt) {
			t.Errorf("%d bytes, for a run that does not hold them: %v", size, err)
		}
	}
	if _, err := Keep(t.Context(), w.Values(), "r", zeros(world.ApartPiece+1), world.ApartPiece); !errors.Is(err, world.ErrTooLarge) {
		t.Errorf("a value over the limit: %v", err)
	}
}

// changed gives pieces that are not what was written.
type changed struct {
	world.Values
	change func(number int, piece []byte) ([]byte, error)
}

func (c *changed) Piece(ctx context.Context, run, value string, number int) ([]byte, error) {
	piece, err := c.Values.Piece(ctx, run, value, number)
	if err != nil {
		return nil, err
	}
	return c.change(number, piece)
}

// TestDamage: whatever happens to a piece is found, and named with the run, the event and the value.
func TestDamage(t *testing.T) {
	w := memory.New()
	a, err := Keep(t.Context(), w.Values(), "r", zeros(2*world.ApartPiece+7), world.MaxApart)
	if err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(int, []byte) ([]byte, error){
		"a bit":        func(n int, b []byte) ([]byte, error) { b[len(b)-1] ^= byte(n & 1); return b, nil },
		"a short one":  func(_ int, b []byte) ([]byte, error) { return b[:len(b)-1], nil },
		"a long one":   func(_ int, b []byte) ([]byte, error) { return append(b, 0), nil },
		"an empty one": func(int, []byte) ([]byte, error) { return nil, nil },
		"a lost one": func(n int, b []byte) ([]byte, error) {
			if n == 2 {
				return nil, fmt.Errorf("piece: %w", world.ErrNotFound)
			}
			return b, nil
		},
	} {
		_, err := io.Copy(io.Discard, Open(t.Context(), &changed{w.Values(), change}, "r", 7, a))
		var bad *world.CorruptError
		if !errors.As(err, &bad) || bad.Run != "r" || bad.Seq != 7 || !strings.Contains(err.Error(), a.ID) {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err = Read(t.Context(), &changed{w.Values(), func(_ int, b []byte) ([]byte, error) { b[0] = 9; return b, nil }}, "r", a.JSON(), a.ID, world.MaxApart)
	if !errors.Is(err, world.ErrFormat) {
		t.Errorf("a form of a later release: %v", err)
	}
	_, err = Read(t.Context(), &changed{w.Values(), func(_ int, b []byte) ([]byte, error) { b[0] = formEncrypted; return b, nil }}, "r", a.JSON(), a.ID, world.MaxApart)
	if !errors.Is(err, world.ErrNoKey) {
		t.Errorf("an encrypted one: %v", err)
	}
}

// TestReferences: a payload is a reference where an ID says so, and then it has to be one to that value.
func TestReferences(t *testing.T) {
	a := world.Apart{ID: world.NewID(world.PrefixApart, world.Now()), Size: 3, SHA256: strings.Repeat("0", 64)}
	text := string(a.JSON())
	if got, ok := world.ReadApart(a.JSON(), a.ID); !ok || got != a {
		t.Errorf("got %+v, %v", got, ok)
	}
	if got, err := Read(t.Context(), nil, "r", a.JSON(), "", 1); err != nil || string(got) != text {
		t.Errorf("what only looks like a reference is read as %q, %v", got, err)
	}
	for _, none := range []string{"", "{}", text[:len(text)-1], strings.Replace(text, "valu_", "step_", 1), strings.Replace(text, `"size":3`, `"size":-3`, 1), "[" + text + "]"} {
		if _, ok := world.ReadApart([]byte(none), a.ID); ok {
			t.Errorf("%s is taken for a reference", none)
		}
		if _, err := Read(t.Context(), nil, "r", []byte(none), a.ID, 1); !errors.Is(err, world.ErrCorrupt) {
			t.Errorf("%s in the place of a reference: %v", none, err)
		}
	}
	if _, ok := world.ReadApart(a.JSON(), world.NewID(world.PrefixApart, world.Now())); ok {
		t.Error("a reference to another value is taken for one")
	}
	for _, options := range []string{"", "{}", `{"o":1}`} {
		named := world.ApartOptions([]byte(options), a.ID)
		if got := world.TaskApart(named); got != a.ID || world.TaskApart([]byte(options)) != "" {
			t.Errorf("options %s name %q", named, got)
		}
	}
}
