package engine

import (
	"context"
	"runtime/debug"
)

// Kind is a kind of store, with how durable it is: engines are compared on the same one only.
type Kind string

// The kinds of store. An engine that has none of its own to choose (a server that brings its own) uses [SQLite] if that is what it
// is built on, else [Own].
const (
	SQLite       Kind = "sqlite"        // a file, WAL, synchronous=FULL: what was acknowledged survives a power cut
	SQLiteNormal Kind = "sqlite-normal" // a file, WAL, synchronous=NORMAL: a power cut may take the last commits
	Postgres     Kind = "postgres"      // a server with fsync and synchronous_commit on
	Own          Kind = "own"           // the store inside an engine's own server, in Dir
)

// Store says where an engine keeps its data. It is fresh for each measurement.
type Store struct {
	Kind Kind
	Dir  string // an empty folder for files; there is always one
	URL  string // Postgres: an empty database that the user in the URL owns
}

// Maker opens an engine.
type Maker struct {
	Name     string            // as in -engines
	Version  string            // of its module or its server
	Stores   []Kind            // that it can use
	Settings map[string]string // for the report: what was set and why, e.g. "workers": "50 (default)"
	// Prepare is called once, before anything is measured; nil where there is nothing to prepare. It is for what is built or fetched.
	Prepare func(ctx context.Context) error
	// Open opens the engine on an empty store, with its worker running..
	Open func(ctx context.Context, s Store) (Engine, error)
}

// Processes is what an engine implements that runs a server of its own: its process IDs. What they and their children use counts as the
// engine's.
type Processes interface {
	Processes() []int
}

// ModuleVersion is the version of a Go module that is linked into this program, or "unknown".
func ModuleVersion(path string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, m := range info.Deps {
		if m.Path != path {
			continue
		}
		if m.Replace != nil && m.Replace.Version != "" {
			return m.Replace.Version
		}
		return m.Version
	}
	return "unknown"
}
