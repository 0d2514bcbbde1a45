// Package faultvfs is a file system for tests of SQLite files: it lies between SQLite and the real one, fails calls, and knows what a power cut would leave.
//
// It is a VFS of SQLite, registered under a name of its own, that hands each call down to the default one. The files are real ones, so that what is read
// back is what a system without a power cut shows.
package faultvfs

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// header lies before the file of the real file system in what SQLite allocates for a file.
type header struct {
	methods uintptr
	id      uintptr
}

const headerSize = unsafe.Sizeof(header{})

var registry struct {
	sync.Mutex
	last  uintptr
	disks map[uintptr]*Disk // by the VFS's address
	files map[uintptr]*image
	keep  []any // what SQLite points to
}

// at is what a pointer of C's points to.
func at[T any](p uintptr) *T { return *(**T)(unsafe.Pointer(&p)) }

// pointer is a function as C has it, function the way back.
func pointer[T any](f T) uintptr { return *(*uintptr)(unsafe.Pointer(&f)) }

func function[T any](p uintptr) T { return *(*T)(unsafe.Pointer(&p)) }

// The kinds of functions in the tables.
type (
	onFile    = func(*libc.TLS, uintptr) int32
	onFileInt = func(*libc.TLS, uintptr, int32) int32
	onFilePtr = func(*libc.TLS, uintptr, uintptr) int32
	transfer  = func(*libc.TLS, uintptr, uintptr, int32, int64) int32
	truncate  = func(*libc.TLS, uintptr, int64) int32
	control   = func(*libc.TLS, uintptr, int32, uintptr) int32
	shmMap    = func(*libc.TLS, uintptr, int32, int32, int32, uintptr) int32
	shmLock   = func(*libc.TLS, uintptr, int32, int32, int32) int32
	barrier   = func(*libc.TLS, uintptr)
	open      = func(*libc.TLS, uintptr, uintptr, uintptr, int32, uintptr) int32
	remove    = func(*libc.TLS, uintptr, uintptr, int32) int32
	access    = func(*libc.TLS, uintptr, uintptr, int32, uintptr) int32
	fullPath  = func(*libc.TLS, uintptr, uintptr, int32, uintptr) int32
)

// real is the file below, and its methods.
func real(file uintptr) (uintptr, *sqlite3.Tsqlite3_io_methods) {
	below := file + headerSize
	return below, at[sqlite3.Tsqlite3_io_methods](at[sqlite3.Tsqlite3_file](below).FpMethods)
}

// imageOf is what is known of a file; nil: it is a temporary one.
func imageOf(file uintptr) *image {
	registry.Lock()
	defer registry.Unlock()
	return registry.files[at[header](file).id]
}

func diskOf(vfs uintptr) (*Disk, uintptr) {
	registry.Lock()
	defer registry.Unlock()
	d := registry.disks[vfs]
	return d, d.base
}

var methods = &sqlite3.Tsqlite3_io_methods{
	FiVersion: 2, // without xFetch: nothing is read past this file system
	FxClose: pointer[onFile](func(t *libc.TLS, f uintptr) int32 {
		below, m := real(f)
		registry.Lock()
		delete(registry.files, at[header](f).id)
		registry.Unlock()
		return function[onFile](m.FxClose)(t, below)
	}),
	FxRead: pointer[transfer](func(t *libc.TLS, f, buf uintptr, n int32, off int64) int32 {
		below, m := real(f)
		return imageOf(f).do(Read, func() int32 { return function[transfer](m.FxRead)(t, below, buf, n, off) }, nil)
	}),
	FxWrite: pointer[transfer](func(t *libc.TLS, f, buf uintptr, n int32, off int64) int32 {
		below, m := real(f)
		i := imageOf(f)
		if i != nil && i.disk.over(i, off+int64(n)) {
			return sqlite3.SQLITE_FULL
		}
		return i.do(Write, func() int32 { return function[transfer](m.FxWrite)(t, below, buf, n, off) }, func() {
			i.pending = append(i.pending, write{off, append([]byte(nil), unsafe.Slice(at[byte](buf), n)...)})
		})
	}),
	FxTruncate: pointer[truncate](func(t *libc.TLS, f uintptr, size int64) int32 {
		below, m := real(f)
		i := imageOf(f)
		return i.do(Truncate, func() int32 { return function[truncate](m.FxTruncate)(t, below, size) }, func() {
			i.pending = append(i.pending, write{size, nil})
		})
	}),
	FxSync: pointer[onFileInt](func(t *libc.TLS, f uintptr, flags int32) int32 {
		i := imageOf(f)
		return i.do(Sync, func() int32 { return 0 }, func() { i.settle() })
	}),
	FxFileSize: pointer[onFilePtr](func(t *libc.TLS, f, size uintptr) int32 {
		below, m := real(f)
		return function[onFilePtr](m.FxFileSize)(t, below, size)
	}),
	FxLock: pointer[onFileInt](func(t *libc.TLS, f uintptr, level int32) int32 {
		below, m := real(f)
		return function[onFileInt](m.FxLock)(t, below, level)
	}),
	FxUnlock: pointer[onFileInt](func(t *libc.TLS, f uintptr, level int32) int32 {
		below, m := real(f)
		return function[onFileInt](m.FxUnlock)(t, below, level)
	}),
	FxCheckReservedLock: pointer[onFilePtr](func(t *libc.TLS, f, out uintptr) int32 {
		below, m := real(f)
		return function[onFilePtr](m.FxCheckReservedLock)(t, below, out)
	}),
	FxFileControl: pointer[control](func(t *libc.TLS, f uintptr, op int32, arg uintptr) int32 {
		below, m := real(f)
		return function[control](m.FxFileControl)(t, below, op, arg)
	}),
	FxSectorSize: pointer[onFile](func(t *libc.TLS, f uintptr) int32 {
		below, m := real(f)
		return function[onFile](m.FxSectorSize)(t, below)
	}),
	FxDeviceCharacteristics: pointer[onFile](func(t *libc.TLS, f uintptr) int32 {
		below, m := real(f)
		return function[onFile](m.FxDeviceCharacteristics)(t, below)
	}),
	FxShmMap: pointer[shmMap](func(t *libc.TLS, f uintptr, region, size, extend int32, out uintptr) int32 {
		below, m := real(f)
		return imageOf(f).do(Map, func() int32 { return function[shmMap](m.FxShmMap)(t, below, region, size, extend, out) }, nil)
	}),
	FxShmLock: pointer[shmLock](func(t *libc.TLS, f uintptr, off, n, flags int32) int32 {
		below, m := real(f)
		return function[shmLock](m.FxShmLock)(t, below, off, n, flags)
	}),
	FxShmBarrier: pointer[barrier](func(t *libc.TLS, f uintptr) {
		below, m := real(f)
		function[barrier](m.FxShmBarrier)(t, below)
	}),
	FxShmUnmap: pointer[onFileInt](func(t *libc.TLS, f uintptr, deletes int32) int32 {
		below, m := real(f)
		return function[onFileInt](m.FxShmUnmap)(t, below, deletes)
	}),
}

