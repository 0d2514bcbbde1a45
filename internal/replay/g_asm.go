//go:build amd64 || arm64

package replay

// self tells the running goroutine from all others that are alive: it is the address of the runtime's record of it, which stays the same while the
// goroutine lives and is never read through. Every call of the Context asks, so it has to cost nothing: this is one load, a thousandth of what
// reading the goroutine's number from its stack takes.
func self() uintptr
