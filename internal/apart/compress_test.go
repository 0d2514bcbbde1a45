package apart

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// TestPiecesAreCompressed: a value that compresses takes a fraction of its size, one that does not is kept as it is,
// and both come back, whatever their size; so do pieces of before there was this.
func TestPiecesAreCompressed(t *testing.T) {
	t.Parallel()
	w := memory.New()
	pieces := func(a world.Apart) (n int, forms string) {
		for i := range int(max(1, (a.Size+world.ApartPiece-1)/world.ApartPiece)) {
			p, err := w.Values().Piece(t.Context(), "run", a.ID, i)
			if err != nil {
				t.Fatal(err)
			}
			n, forms = n+len(p), forms+string('0'+p[0])
		}
		return n, forms
	}
	for _, c := range []struct {
		what  string
		value []byte
		forms string
		most  float64 // of the size
	}{
		{"orders", orders(3*world.ApartPiece + 10), "1110", 0.25}, {"one piece", orders(world.ApartPiece), "1", 0.25}, {"a small one", orders(5000), "1", 0.5},
		{"a picture", picture(2 * world.ApartPiece), "00", 1.01}, {"random bytes", benchKinds[2].of(world.ApartPiece + 1), "00", 1.01}, {"one byte", []byte("x"), "0", 2}, {"nothing", nil, "0", 1},
		{"a picture behind orders", append(orders(world.ApartPiece), picture(world.ApartPiece)...), "10", 0.65},
	} {
		a, err := Keep(t.Context(), w.Values(), "run", bytes.NewReader(c.value), world.MaxApart)
		if err != nil {
			t.Fatal(err)
		}
		n, forms := pieces(a)
		if forms != c.forms || len(c.value) > 0 && float64(n) > c.most*float64(len(c.value)) {
			t.Errorf("%s: %d bytes for %d, in pieces of forms %s, want %s", c.what, n, len(c.value), forms, c.forms)
		}
		got, err := io.ReadAll(Open(t.Context(), w.Values(), "run", 1, a))
		if err != nil || !bytes.Equal(got, c.value) {
			t.Errorf("%s: %d bytes, %v, want %d", c.what, len(got), err, len(c.value))
		}
	}
}

// TestACompressedPieceThatIsDamaged: what does not expand, or to more than a piece, is damage and no panic.
func TestACompressedPieceThatIsDamaged(t *testing.T) {
	t.Parallel()
	w := memory.New()
	var zip squeezer
	cut := zip.compressed(append([]byte{formPlain}, orders(5000)...))[:100]
	bomb := zip.enc.EncodeAll(make([]byte, 64<<20), []byte{formCompressed})
	good := zip.compressed(append([]byte{formPlain}, orders(6)...))
	for what, piece := range map[string][]byte{"text": []byte("\x01no frame"), "nothing": {formCompressed}, "a bomb": bomb, "a good one, cut": slices.Clone(cut), "too short": good} {
		a := world.Apart{ID: world.NewID(world.PrefixApart, world.Now()), Size: 5000, SHA256: strings.Repeat("0", 64)}
		if err := w.Values().KeepPiece(t.Context(), &world.Piece{Run: "run", Value: a.ID, Data: piece}); err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(Open(t.Context(), w.Values(), "run", 3, a)); !errors.Is(err, world.ErrCorrupt) || len(got) > 0 {
			t.Errorf("%s: %d bytes, %v", what, len(got), err)
		}
	}
}

// TestWriter: pieces are full whatever is written at a time; what is too large, or given up, is told and dropped.
func TestWriter(t *testing.T) {
	t.Parallel()
	w := memory.New()
	for _, size := range []int{0, 1, world.ApartPiece - 1, world.ApartPiece, world.ApartPiece + 1, 2 * world.ApartPiece} {
		value := orders(size)
		to := NewWriter(t.Context(), w.Values(), "run", int64(size))
		for rest := value; len(rest) > 0; {
			n := min(len(rest), 100_003)
			if m, err := to.Write(rest[:n]); m != n || err != nil {
				t.Fatal(m, err)
			}
			rest = rest[n:]
		}
		a, err := to.Finish()
		if err != nil || a.Size != int64(size) {
			t.Fatal(a, err)
		}
		if got, err := Read(t.Context(), w.Values(), "run", a.JSON(), a.ID, world.MaxApart); err != nil || !bytes.Equal(got, value) {
			t.Errorf("%d bytes, %v, want %d", len(got), err, size)
		}
		if _, err := to.Write([]byte("x")); !errors.Is(err, world.ErrInvalid) {
			t.Errorf("write behind the end: %v", err)
		}
		small := NewWriter(t.Context(), w.Values(), "run", int64(size)-1)
		_, err = small.ReadFrom(bytes.NewReader(value))
		if size > 0 && !errors.Is(err, world.ErrTooLarge) {
			t.Errorf("%d bytes where one less may be: %v", size, err)
		}
		small.Drop()
		if _, err := w.Values().Piece(t.Context(), "run", small.ID(), 0); !errors.Is(err, world.ErrNotFound) {
			t.Errorf("%d bytes that were given up: %v", size, err)
		}
	}
}
