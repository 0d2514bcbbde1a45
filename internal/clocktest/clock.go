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
	// Package time has no way to change one and not the other. With a monotonic reading the first word has the seconds of the wall clock from bit 30 on.
	*(*uint64)(unsafe.Pointer(&t)) += uint64(c.off.Load()) << 30
	return t
}
