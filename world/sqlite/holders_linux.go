package sqlite

// Who holds what of a database, as Linux tells: /proc/locks has a line for each lock, with the file's inode and the process. Nothing is opened for it: a process that
// closes a file loses all the locks that SQLite has on it elsewhere in that process.

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// The bytes of the index that SQLite locks for a reader, while its transaction lasts; and those of the file itself, while a connection is open.
const (
	firstReadLock, lastReadLock = 123, 127
	firstSharedLock             = 0x40000002
)

// heldLock is a line of /proc/locks.
type heldLock struct {
	kind       string // FLOCK, POSIX, OFDLCK
	pid        int    // 0 or less: of another container
	inode      uint64
	start, end int64
}

// parseLocks reads what the kernel writes: "1: POSIX  ADVISORY  READ 4711 08:01:12345 124 124".
func parseLocks(text []byte) (locks []heldLock) {
	for line := range bytes.Lines(text) {
		f := strings.Fields(string(line))
		if len(f) < 8 || f[1] == "->" {
			continue // who waits holds nothing
		}
		device := strings.Split(f[5], ":")
		l := heldLock{kind: f[1]}
		var err error
		if l.pid, err = strconv.Atoi(f[4]); err != nil {
			continue
		}
		if l.inode, err = strconv.ParseUint(device[len(device)-1], 10, 64); err != nil {
			continue
		}
		if l.start, err = strconv.ParseInt(f[6], 10, 64); err != nil {
			continue
		}
		if l.end, err = strconv.ParseInt(f[7], 10, 64); err != nil { // EOF
			l.end = 1<<63 - 1
		}
		locks = append(locks, l)
	}
	return locks
}

// holders names the processes, but this one, that hold a lock which fits on a file.
func holders(path string, fits func(l heldLock) bool) []string {
	id, err := identify(path)
	if err != nil {
		return nil
	}
	text, err := os.ReadFile("/proc/locks")
	if err != nil {
		return nil
	}
	var names []string
	for _, l := range parseLocks(text) {
		if l.inode == id.inode && l.pid != os.Getpid() && fits(l) {
			names = append(names, processName(l.pid))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// processName is how people know a process. Its arguments are not shown: they may hold what nobody is to read in a log.
func processName(pid int) string {
	if pid <= 0 {
		return "a process of another container"
	}
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return fmt.Sprintf("process %d", pid)
	}
	return fmt.Sprintf("process %d (%s)", pid, strings.ToValidUTF8(strings.TrimSpace(string(name)), "?"))
}

// readersOf names the processes that are in a transaction of a database, but this one.
func readersOf(path string) []string {
	return holders(indexPath(path), func(l heldLock) bool {
		return l.kind != "FLOCK" && l.start <= lastReadLock && l.end >= firstReadLock
	})
}

// openersOf names the processes that have a database open, but this one.
func openersOf(path string) []string {
	return holders(path, func(l heldLock) bool { return l.kind != "FLOCK" && l.end >= firstSharedLock })
}

// holderOf names the process that has locked a file as a whole.
func holderOf(path string) string {
	return strings.Join(holders(path, func(l heldLock) bool { return l.kind == "FLOCK" }), ", ")
}
