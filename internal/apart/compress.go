package apart

// Pieces are compressed where that pays: by an eighth or more. Each is by itself, so that one is read as it was before.

import (
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/stepwell/stepwell/world"
)

// zip has what compresses and what reads, for all values of the process: both keep what they need, some MiB for each
// core that compresses at once, and are safe for concurrent use.
var zip = sync.OnceValue(func() (z struct {
	enc *zstd.Encoder
	dec *zstd.Decoder
}) {
	var err error
	if z.enc, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(world.ApartPiece)); err != nil {
		panic(err) // a wrong option
	}
	if z.dec, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(2*world.ApartPiece)); err != nil {
		panic(err)
	}
	return z
})

// sample is how much of a piece shows whether it is worth it to compress the rest.
const sample = 16 << 10

// compressed is a piece, form byte and all, as it is to be kept: itself where compressing does not pay.
func compressed(piece, room []byte) []byte {
	if len(piece) < 4<<10 {
		return piece
	}
	if enc := zip().enc; len(piece) <= 4*sample || pays(len(enc.EncodeAll(piece[1:1+sample], room[:0])), sample) {
		out := enc.EncodeAll(piece[1:], append(room[:0], formCompressed))
		if pays(len(out), len(piece)) {
			return out
		}
	}
	return piece
}

func pays(small, large int) bool { return small <= large-large/8 }

// expanded is what a compressed piece, without its form byte, holds.
func expanded(piece []byte) ([]byte, error) { return zip().dec.DecodeAll(piece, nil) }
