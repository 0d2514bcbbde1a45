//go:build amd64 || arm64

package replay

import "unsafe"

// unwinds goes through the panics of the running goroutine, and reports whether one is not recovered. It is given
// where in the runtime's record of a goroutine the newest panic is, and where in that the one before it and the mark
// are. It cannot be interrupted: what it reads does not move meanwhile.
func unwinds(panics, link, recovered uintptr) bool

// word reads a word of memory.
func word(at uintptr) uintptr

// layout is where the runtime keeps the panics of a goroutine, in bytes; see unwinds.
type layout struct {
	panics, link, recovered uintptr
	ok                      bool
}

var measured = measure()

// Words of the runtime's records that are looked at: of a goroutine's, where the first four are the bounds of its
// stack, and of a panic's.
const (
	firstWord, lastWord = 4, 16
	panicWords          = 24
	wordSize            = unsafe.Sizeof(uintptr(0))
)

// measure finds the layout: the word of the goroutine's record that points into its stack while it panics and is zero
// before; in what it points to, the word that is the panic before, and the byte that a recover sets. Nothing is read
// but the first words of that record and the stack.
func measure() (l layout) {
	g := self()
	var before, inner, outer [lastWord]uintptr
	read := func(to *[lastWord]uintptr) {
		for i := range to {
			to[i] = word(g + uintptr(i)*wordSize)
		}
	}
	var open, closed [panicWords]uintptr // of the inner panic, before and after it is recovered
	look := func(at uintptr, to *[panicWords]uintptr) bool {
		var here byte
		if at <= uintptr(unsafe.Pointer(&here)) || at+panicWords*wordSize > word(g+wordSize) { // not in this stack
			return false
		}
		for i := range to {
			to[i] = word(at + uintptr(i)*wordSize)
		}
		return true
	}
	read(&before)
	found := -1
	func() {
		defer func() {
			read(&outer)
			for i := firstWord; i < lastWord; i++ {
				if before[i] == 0 && outer[i] != 0 && look(outer[i], &open) {
					found = i
				}
			}
			func() {
				defer func() {
					read(&inner)
					known := found >= 0 && look(inner[found], &open)
					_ = recover()
					if !known || !look(inner[found], &closed) {
						found = -1
					}
				}()
				panic("inner")
			}()
			_ = recover()
		}()
		panic("outer")
	}()
	if found < 0 {
		return layout{}
	}
	links, marks := 0, 0
	for i := range open {
		if at := uintptr(i) * wordSize; open[i] == outer[found] {
			l.link = at
			links++
		} else if diff := open[i] ^ closed[i]; diff != 0 {
			for diff > 0xff { // the first byte is the lowest
				diff >>= 8
				at++
			}
			l.recovered = at
			if marks++; diff != 1 {
				marks++
			}
		}
	}
	l.panics = uintptr(found) * wordSize
	l.ok = links == 1 && marks == 1 && l.holds()
	return l
}

// holds tries the layout out.
func (l layout) holds() (ok bool) {
	now := func() bool { return unwinds(l.panics, l.link, l.recovered) }
	ok = !now()
	func() {
		defer func() {
			ok = ok && now()
			func() {
				defer func() {
					ok = ok && now()
					_ = recover()
					ok = ok && now() // the outer one goes on
				}()
				panic("inner")
			}()
			_ = recover()
			ok = ok && !now()
		}()
		panic("outer")
	}()
	return ok && !now()
}
