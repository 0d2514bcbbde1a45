package sqlite

// After a sync that failed nothing is known of what was written before it: the system may have dropped pages that it could not write, and does not try again, so that a later
// sync that succeeds says nothing about them. What is read back shows them all the same, until the power fails.
//
//  1. Nothing is written, copied or begun anew until the database is known to be whole.
//  2. The log is written again, byte by byte in its own place, and synced: after that it is on the disk as it is read. Before that its checksums are followed from the front to
//     the last frame that readers see; what does not fit is lost, and the world ends. What lies behind the last frame, a group whose commit failed, is made void.
//  3. A checkpoint copies piece by piece, and syncs the file once, at its end. If that sync fails, pieces that were copied before it may be lost, and SQLite believes that
//     they were copied. It forgets that when the last connection is closed. So all are closed, the log stays, and all of it is copied again.
//
// Where another process has the file open, 3 cannot be done: this world writes nothing until it has gone.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	driversqlite "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/stepwell/stepwell/world"
)

// doubt is what a sync that failed leaves.
type doubt int

const (
	noDoubt   doubt = iota
	logDoubt        // the log may lack what was written
	fileDoubt       // and so may the file
)

// patience is how long the world's own readers are waited for while it is mended.
const patience = time.Second

// distrust notes that a sync failed, or what may have been one.
func (wr *writer) distrust(d doubt, err error) {
	if wr.doubt == noDoubt {
		wr.w.complain("the disk failed to write or sync; nothing is written until the database is known to be whole", "err", err)
	}
	wr.doubt = max(wr.doubt, d)
}

// unmended says why nothing is written.
func (wr *writer) unmended(why error) error {
	return fmt.Errorf("%w: database %s: the disk failed to sync, and it is not yet known what it contains: %w; nothing was written, try again", world.ErrStorage, wr.w.path, why)
}

// mend makes the database whole after a sync that failed.
func (wr *writer) mend() error {
	if wr.doubt == noDoubt {
		return nil
	}
	if err := wr.rewrite(); err != nil {
		if wr.w.files.whyLost() != nil {
			return err
		}
		return wr.unmended(classify(wr.w.path, err))
	}
	if wr.doubt == fileDoubt {
		if err := wr.recopy(); err != nil {
			return wr.unmended(classify(wr.w.path, err))
		}
	}
	wr.doubt, wr.older = noDoubt, false
	wr.backlog.leaves(false)
	wr.w.inform("the disk syncs again, and the database is whole")
	return nil
}

// rewrite makes the log durable, on a new connection: the old one's view of the file cannot be trusted any more.
func (wr *writer) rewrite() (err error) {
	c, err := wr.w.connectKeeping()
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.close())
		}
	}()
	if _, err := c.exec(begin); err != nil { // nobody else writes
		return err
	}
	defer func() { _, _ = c.exec(rollback) }()
	other, err := wr.w.connectKeeping()
	if err != nil {
		return err
	}
	p, err := copyLog(other, walLook)
	if err := errors.Join(err, other.close()); err != nil {
		return err
	}
	f, err := wr.w.opt.openLog(logPath(wr.w.path))
	if err != nil {
		return err
	}
	err = rewriteLog(f, p.log)
	if e := f.Close(); err == nil {
		err = e
	}
	if errors.Is(err, errDamagedLog) {
		err = wr.w.files.stop(fmt.Errorf("%w: %w: %s: %w since the disk failed to sync it; nothing more is written: stop every program that has the database open, check the disk, "+
			"and start again: what comes before the damage is there", world.ErrStorage, world.ErrReplaced, logPath(wr.w.path), err))
	}
	if err != nil {
		return err
	}
	if wr.c != nil {
		wr.drop()
	}
	wr.c, wr.version = c, -1
	return nil
}

// recopy copies the whole log into the file, from its first frame on.
func (wr *writer) recopy() error {
	w := wr.w
	var held []*conn
	defer func() {
		for range held {
			w.readers <- nil
		}
	}()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for len(held) < cap(w.readers) {
		select {
		case c := <-w.readers:
			held = append(held, c)
			if c != nil {
				_ = c.close()
			}
		case <-limit.C:
			return errors.New("a read of this process takes long")
		}
	}
	wr.drop()
	c, err := w.connectKeeping()
	if err != nil {
		return err
	}
	if err := w.files.connected(); err != nil {
		return errors.Join(err, c.close())
	}
	wr.c, wr.version = c, -1
	p, err := copyLog(c, walLook)
	if err != nil {
		return err
	}
	if p.copied > 0 {
		return fmt.Errorf("another process has the file open (%s): end it", anybody(openersOf(w.path)))
	}
	if p, err = copyLog(c, walPassive); err != nil {
		return err
	}
	if !p.done() {
		return errors.New("a reader keeps the log from being copied")
	}
	return nil
}

