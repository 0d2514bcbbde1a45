//go:build unix

package sqlite

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime is what this process has used.
func cpuTime() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
