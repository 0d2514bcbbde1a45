// Package clocktest has a process's clock that steps, as that of a host whose time is set: its wall clock, while its monotonic clock goes on as if nothing had
// happened. It is for tests: options of worlds and of the engine take it for time.Now.
package clocktest

import (
	"sync/atomic"
	"time"
	"unsafe"
)

// Clock is a clock that steps. The zero value is the system's; it is safe for concurrent use.
type Clock struct{ off atomic.Int64 } // seconds

// Step sets the wall clock by whole seconds.
func (c *Clock) Step(d time.Duration) { c.off.Add(int64(d / time.Second)) }

// Now is time.Now of the process: the wall clock as it was set, with the monotonic reading that it has.
func (c *Clock) Now() time.Time {
	t := time.Now()
	// Package time has no way to change one and not the other. With a monotonic reading the first word has the seconds
	// of the wall clock since 1885, from bit 30 on, and the second the monotonic clock. In a bubble of package synctest
	// times have none: there it is the bubble's time.
	words := (*[2]uint64)(unsafe.Pointer(&t))
	if t == t.Round(0) {
		words[0], words[1] = 1<<63|uint64(t.Unix()-epoch.Unix())<<30|uint64(t.Nanosecond()), uint64(t.UnixNano())
	}
	words[0] += uint64(c.off.Load()) << 30
	return t
}

var epoch = time.Date(1885, 1, 1, 0, 0, 0, 0, time.UTC)
