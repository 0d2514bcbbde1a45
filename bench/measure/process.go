package measure

// This file reads what processes use, from /proc: elsewhere than on Linux it is 0.

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Usage is what was used since some beginning.
type Usage struct {
	CPU     time.Duration
	Written int64 // bytes sent to the disk
	Commits int64
}

// Plus is what two have used.
func (u Usage) Plus(v Usage) Usage {
	return Usage{u.CPU + v.CPU, u.Written + v.Written, u.Commits + v.Commits}
}

// Minus is what was used between two moments.
func (u Usage) Minus(before Usage) Usage {
	return Usage{u.CPU - before.CPU, u.Written - before.Written, u.Commits - before.Commits}
}

// tick is the unit of CPU times in /proc: the kernel's USER_HZ, which is 100 on every system that Go runs on.
const tick = 10 * time.Millisecond

// Processes is what some processes and all below them have used, those that ended included.
func Processes(roots ...int) Usage { return used(roots, "write_bytes:") }

// Server is the same of a PostgreSQL server, but for what it wrote: that is what it gave to the system to write to files. Linux counts as sent to the disk
// all of a folio of which one byte has changed, and the files of PostgreSQL's log are in folios of 256 KiB, as they are filled with zeros in such
// pieces: a commit of one page would count as 256 KiB. To its clients a server speaks by other calls than write.
func Server(roots ...int) Usage { return used(roots, "wchar:") }

// used adds up what processes have used; written is the name of what they wrote.
func used(roots []int, written string) (u Usage) {
	for _, pid := range family(roots) {
		b, err := os.ReadFile(proc(pid, "stat"))
		if err != nil {
			continue // it has just ended, and its parent has its share
		}
		// The name, in parentheses, may hold anything. Behind it: state, parent, …; times from the 12th on.
		fields := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
		if len(fields) < 15 {
			continue
		}
		for _, f := range fields[11:15] { // own time in user and kernel mode, that of children that were waited for
			n, _ := strconv.ParseInt(f, 10, 64)
			u.CPU += time.Duration(n) * tick
		}
		if io, err := os.ReadFile(proc(pid, "io")); err == nil {
			u.Written += field(string(io), written)
		}
	}
	return u
}

// Resident is what some processes and all below them hold in memory, in MiB. What they share is counted for each.
func Resident(roots ...int) float64 {
	var kib int64
	for _, pid := range family(roots) {
		if b, err := os.ReadFile(proc(pid, "status")); err == nil {
			kib += field(string(b), "VmRSS:")
		}
	}
	return float64(kib) / 1024
}

// DiskBytes is what the files below a folder take.
func DiskBytes(dir string) (n int64) {
	_ = filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil // a file that is gone takes nothing
	})
	return n
}

// family is some processes and all that descend from them.
func family(roots []int) []int {
	children := map[int][]int{}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		b, err := os.ReadFile(proc(pid, "status"))
		if err != nil {
			continue
		}
		parent := int(field(string(b), "PPid:"))
		children[parent] = append(children[parent], pid)
	}
	seen := map[int]bool{}
	var all []int
	for todo := append([]int(nil), roots...); len(todo) > 0; todo = todo[1:] {
		if pid := todo[0]; pid > 0 && !seen[pid] {
			seen[pid] = true
			all = append(all, pid)
			todo = append(todo, children[pid]...)
		}
	}
	return all
}

// field is the number behind a name at the beginning of a line, or 0.
func field(text, name string) int64 {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			if fields := strings.Fields(rest); len(fields) > 0 {
				n, _ := strconv.ParseInt(fields[0], 10, 64)
				return n
			}
		}
	}
	return 0
}

func proc(pid int, name string) string { return filepath.Join("/proc", strconv.Itoa(pid), name) }
