package sqlite

// The write-ahead log is copied into the file by the writer, between groups, when it has grown: SQLite itself would do it in the middle of a
// commit. As nobody writes meanwhile and readers are short, a checkpoint is complete nearly always, and the log begins anew at the front of
// its file, which is then already allocated: syncs are cheaper there.
//
// The writer waits for no reader. What a reader keeps from being copied, or from being written over, stays in the log, and is tried again when a quarter of the wanted
// size has come to it; when the reader has gone, a file that has become too large is cut. Meanwhile whoever holds it is named, see holders_linux.go.
//
// Several processes write one log, and each counts only what it writes itself: so the size of the file is looked at too, at the first group and now and then.

import (
	"fmt"
	"os"
	"strings"
)

const (
	truncateAt = 2  // times the wanted size: the log's file is cut if it is larger
	tellAt     = 4  // and whoever keeps it from that is named
	lookGroups = 32 // groups between looks at the file
)

var (
	walPassive  = load("checkpoint_passive")
	walTruncate = load("checkpoint_truncate")
	walLook     = load("checkpoint_look")
)

// progress is what a checkpoint tells.
type progress struct {
	busy        bool
	log, copied int64 // frames
}

func (p progress) done() bool { return !p.busy && p.log == p.copied }

func copyLog(c *conn, s *statement) (p progress, err error) {
	_, err = c.one(s, func(r row) error {
		p = progress{r.bool(0), r.int(1), r.int(2)}
		return nil
	})
	return p, err
}

// backlog is what the writer knows of the log.
type backlog struct {
	since  int64 // bytes of rows written since the last checkpoint
	groups int64 // and transactions
	pages  int64 // and other pages than the log's, about
	left   bool  // something could not be copied then
	looked int64 // groups until the file is looked at again
	large  int64 // bytes of the file at which it is tried to cut it again; 0: at truncateAt
	told   bool  // whoever holds it was named
}

// add notes a group that was committed: so many pages beside those of its rows.
func (b *backlog) add(pages int64) {
	b.groups++
	b.pages += pages
}

// grow notes rows that were written, also where they were taken back: the log may have them.
func (b *backlog) grow(bytes int64) { b.since += bytes }

// isLeft reports whether something could not be copied, as leaves says.
func (b *backlog) isLeft() bool     { return b.left }
func (b *backlog) leaves(some bool) { b.left = some }

// limit is the wanted size of the log.
func (wr *writer) limit() int64 {
	if limit := wr.reserve.size(); limit > 0 {
		return min(wr.w.opt.CheckpointSize, limit)
	}
	return wr.w.opt.CheckpointSize
}

// due reports whether so much was written that the log is to be copied, and whether its file is too large.
func (wr *writer) due() (copies, cuts bool) {
	b := &wr.backlog
	step := wr.limit()
	if b.left {
		step /= 4
	}
	copies = b.since*2+b.groups*groupSize+b.pages*pageSize >= step
	if b.looked--; copies || b.looked <= 0 {
		b.looked = lookGroups
		cuts = logSize(wr.w.path) > max(truncateAt*wr.limit(), b.large)
	}
	return copies || cuts, cuts
}

// logSize is that of the log's file, which may hold old frames behind the new ones.
func logSize(path string) int64 {
	info, err := os.Stat(logPath(path))
	if err != nil {
		return 0
	}
	return info.Size()
}

// checkpoint runs after each group.
func (wr *writer) checkpoint() {
	if wr.c == nil || wr.doubt != noDoubt || wr.w.files.whyLost() != nil {
		return
	}
	copies, cuts := wr.due()
	if !copies && !wr.full {
		return
	}
	if !wr.copyAll() {
		if cuts {
			wr.backlog.large = logSize(wr.w.path) + wr.limit()/4
			wr.tellReaders()
		}
		return
	}
	if cuts {
		wr.cut()
	} else if wr.backlog.told && logSize(wr.w.path) <= tellAt*wr.limit() {
		wr.untellReaders()
	}
}

// copyAll copies the log as far as readers allow, and reports whether that was all of it.
func (wr *writer) copyAll() bool {
	b := &wr.backlog
	b.since, b.groups, b.pages = 0, 0, 0
	p, err := copyLog(wr.c, walPassive)
	switch {
	case isFull(err):
		wr.fill()
	case err != nil && !isBusy(err):
		wr.distrust(fileDoubt, err)
	}
	b.left = err != nil || !p.done()
	if !b.left {
		wr.older = false // what is written next begins a new log
	}
	return !b.left
}

// cut shortens the log's file, where nobody reads in it at this moment. Its connection waits for nobody.
func (wr *writer) cut() {
	b := &wr.backlog
	c, err := wr.w.connectImpatient()
	if err == nil {
		var p progress
		p, err = copyLog(c, walTruncate)
		_ = c.close()
		if err == nil && p.done() {
			b.large = 0
			wr.untellReaders()
			return
		}
	}
	if err != nil && !isBusy(err) && !isFull(err) {
		wr.distrust(fileDoubt, err)
	}
	b.large = logSize(wr.w.path) + wr.limit()/4
	wr.tellReaders()
}

// tellReaders says, once, who keeps the log from being tidied up.
func (wr *writer) tellReaders() {
	size := logSize(wr.w.path)
	if wr.backlog.told || size <= tellAt*wr.limit() {
		return
	}
	wr.backlog.told = true
	wr.w.complain("a reader keeps the write-ahead log from being copied into the file, so it grows: end the reader's transaction", "mib", size>>20, "reader", readers(wr.w.path))
}

func (wr *writer) untellReaders() {
	if wr.backlog.told {
		wr.backlog.told = false
		wr.w.inform("the write-ahead log could be copied into the file")
	}
}

// readers says who is in a transaction, in words.
func readers(path string) string {
	if who := readersOf(path); len(who) > 0 {
		return strings.Join(who, ", ")
	}
	return "unknown; look for a sqlite3 shell, a backup or another program that has the file open: " + fmt.Sprintf("%q", path) + " open"
}

// finish leaves a log of a wanted size behind, where other processes have the file open: the last one to close it deletes the log.
func (wr *writer) finish() {
	if wr.c == nil || wr.w.files.whyLost() != nil {
		return
	}
	if wr.doubt != noDoubt && wr.mend() != nil {
		return
	}
	if logSize(wr.w.path) > wr.limit() && wr.copyAll() {
		wr.cut()
	}
}

// pageSize is that of a page; groupSize is what the smallest group adds to the log: a few pages.
const (
	pageSize  = 4096
	groupSize = 3 * pageSize
)

// pagesOf is about how many pages a group adds to the log beside those with its commits, for so many statements that wrote there: births, ends and
// what changes the queue. Few have a page each, many share them. Measured from 1 to 256 commits a group.
func pagesOf(statements int64) int64 { return min(statements, 8+statements/8) }
