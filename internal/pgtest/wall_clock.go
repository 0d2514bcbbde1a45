package pgtest

// This file has servers whose wall clock steps. libfaketime stands between PostgreSQL and the C library: what asks for the time gets that of a file. Only a program
// that asks the C library can be told so. Go does not: its runtime reads the clocks through the vDSO, with or without cgo. Package internal/clocktest has a clock
// for those.

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// fakers are where libfaketime is.
var fakers = []string{
	"/usr/lib/*/faketime/libfaketime.so.1", // Debian
	"/usr/lib64/faketime/libfaketime.so.1", // Red Hat
	"/usr/lib/faketime/libfaketime.so.1",   // Alpine, Arch
}

// faker returns the path of libfaketime.
func faker() (string, error) {
	for _, pattern := range fakers {
		if found, err := filepath.Glob(pattern); err != nil || len(found) > 0 {
			return append(found, "")[0], err
		}
	}
	return "", errors.New("no libfaketime here: install it (Debian: make test as root does, or apt-get install libfaketime; it is for Linux alone)")
}

// clockFile holds how far the server's wall clock is off.
func (c *Cluster) clockFile() string { return filepath.Join(c.dir, "clock") }

// SetClock sets the server's wall clock to what the machine's says and so much more or less, by whole seconds; its monotonic clock goes on. The server is one of a
// [Config] with Steps.
func (c *Cluster) SetClock(off time.Duration) error {
	if !c.ours || c.faker == "" {
		return errors.New("the server has the machine's clock: see Config.Steps")
	}
	next := c.clockFile() + ".next"
	err := os.WriteFile(next, fmt.Appendf(nil, "%+d\n", int64(off/time.Second)), 0o600)
	if err == nil {
		err = handOver(next)
	}
	if err != nil {
		return err
	}
	return os.Rename(next, c.clockFile()) // no reader finds half of it
}

// withClock is a command line that has a program's clock be that of SetClock.
func (c *Cluster) withClock(program string, args []string) (string, []string) {
	if c.faker == "" {
		return program, args
	}
	return "/usr/bin/env", append([]string{
		"LD_PRELOAD=" + c.faker, "FAKETIME_TIMESTAMP_FILE=" + c.clockFile(), "FAKETIME_NO_CACHE=1", "FAKETIME_DONT_FAKE_MONOTONIC=1", "NO_FAKE_STAT=1", program,
	}, args...)
}
