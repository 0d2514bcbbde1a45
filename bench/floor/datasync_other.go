//go:build !linux

package floor

// This file has what comes nearest to fdatasync elsewhere.

import "os"

func datasync(f *os.File) error { return f.Sync() }
