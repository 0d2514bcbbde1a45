package faultvfs

// What a disk has, and what it would have after a power cut.

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"

	sqlite3 "modernc.org/sqlite/lib"
)

// Op is a kind of call.
type Op string

// The calls that can fail.
const (
	Open     Op = "open"
	Read     Op = "read"
	Write    Op = "write"
	Truncate Op = "truncate"
	Sync     Op = "sync"
	Delete   Op = "delete"
	Map      Op = "map" // of the index of the log
)

// Ops lists all of them.
var Ops = []Op{Open, Read, Write, Truncate, Sync, Delete, Map}

// Kind is what a file is for.
type Kind string

// The files of a database that SQLite opens.
const (
	Main    Kind = "main"
	Log     Kind = "log"
	Journal Kind = "journal"
)

// Call is a call that is about to be made.
type Call struct {
	Op   Op
	Kind Kind
	N    int // its number among those of its Op, from 1

	disk *Disk
}

// Cut is [Disk.Cut] at the moment before the call.
func (c Call) Cut(dir string) error { return c.disk.cut(dir) }

// Schedule says what a call comes to: 0, or a result code of SQLite's, and then it is not made. It is called by one goroutine at a time, which may call the Call's Cut and no
// other method of its disk.
type Schedule func(Call) int

// InputOutput is the code for what the system calls EIO, at a call.
func InputOutput(op Op) int {
	switch op {
	case Read:
		return sqlite3.SQLITE_IOERR_READ
	case Write:
		return sqlite3.SQLITE_IOERR_WRITE
	case Truncate:
		return sqlite3.SQLITE_IOERR_TRUNCATE
	case Sync:
		return sqlite3.SQLITE_IOERR_FSYNC
	case Delete:
		return sqlite3.SQLITE_IOERR_DELETE
	case Map:
		return sqlite3.SQLITE_IOERR_SHMMAP
	}
	return sqlite3.SQLITE_CANTOPEN
}

// NoSpace is the code for ENOSPC at a call that can meet it, else 0.
func NoSpace(op Op) int {
	if op == Write {
		return sqlite3.SQLITE_FULL
	}
	return 0
}

// Disk is a file system with faults. It is safe for concurrent use, and is never taken out of SQLite again.
type Disk struct {
	name      string
	vfs, base uintptr

	mu       sync.Mutex
	plan     Schedule          // guarded by mu
	calls    map[Op]int        // guarded by mu
	images   map[string]*image // guarded by mu
	capacity int64             // guarded by mu
	rnd      *rand.Rand        // guarded by mu
}

// image is what a disk has of a file. A nil image is that of a temporary file, and never fails.
type image struct {
	disk    *Disk
	path    string
	durable []byte
	pending []write // not synced yet, in order
}

// write is one to a file, or with no data its being cut.
type write struct {
	off  int64
	data []byte
}

// New makes a disk. What is lost by chance comes from the seed.
func New(seed uint64) (*Disk, error) {
	d := &Disk{calls: map[Op]int{}, images: map[string]*image{}, rnd: rand.New(rand.NewPCG(seed, 0xd15c))}
	return d, register(d)
}

// Name is the disk's for SQLite: file:PATH?vfs=NAME.
func (d *Disk) Name() string { return d.name }

// Plan sets what calls come to from now on, and counts them anew; nil: all succeed.
func (d *Disk) Plan(p Schedule) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.plan = p
	clear(d.calls)
}

// Calls counts the calls of a kind since the last Plan.
func (d *Disk) Calls(op Op) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.calls[op]
}

// Limit sets how many bytes all files of a database's directory may have together; 0: no limit.
func (d *Disk) Limit(bytes int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.capacity = bytes
}

// Used is how many bytes the files of a directory have.
func Used(dir string) (sum int64) {
	files, _ := os.ReadDir(dir)
	for _, f := range files {
		if info, err := f.Info(); err == nil {
			sum += info.Size()
		}
	}
	return sum
}

