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

// Driver opens stores by URLs of a scheme. A store's package registers its driver when it is
// linked, as drivers of database/sql do. So command lines and [Open] support third-party stores as
// they do ours, and a program contains only stores that it imports.
type Driver interface {
	// Open opens the store that a URL names. It first brings its schema up to date, unless
	// o.Existing is set.
	Open(ctx context.Context, url string, o OpenOptions) (World, error)
}

// OpenOptions are options for opening a store by its URL.
type OpenOptions struct {
	Existing bool             // do not create a missing database: [ErrNotFound]
	Now      func() time.Time // this process's clock, for tests; default the system's

	// KeepDeliveries is how long a delivery ID is known at least; default 24 h. See [Delivery.Key].
	// Third-party stores may ignore it.
	KeepDeliveries time.Duration
}

// Migrator is a [Driver] whose stores have a schema that changes between releases. Steps only add,
// so a program runs on its own schema and on the next one.
type Migrator interface {
	// Pending returns the steps that the store lacks, in order, and changes nothing.
	Pending(ctx context.Context, url string) ([]Migration, error)
	// Migrate applies them, and returns those that it applied. Only one process applies them at a
	// time; others wait.
	Migrate(ctx context.Context, url string) ([]Migration, error)
}

// Migration is one step of a schema.
type Migration struct {
	Version int // from 1
	Name    string
	SQL     string // the step as a script to run by hand, which also records the step
}

var drivers struct {
	sync.RWMutex
	of map[string]Driver // by scheme
}

// schemeOf finds the scheme of a URL; one letter is a drive of Windows.
var schemeOf = regexp.MustCompile(`^([a-zA-Z][a-zA-Z0-9+.-]+):`)

// Register registers a driver for a URL scheme, in lower case. Call it in init. It panics if the
// scheme is taken.
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

// Schemes returns the schemes of the linked stores.
func Schemes() []string {
	drivers.RLock()
	defer drivers.RUnlock()
	return slices.Sorted(maps.Keys(drivers.of))
}

// packages are those of the known kinds of databases, for programs that have not linked them.
var packages = map[string]string{"http": "remote", "https": "remote", "postgres": "postgres", "postgresql": "postgres", "sqlite": "sqlite"}

// DriverOf returns the driver of a URL. Its errors show only the scheme, because a URL may contain
// a password.
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

// Open opens the store that a URL names, like sqlite:runs.db or postgres://user@host/db. The
// program must have linked the store's package.
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