func xOpen(t *libc.TLS, vfs, name, file uintptr, flags int32, out uintptr) int32 {
	d, base := diskOf(vfs)
	h := at[header](file)
	h.methods, h.id = 0, 0
	below := file + headerSize
	at[sqlite3.Tsqlite3_file](below).FpMethods = 0
	var i *image
	if name != 0 {
		i = d.image(libc.GoString(name))
	}
	rc := i.do(Open, func() int32 {
		return function[open](at[sqlite3.Tsqlite3_vfs](base).FxOpen)(t, base, name, below, flags, out)
	}, nil)
	if at[sqlite3.Tsqlite3_file](below).FpMethods == 0 {
		return rc
	}
	registry.Lock()
	defer registry.Unlock()
	registry.last++
	h.methods, h.id = uintptr(unsafe.Pointer(methods)), registry.last
	if i != nil {
		registry.files[h.id] = i
	}
	return rc
}

func xDelete(t *libc.TLS, vfs, name uintptr, syncs int32) int32 {
	d, base := diskOf(vfs)
	path := libc.GoString(name)
	return d.image(path).do(Delete, func() int32 {
		return function[remove](at[sqlite3.Tsqlite3_vfs](base).FxDelete)(t, base, name, syncs)
	}, func() { delete(d.images, path) })
}

func xAccess(t *libc.TLS, vfs, name uintptr, flags int32, out uintptr) int32 {
	_, base := diskOf(vfs)
	return function[access](at[sqlite3.Tsqlite3_vfs](base).FxAccess)(t, base, name, flags, out)
}

func xFullPathname(t *libc.TLS, vfs, name uintptr, n int32, out uintptr) int32 {
	_, base := diskOf(vfs)
	return function[fullPath](at[sqlite3.Tsqlite3_vfs](base).FxFullPathname)(t, base, name, n, out)
}

// register makes SQLite know a disk.
func register(d *Disk) error {
	t := libc.NewTLS()
	defer t.Close()
	d.base = sqlite3.Xsqlite3_vfs_find(t, 0)
	if d.base == 0 {
		return errors.New("SQLite has no file system")
	}
	vfs := new(sqlite3.Tsqlite3_vfs)
	*vfs = *at[sqlite3.Tsqlite3_vfs](d.base)
	registry.Lock()
	if registry.disks == nil {
		registry.disks, registry.files = map[uintptr]*Disk{}, map[uintptr]*image{}
	}
	registry.last++
	d.name = fmt.Sprint("faults", registry.last)
	d.vfs = uintptr(unsafe.Pointer(vfs))
	registry.disks[d.vfs] = d
	registry.keep = append(registry.keep, vfs)
	registry.Unlock()
	name, err := libc.CString(d.name)
	if err != nil {
		return err
	}
	vfs.FpNext, vfs.FzName = 0, name
	vfs.FszOsFile += int32(headerSize)
	vfs.FxOpen, vfs.FxDelete = pointer[open](xOpen), pointer[remove](xDelete)
	vfs.FxAccess, vfs.FxFullPathname = pointer[access](xAccess), pointer[fullPath](xFullPathname)
	if rc := sqlite3.Xsqlite3_vfs_register(t, d.vfs, 0); rc != 0 {
		return fmt.Errorf("register a file system: SQLite result %d", rc)
	}
	return nil
}

// kindOf tells what a file of a database is by its name.
func kindOf(path string) Kind {
	switch {
	case strings.HasSuffix(path, "-wal"):
		return Log
	case strings.HasSuffix(path, "-journal"):
		return Journal
	}
	return Main
}