// over reports whether a file may not grow to a size.
func (d *Disk) over(i *image, size int64) bool {
	d.mu.Lock()
	capacity := d.capacity
	d.mu.Unlock()
	if capacity == 0 {
		return false
	}
	info, err := os.Stat(i.path)
	return err == nil && size > info.Size() && Used(filepath.Dir(i.path))+size-info.Size() > capacity
}

func (d *Disk) image(path string) *image {
	d.mu.Lock()
	defer d.mu.Unlock()
	i := d.images[path]
	if i == nil {
		i = &image{disk: d, path: path}
		i.durable, _ = os.ReadFile(path) // what was there before is durable
		d.images[path] = i
	}
	return i
}

// do makes a call, unless it is to fail, and notes it.
func (i *image) do(op Op, call func() int32, note func()) int32 {
	if i == nil {
		return call()
	}
	d := i.disk
	d.mu.Lock()
	d.calls[op]++
	if d.plan != nil {
		if code := d.plan(Call{op, kindOf(i.path), d.calls[op], d}); code != 0 {
			if op == Sync {
				i.forget()
			}
			d.mu.Unlock()
			return int32(code)
		}
	}
	d.mu.Unlock()
	rc := call()
	if rc == 0 && note != nil {
		d.mu.Lock()
		note()
		d.mu.Unlock()
	}
	return rc
}

// settle makes durable what was written.
func (i *image) settle() {
	for _, w := range i.pending {
		i.durable = w.apply(i.durable)
	}
	i.pending = nil
}

// forget is what a system does when a sync fails: it believes that all was written. Some of it was.
func (i *image) forget() {
	for _, w := range i.pending {
		if i.disk.rnd.IntN(2) == 0 {
			i.durable = w.apply(i.durable)
		}
	}
	i.pending = nil
}

func (w write) apply(to []byte) []byte {
	if w.data == nil {
		return resize(to, w.off)
	}
	if end := w.off + int64(len(w.data)); end > int64(len(to)) {
		to = resize(to, end)
	}
	copy(to[w.off:], w.data)
	return to
}

func resize(b []byte, size int64) []byte {
	if size <= int64(len(b)) {
		return b[:size:size]
	}
	return append(b, make([]byte, size-int64(len(b)))...)
}

// sector is the least that a disk writes as a whole.
const sector = 512

// Cut writes into a directory what a power cut at this moment leaves: what was synced, and of the rest what chance has it: whole writes, some sectors of
// them, or nothing.
func (d *Disk) Cut(dir string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.cut(dir)
}

func (d *Disk) cut(dir string) error {
	for path, i := range d.images {
		if _, err := os.Stat(path); err != nil {
			continue
		}
		left := append([]byte(nil), i.durable...)
		for _, w := range i.pending {
			switch d.rnd.IntN(3) {
			case 0:
				left = w.apply(left)
			case 1:
				for at := 0; at < len(w.data); at += sector {
					if d.rnd.IntN(2) == 0 {
						left = write{w.off + int64(at), w.data[at:min(at+sector, len(w.data))]}.apply(left)
					}
				}
			}
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(path)), left, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// File is a file of a disk that is written past SQLite.
type File struct {
	*os.File
	i *image
}

// OpenFile opens a file of the disk for reading and writing.
func (d *Disk) OpenFile(path string) (*File, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	return &File{f, d.image(path)}, nil
}

// WriteAt writes, unless it is to fail.
func (f *File) WriteAt(b []byte, off int64) (n int, err error) {
	rc := f.i.do(Write, func() int32 {
		if n, err = f.File.WriteAt(b, off); err != nil {
			return sqlite3.SQLITE_IOERR_WRITE
		}
		return 0
	}, func() { f.i.pending = append(f.i.pending, write{off, append([]byte(nil), b...)}) })
	return n, pathError("write", f.i.path, rc, err)
}

// Sync makes durable what was written, unless it is to fail.
func (f *File) Sync() error {
	return pathError("sync", f.i.path, f.i.do(Sync, func() int32 { return 0 }, f.i.settle), nil)
}

func pathError(op, path string, rc int32, err error) error {
	if err == nil && rc != 0 {
		err = &fs.PathError{Op: op, Path: path, Err: errFault}
	}
	return err
}

var errFault = errors.New("a fault")
