package sqlite

import "os"

// The write-ahead log is copied into the file by the writer, between groups, when it has grown: SQLite itself would do it in the middle of a
// commit. As nobody writes meanwhile and readers are short, a checkpoint is complete nearly always, and the log begins anew at the front of
// its file, which is then already allocated: syncs are cheaper there. Where readers keep it from that, it is tried again at twice the size;
// a file that has become much larger than needed is cut.

// truncateAt is how many times the wanted size the log may have before its file is cut.
const truncateAt = 8

var (
	walPassive  = load("checkpoint_passive")
	walTruncate = load("checkpoint_truncate")
)

// checkpoint runs after each group. It knows about how much was written, and looks at the file only when that was enough.
func (wr *writer) checkpoint() {
	size := wr.w.opt.CheckpointSize
	if wr.c == nil || wr.since*2+wr.groups*groupSize+wr.pages*pageSize < size*wr.patience {
		return
	}
	wr.since, wr.groups, wr.pages = 0, 0, 0
	s := walPassive
	if info, err := os.Stat(wr.w.path + "-wal"); err == nil && info.Size() > truncateAt*size {
		s = walTruncate
	}
	done := false
	_, err := wr.c.one(s, func(r row) error {
		done = !r.bool(0) && r.int(1) == r.int(2) // not busy, and all of its frames are in the file
		return nil
	})
	if err != nil && wr.unsynced {
		wr.doubt = true // it may have been the sync
	}
	if err != nil || !done { // it stays in the log, and a later checkpoint copies it
		wr.patience = min(wr.patience*2, truncateAt)
		return
	}
	wr.patience = 1
}

// pageSize is that of a page; groupSize is what the smallest group adds to the log: a few pages.
const (
	pageSize  = 4096
	groupSize = 3 * pageSize
)

// pagesOf is about how many pages a group adds to the log beside those with its commits, for so many statements that wrote there: births, ends and
// what changes the queue. Few have a page each, many share them. Measured from 1 to 256 commits a group.
func pagesOf(statements int64) int64 { return min(statements, 8+statements/8) }
