package floor

// This file has what SQLite and PostgreSQL call on Linux after a commit.

import (
	"os"

	"golang.org/x/sys/unix"
)

func datasync(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }
