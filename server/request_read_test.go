package server

import (
	"bytes"
	"strings"
	"testing"
	"testing/iotest"
)

// TestReadAll: a body comes whole, whatever was said of its length and however it comes, and takes no more room than it
// needs.
func TestReadAll(t *testing.T) {
	for _, size := range []int{0, 1, 16 << 10, 16<<10 + 1, 1 << 20, 3<<20 + 7} {
		want := []byte(strings.Repeat("x", size))
		for _, length := range []int64{-1, 0, int64(size), int64(size) / 2, int64(size) * 2} {
			got, err := readAll(iotest.HalfReader(bytes.NewReader(want)), length)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d bytes, said to be %d: got %d, %v", size, length, len(got), err)
			}
			if length == int64(size) && size > 16<<10 && cap(got) > size+1 {
				t.Errorf("%d bytes, as was said, take room for %d", size, cap(got))
			}
		}
	}
}
