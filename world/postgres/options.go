package postgres

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stepwell/stepwell/world"
)

// defaultSchema is where the tables are unless somebody says otherwise.
const defaultSchema = "stepwell"

// Options configure a store. The zero value suits applications.
type Options struct {
	// Schema is the name of the tables' schema, without ' % $ \ and control characters. Default
	// "stepwell".
	Schema  string
	Writers int // connections that write commits; default 2
	// Conns is the maximum of other connections, and again of those for steps in transactions.
	// Default 8.
	Conns      int
	InboxLimit int // unread payloads of a run, at most; default 10,000

	// KeepDeliveries is how long a delivery ID is known at least; default 24 h. See
	// [world.Delivery.Key].
	KeepDeliveries time.Duration
	// NoMigrate makes Open refuse a database whose schema is missing or older, instead of migrating
	// it.
	NoMigrate bool
	NoNotify  bool // no LISTEN and NOTIFY: changes are found by polling
	// Now is this process's clock, for tests; default time.Now. Only its monotonic reading counts:
	// times come from the database.
	Now func() time.Time

	later []Migration // steps behind those of this release, for tests
}

// defaults fills in what is not set.
func (o *Options) defaults() error {
	if o.Writers < 0 || o.Writers > maxWriters || o.Conns < 0 || o.InboxLimit < 0 || o.KeepDeliveries < 0 {
		return fmt.Errorf("%w: postgres options: Writers must be 0 to %d, Conns, InboxLimit and KeepDeliveries not negative", world.ErrInvalid, maxWriters)
	}
	if len(o.Schema) > 63 {
		return fmt.Errorf("%w: postgres options: schema %q is longer than 63 bytes", world.ErrInvalid, o.Schema)
	}
	if !utf8.ValidString(o.Schema) || strings.ContainsFunc(o.Schema, notInSchema) {
		return fmt.Errorf("%w: postgres options: schema %q has a character that it may not have: use letters, digits and _", world.ErrInvalid, o.Schema)
	}
	set(&o.Schema, defaultSchema)
	set(&o.Writers, 2)
	set(&o.Conns, 8)
	if o.Now == nil {
		o.Now = time.Now
	}
	set(&o.InboxLimit, 10_000)
	set(&o.KeepDeliveries, world.KeepDeliveries)
	return nil
}

// notInSchema are characters that would end a literal, a comment or a pattern of SQL that has the schema's name in it.
func notInSchema(r rune) bool { return unicode.IsControl(r) || strings.ContainsRune(`'%$\`, r) }

func set[T comparable](v *T, to T) {
	if *v == *new(T) {
		*v = to
	}
}
