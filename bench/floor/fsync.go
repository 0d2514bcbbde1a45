package floor

// This file asks the disk how often it syncs a page.

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"
)

const (
	page = 4096
	span = 64 << 20 // of the preallocated file; it is written round and round
)

// fsync writes pages to a file, one after the other, and syncs after each.
func (f *Floor) fsync(ctx context.Context, preallocated bool) (err error) {
	file, err := os.Create(filepath.Join(f.Store.Dir, "pages"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	b := make([]byte, page)
	if preallocated {
		for at := int64(0); at < span; at += page {
			if _, err := file.WriteAt(b, at); err != nil {
				return err
			}
		}
		if err := file.Sync(); err != nil {
			return err
		}
	}
	if err := f.Begin(); err != nil {
		return err
	}
	var all []time.Duration
	began := time.Now()
	for at := int64(0); time.Since(began) < f.Time && ctx.Err() == nil; at += page {
		one := time.Now()
		b[0]++
		if _, err := file.WriteAt(b, at%span); err != nil {
			return err
		}
		if err := datasync(file); err != nil {
			return err
		}
		all = append(all, time.Since(one))
	}
	f.Result.Over(int64(len(all)), 0, time.Since(began))
	f.Result.Took(all)
	return f.End()
}
