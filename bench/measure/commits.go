package measure

// This file counts commits from outside, the same way for every engine.

import (
	"context"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"
)

// SQLiteCommits counts the transactions that changed a SQLite file in WAL mode, of all such files below a folder, since the first
// connection to each was opened: the index of the log counts them (iChange, the third word of its header).
//
// The process that has the file open must not call it: POSIX drops all locks of a process on a file at the close of any descriptor of
// that file.
func SQLiteCommits(dir string) (n int64) {
	_ = filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "-shm") {
			return nil
		}
		f, err := os.Open(path)
		if err != nil {
			return nil
		}
		defer f.Close()
		var head [12]byte
		if _, err := io.ReadFull(f, head[:]); err == nil {
			n += int64(binary.NativeEndian.Uint32(head[8:]))
		}
		return nil
	})
	return n
}

// PostgresCommits counts the transactions of a server that changed something: those that were given a number. pg_stat_database counts
// those that only read too, and up to ten seconds late.
func PostgresCommits(ctx context.Context, conn *pgx.Conn) (n int64, err error) {
	err = conn.QueryRow(ctx, "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint").Scan(&n)
	return n, err
}

// PostgresBytes is what a database takes, indexes included.
func PostgresBytes(ctx context.Context, conn *pgx.Conn) (n int64, err error) {
	err = conn.QueryRow(ctx, "SELECT pg_database_size(current_database())").Scan(&n)
	return n, err
}