func anybody(who []string) string {
	if len(who) == 0 {
		return "it is unknown which"
	}
	return strings.Join(who, ", ")
}

// connectKeeping opens a connection that leaves the log where it is when it is closed, also when it is the last one.
func (w *World) connectKeeping() (*conn, error) {
	c, err := w.connect()
	if err != nil {
		return nil, err
	}
	if err := c.keepLog(true); err != nil {
		return nil, errors.Join(classify(w.path, err), c.close())
	}
	return c, nil
}

// keepLog says whether the log stays when this connection is the last to be closed.
func (c *conn) keepLog(keep bool) error {
	_, err := c.raw.(driversqlite.FileControl).FileControlPersistWAL("main", int(bit(keep)))
	return err
}

// logFile is the write-ahead log as a file.
type logFile interface {
	io.ReaderAt
	io.WriterAt
	Sync() error
	Close() error
}

func openLog(path string) (logFile, error) { return os.OpenFile(path, os.O_RDWR, 0) }

var errDamagedLog = errors.New("the write-ahead log is damaged")

// The layout of a log, see "WAL file format" of https://www.sqlite.org/fileformat2.html.
const (
	logHeader   = 32
	frameHeader = 24
	logMagic    = 0x377f0682 // and 1 where checksums are of big-endian words
)

// rewriteLog checks so many frames from the front of a log, writes them again where they are, voids what follows, and syncs.
func rewriteLog(f logFile, frames int64) error {
	header := make([]byte, logHeader)
	void := int64(0) // where the next frame begins
	switch n, err := f.ReadAt(header, 0); {
	case frames <= 0 && errors.Is(err, io.EOF):
		return f.Sync()
	case err != nil:
		return fmt.Errorf("%w: its header: %w", errDamagedLog, err)
	case n < logHeader:
		return errDamagedLog
	}
	magic, size := binary.BigEndian.Uint32(header), int64(binary.BigEndian.Uint32(header[8:]))
	if frames > 0 {
		sum := checksum{order: binary.LittleEndian}
		if magic&1 != 0 {
			sum.order = binary.BigEndian
		}
		if magic&^1 != logMagic || size < 512 || size > 65536 || !sum.add(header[:24]).is(header[24:]) {
			return fmt.Errorf("%w: its header", errDamagedLog)
		}
		if _, err := f.WriteAt(header, 0); err != nil {
			return err
		}
		frame := make([]byte, frameHeader+size)
		for i := range frames {
			at := logHeader + i*int64(len(frame))
			if _, err := f.ReadAt(frame, at); err != nil {
				return fmt.Errorf("%w: frame %d of %d: %w", errDamagedLog, i+1, frames, err)
			}
			if string(frame[8:16]) != string(header[16:24]) || !sum.add(frame[:8]).add(frame[frameHeader:]).is(frame[16:24]) {
				return fmt.Errorf("%w: frame %d of %d", errDamagedLog, i+1, frames)
			}
			if _, err := f.WriteAt(frame, at); err != nil {
				return err
			}
		}
		void = logHeader + frames*int64(len(frame))
	} else {
		void = logHeader
	}
	next := make([]byte, frameHeader)
	if n, _ := f.ReadAt(next, void); n > 0 {
		clear(next)
		if _, err := f.WriteAt(next[:n], void); err != nil {
			return err
		}
	}
	return f.Sync()
}

// checksum is SQLite's, of words of 32 bits.
type checksum struct {
	order  binary.ByteOrder
	s0, s1 uint32
}

func (c *checksum) add(b []byte) *checksum {
	for ; len(b) >= 8; b = b[8:] {
		c.s0 += c.order.Uint32(b) + c.s1
		c.s1 += c.order.Uint32(b[4:]) + c.s0
	}
	return c
}

func (c *checksum) is(b []byte) bool {
	return binary.BigEndian.Uint32(b) == c.s0 && binary.BigEndian.Uint32(b[4:]) == c.s1
}

func isBusy(err error) bool {
	code := resultCode(err)
	return code == lib.SQLITE_BUSY || code == lib.SQLITE_LOCKED
}

func isFull(err error) bool { return resultCode(err) == lib.SQLITE_FULL }
