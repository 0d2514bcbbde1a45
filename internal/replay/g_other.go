//go:build !amd64 && !arm64

package replay

import (
	"bytes"
	"runtime"
	"strconv"
)

// self tells the running goroutine from all others: by its number, which the first line of its stack holds ("goroutine 18 [running]…").
func self() uintptr {
	var buf [32]byte
	s := bytes.TrimPrefix(buf[:runtime.Stack(buf[:], false)], []byte("goroutine "))
	s, _, _ = bytes.Cut(s, []byte(" "))
	n, _ := strconv.ParseUint(string(s), 10, 64)
	return uintptr(n)
}
