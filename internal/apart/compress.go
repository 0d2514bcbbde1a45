package apart

// Pieces are compressed where that pays: by an eighth or more. Each is by itself, so that one is read as it was before.

import (
	"github.com/klauspost/compress/zstd"

	"github.com/stepwell/stepwell/world"
)

// sample is how much of a piece shows whether it is worth it to compress the rest.
const sample = 16 << 10

// squeezer compresses the pieces of one value: it keeps what that takes, about a MiB.
type squeezer struct {
	enc  *zstd.Encoder
	room []byte // of the last piece
}

// compressed is a piece, form byte and all, as it is to be kept until the next: itself where compressing does not pay.
func (z *squeezer) compressed(piece []byte) []byte {
	if len(piece) < 4<<10 {
		return piece
	}
	if z.enc == nil {
		var err error
		if z.enc, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(world.ApartPiece), zstd.WithEncoderConcurrency(1)); err != nil {
			panic(err) // a wrong option
		}
	}
	if len(piece) <= 4*sample || pays(len(z.enc.EncodeAll(piece[1:1+sample], z.room[:0])), sample) {
		z.room = z.enc.EncodeAll(piece[1:], append(z.room[:0], formCompressed))
		if pays(len(z.room), len(piece)) {
			return z.room
		}
	}
	return piece
}

func pays(small, large int) bool { return small <= large-large/8 }

// expander expands the pieces of one value.
type expander struct{ dec *zstd.Decoder }

// expanded is what a compressed piece, without its form byte, holds.
func (x *expander) expanded(piece []byte) ([]byte, error) {
	if x.dec == nil {
		var err error
		if x.dec, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(2*world.ApartPiece)); err != nil {
			panic(err) // a wrong option
		}
	}
	return x.dec.DecodeAll(piece, nil)
}
