package world

// This file opens worlds by URL, whichever are linked.

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Driver opens the worlds that URLs of a scheme name. The package of a world registers its driver when it is linked, as drivers of
// database/sql do: so command lines and [Open] know the worlds of third parties as they know ours, and a program carries only those that it
// imports.
type Driver interface {
	// Open opens the world that a URL names. Its schema is brought up to date first, unless o.Existing is set.
	Open(ctx context.Context, url string, o OpenOptions) (World, error)
}

// OpenOptions say how a world is opened by its URL.
type OpenOptions struct {
	Existing bool             // what is not there is not made: [ErrNotFound]
	Now      func() time.Time // this process's clock, for tests; default the system's

	// KeepDeliveries is for how long a delivery is known when it comes again, at least; default 24 h. See [Delivery.Key]. Worlds of others need not know it.
	KeepDeliveries time.Duration
}

// Migrator is a [Driver] whose worlds have a schema that changes from release to release. Steps only add, so a program runs on its own
// schema and on the next one.
type Migrator interface {
	// Pending lists the steps that the world lacks, in order, and changes nothing.
	Pending(ctx context.Context, url string) ([]Migration, error)
	// Migrate takes them, and lists those that it took. One process at a time does; a second one waits, and finds nothing left.
	Migrate(ctx context.Context, url string) ([]Migration, error)
}

// Migration is one step of a schema.
type Migration struct {
	Version int // from 1 on
	Name    string
	SQL     string // what it does, as a script that can be run by hand and notes that it was
}

var drivers struct {
	sync.RWMutex
	of map[string]Driver // by scheme
}

// schemeOf finds the scheme of a URL; one letter is a drive of Windows.
var schemeOf = regexp.MustCompile(`^([a-zA-Z][a-zA-Z0-9+.-]+):`)

// Register makes a driver known for a scheme, in small letters. It is for init functions, and panics where the scheme has one.
func Register(scheme string, d Driver) {
	drivers.Lock()
	defer drivers.Unlock()
	if d == nil || !schemeOf.MatchString(scheme+":") || scheme != strings.ToLower(scheme) {
		panic(fmt.Sprintf("register a driver for scheme %q: want a driver, and lowercase letters", scheme))
	}
	if drivers.of[scheme] != nil {
		panic(fmt.Sprintf("scheme %q already has a driver", scheme))
	}
	if drivers.of == nil {
		drivers.of = make(map[string]Driver)
	}
	drivers.of[scheme] = d
}

// Schemes lists the schemes that the linked worlds serve.
func Schemes() []string {
	drivers.RLock()
	defer drivers.RUnlock()
	return slices.Sorted(maps.Keys(drivers.of))
}

// packages are those of the known kinds of databases, for programs that have not linked them.
var packages = map[string]string{"http": "remote", "https": "remote", "postgres": "postgres", "postgresql": "postgres", "sqlite": "sqlite"}

// DriverOf finds the driver of a URL. It says nothing of the URL but its scheme: there may be a password in it.
func DriverOf(url string) (Driver, error) {
	m := schemeOf.FindStringSubmatch(url)
	if m == nil {
		return nil, fmt.Errorf("%w: the database's URL has no scheme; want one of %s", ErrInvalid, strings.Join(Schemes(), ", "))
	}
	scheme := strings.ToLower(m[1])
	drivers.RLock()
	d := drivers.of[scheme]
	drivers.RUnlock()
	if d == nil {
		hint := ""
		if of := packages[scheme]; of != "" {
			hint = fmt.Sprintf("; to link it: import _ %q", "github.com/stepwell/stepwell/world/"+of)
		}
		has := strings.Join(Schemes(), ", ")
		return nil, fmt.Errorf("%w: this program does not support databases of the kind %q, only %s%s", ErrInvalid, scheme, has, hint)
	}
	return d, nil
}

// Open opens the world that a URL names, like sqlite:runs.db or postgres://user@host/db, if the program has linked its package.
func Open(ctx context.Context, url string, options ...OpenOptions) (World, error) {
	d, err := DriverOf(url)
	if err != nil {
		return nil, err
	}
	var o OpenOptions
	if len(options) > 0 {
		o = options[0]
	}
	return d.Open(ctx, url, o)
}
