//go:build unix

package behaviour_test

import (
	"syscall"
	"time"
)

// processTime is the time that this process has used on processors, user and system.
func processTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // it takes no arguments that could be wrong
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
