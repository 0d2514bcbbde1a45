package sqlite

// A write-ahead log does not say which file it belongs to: SQLite applies the one that lies beside a file, whatever that is.
// A backup that is copied over a file whose log was left behind would be damaged, or undone, without a word. So the file has
// an age. It stands above the version of the schema in the header's user_version, and the first transaction of a log makes it
// one more. The header tells the age and the schema cookie, which each way to make a backup changes; the log has copies of
// the header, and shows what the file was before.

import (
	"context"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/stepwell/stepwell/world"
)

const (
	versionBits = 16                      // of user_version, for the version of the schema
	versionMask = 1<<versionBits - 1      //
	ages        = 1 << (31 - versionBits) // they begin anew behind the last one
)

// header is what the first page of a file says of its age.
type header struct {
	cookie       uint32 // of SQLite: each change of the schema makes it one more
	age, version int
}

// readHeader reads the first bytes of a file, or of a copy of its first page.
func readHeader(page []byte) header {
	said := int(binary.BigEndian.Uint32(page[60:]))
	return header{binary.BigEndian.Uint32(page[40:]), said >> versionBits % ages, said & versionMask}
}

// headerSize is that of a file's header.
const headerSize = 100

// mostChanges is how many changes of the schema another program may have made in the first transaction of a log.
const mostChanges = 16

// before reports whether a file may have had the header when a log began whose first copy of the header is first.
func (h header) before(first header) bool {
	switch {
	case h.age != first.age && (h.age+1)%ages != first.age:
		return false
	case h.version < first.version: // a step of the schema
		return true
	case h.age == first.age: // another program wrote first
		return h.cookie <= first.cookie && first.cookie-h.cookie <= mostChanges
	}
	return h.cookie == first.cookie
}

// owns reports whether a log with these copies of the header may be the file's.
func (h header) owns(copies []header) bool {
	if len(copies) == 0 || h.before(copies[0]) {
		return true
	}
	for _, c := range copies {
		if h.age == c.age && h.cookie == c.cookie {
			return true
		}
	}
	return false
}

// checkLog refuses a file beside which another file's log lies. Nothing may have opened it before: a connection applies the
// log when it is closed.
func checkLog(path string) error {
	for range 5 { // somebody else may begin a new log meanwhile
		foreign, err := foreignLog(path)
		if err != nil || !foreign {
			return nil // what cannot be read SQLite says better
		}
		time.Sleep(10 * time.Millisecond)
	}
	return fmt.Errorf("%w: the write-ahead log %s is not the one of this file: a backup was copied over a file that was not closed, or a log beside it; nothing was changed: "+
		"to open the backup, stop every program that has the database open, and delete %[2]s and %[3]s; to keep what was there before, put that file back",
		world.ErrStorage, logPath(path), indexPath(path))
}

// foreignLog reports whether the log beside a file is another file's.
func foreignLog(path string) (bool, error) {
	log, err := os.Open(logPath(path))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	defer func() { _ = log.Close() }()
	begin, err := readAt(log, 0, logHeader)
	if errors.Is(err, io.EOF) { // it is empty
		return false, nil
	} else if err != nil {
		return false, err
	}
	file, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer func() { _ = file.Close() }()
	main, err := readAt(file, 0, headerSize)
	if errors.Is(err, io.EOF) { // all that was ever written to it is in the log
		return false, nil
	} else if err != nil {
		return false, err
	}
	copies, err := headersIn(log, begin)
	if err != nil {
		return false, err
	}
	if now, err := readAt(log, 0, logHeader); err != nil || string(now) != string(begin) {
		return false, err // it has begun anew
	}
	return !readHeader(main).owns(copies), nil
}

// readAt reads so many bytes of a file.
func readAt(f io.ReaderAt, offset int64, n int) ([]byte, error) {
	b := make([]byte, n)
	_, err := f.ReadAt(b, offset)
	return b, err
}

// headersIn lists the copies of a file's header that the committed transactions of a log have.
func headersIn(log io.ReaderAt, begin []byte) (copies []header, err error) {
	magic := binary.BigEndian.Uint32(begin)
	size := int(binary.BigEndian.Uint32(begin[8:]))
	if magic&^1 != logMagic || size < 512 || size > 1<<16 {
		return nil, nil // SQLite takes it for empty
	}
	sum := checksum{order: binary.LittleEndian}
	if magic&1 != 0 {
		sum.order = binary.BigEndian
	}
	if !sum.add(begin[:24]).is(begin[24:]) {
		return nil, nil
	}
	frame := make([]byte, frameHeader+size)
	var open []header // of a transaction that is not known to be committed
	for offset := int64(logHeader); ; offset += int64(len(frame)) {
		if _, err := log.ReadAt(frame, offset); err == io.EOF {
			return copies, nil
		} else if err != nil {
			return nil, err
		}
		if string(frame[8:16]) != string(begin[16:24]) || !sum.add(frame[:8]).add(frame[frameHeader:]).is(frame[16:24]) {
			return copies, nil // an older log's, or not all there
		}
		if binary.BigEndian.Uint32(frame) == 1 {
			open = append(open, readHeader(frame[frameHeader:]))
		}
		if binary.BigEndian.Uint32(frame[4:]) > 0 {
			copies, open = append(copies, open...), nil
		}
	}
}

// growOlder makes a file older by one, in the transaction of a connection.
func growOlder(c *conn) error {
	age, version, err := ageOf(c)
	if err != nil {
		return err
	}
	return setAge(c, age+1, version)
}

// ageOf is the age of a file and the version of its schema.
func ageOf(c *conn) (age, version int64, err error) {
	_, err = c.one(schemaVersion, func(r row) error {
		age, version = r.int(0)>>versionBits, r.int(0)&versionMask
		return nil
	})
	return age, version, err
}

func setAge(c *conn, age, version int64) error {
	return c.run(fmt.Sprintf("PRAGMA user_version = %d", age%ages<<versionBits|version))
}

// run runs SQL that no file of sql/ has, as it is made.
func (c *conn) run(text string) error {
	c.calls.Add(1)
	_, err := c.raw.(driver.ExecerContext).ExecContext(context.Background(), text, nil)
	return err
}
