package sqlite

// A full disk. What is committed lies in the log, and the file needs room before it can be copied there: so a disk on which the log took the last byte could not be healed by
// freeing a few, which the log would take too. Therefore a worker process keeps a reserve, a file of the size that the log is to have. When the disk is full the reserve is
// deleted, the log is copied, and begins anew in the room that it has. From then on each group is copied before the next one is written: what is in the log always finds room
// in the file as soon as there is room for one group. The reserve is made again when that is possible.

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/stepwell/stepwell/world"
)

// fullError is what is answered where there is no room.
type fullError struct{ path string }

func (e *fullError) Error() string {
	return fmt.Sprintf("%s: database %s: full: nothing was written; free space on the disk, then try again", world.ErrStorage, e.path)
}

// Is reports whether target is [world.ErrStorage].
func (e *fullError) Is(target error) bool { return target == world.ErrStorage }

func reservePath(path string) string { return path + "-reserve" }

// reserve is the file that is given up when the disk is full. It belongs to the writer.
type reserve struct {
	limit int64     // its size, and the most that the log is to have; 0: there is none
	tried time.Time // when it was made, or could not be
}

// reserveAgain is the time between tries to make it again.
const reserveAgain = 5 * time.Second

// make makes the reserve, and reports whether there is one. On a small volume it is a quarter of what is free.
func (r *reserve) make(path string, want int64, allocate func(f *os.File, size int64) error) bool {
	r.tried = time.Now()
	if free, ok := freeSpace(path); ok {
		want = min(want, free/4)
	}
	want = max(want, leastReserve)
	f, err := os.OpenFile(reservePath(path), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return false
	}
	if info, e := f.Stat(); e != nil || info.Size() != want {
		if err = f.Truncate(0); err == nil {
			err = allocate(f, want)
		}
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(reservePath(path))
		return false
	}
	r.limit = want
	return true
}

// size is that of the reserve, 0 where none was made.
func (r *reserve) size() int64 { return r.limit }

// leastReserve is room for a few groups.
const leastReserve = 256 << 10

// writeOut writes a file up to a size.
func writeOut(f *os.File, size int64) error {
	block := make([]byte, 64<<10)
	for at := int64(0); at < size; at += int64(len(block)) {
		if _, err := f.WriteAt(block[:min(int64(len(block)), size-at)], at); err != nil {
			return err
		}
	}
	return nil
}

// giveUp deletes the reserve.
func (r *reserve) giveUp(path string) { _ = os.Remove(reservePath(path)) }

// fill notes that the disk is full, and gives up the reserve.
func (wr *writer) fill() {
	if !wr.full {
		wr.w.complain("the disk is full; work continues by itself when there is room")
	}
	wr.full = true
	wr.reserve.giveUp(wr.w.path)
	wr.reserve.tried = time.Now()
}

// retryFull tries again what found no room, once the log is copied: it begins anew in the room that it has.
func (wr *writer) retryFull() {
	room := false
	for i, r := range wr.batch {
		if _, full := errors.AsType[*fullError](r.err); !full {
			continue
		}
		if !room {
			room = wr.freeNumbers()
		}
		if !room {
			wr.fill()
			if room = wr.makeRoom(); !room {
				return
			}
		}
		_ = wr.transaction(wr.batch[i : i+1])
	}
}

// makeRoom copies the log, and reports whether that could be done.
func (wr *writer) makeRoom() bool {
	return wr.c != nil && wr.doubt == noDoubt && wr.copyAll()
}

// room refuses a group on a full disk while the one before is not copied. Heartbeats and takes make nothing larger, and go on in the room that the log has.
func (wr *writer) room(lazy bool) error {
	if wr.full && wr.backlog.isLeft() && !lazy && !wr.makeRoom() {
		return &fullError{wr.w.path}
	}
	return nil
}

// refill ends what a full disk began, where there is room again.
func (wr *writer) refill() {
	if !wr.full || wr.backlog.isLeft() {
		return
	}
	if wr.w.lock != nil {
		if time.Since(wr.reserve.tried) < reserveAgain || !wr.reserve.make(wr.w.path, wr.w.opt.CheckpointSize, wr.w.opt.allocate) {
			return
		}
	}
	wr.full = false
	wr.w.inform("the disk has room again")
}
