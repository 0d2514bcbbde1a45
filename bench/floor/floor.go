// Package floor measures what stands below every engine: how often the disk syncs, what pgbench commits, and what a bare append to a store
// comes to whose rows and groups are those that Stepwell writes.
package floor

import (
	"context"

	"fmt"

	"github.com/stepwell/stepwell/bench/engine"
	"github.com/stepwell/stepwell/bench/measure"
	"github.com/stepwell/stepwell/bench/work"
)

// Name is what results call the engine that floors are.
const Name = "floor"

// Disk is the store of a floor that has none.
const Disk engine.Kind = "disk"

// Floor is one of them, to be measured.
type Floor struct {
	work.Point
	Store      engine.Store
	Pgbench    string // the program
	Result     *measure.Result
	Begin, End func() error // see work.Bench
}

// The floors.
const (
	FsyncGrowing      = "fsync-growing"
	FsyncPreallocated = "fsync-preallocated"
	Pgbench           = "pgbench"
	Append            = "append"
	AppendIndexed     = "append-indexed"
)

// Stores are those that a floor can be measured on.
func Stores(name string) []engine.Kind {
	switch name {
	case FsyncGrowing, FsyncPreallocated:
		return []engine.Kind{Disk}
	case Pgbench:
		return []engine.Kind{engine.Postgres}
	}
	return []engine.Kind{engine.SQLite, engine.Postgres}
}

// Run measures a floor.
func Run(ctx context.Context, f *Floor) error {
	switch f.Work {
	case FsyncGrowing:
		return f.fsync(ctx, false)
	case FsyncPreallocated:
		return f.fsync(ctx, true)
	case Pgbench:
		return f.pgbench(ctx)
	case Append, AppendIndexed:
		return f.append(ctx)
	}
	return fmt.Errorf("no floor is called %q", f.Work)
}
