package replay

import "runtime"

// MakeRoom lets the stack of a goroutine grow at once, while there is little on it, to what a session or a workflow's function needs. Step by step, and
// from deep inside, it costs a microsecond for each step of a short run.
//
//go:noinline
func MakeRoom() byte {
	var room [6 << 10]byte
	return room[runtime.NumCPU()&1]
}
