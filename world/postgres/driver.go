package postgres

// Opening by URL, for command lines and world.Open.

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/stepwell/stepwell/world"
)

func init() {
	world.Register("postgres", opener{})
	world.Register("postgresql", opener{})
}

type opener struct{}

var _ world.Migrator = opener{}

// Open opens a World by its URL; see [world.Driver].
func (opener) Open(ctx context.Context, url string, o world.OpenOptions) (world.World, error) {
	w, err := Open(ctx, url, Options{NoMigrate: o.Existing, Now: o.Now, KeepDeliveries: o.KeepDeliveries})
	if err != nil {
		return nil, err
	}
	return w, nil
}

// Pending lists what `stepwell migrate` would do; see [world.Migrator].
func (opener) Pending(ctx context.Context, url string) ([]Migration, error) {
	return Pending(ctx, url)
}

// Migrate brings a schema up to date; see [world.Migrator].
func (opener) Migrate(ctx context.Context, url string) ([]Migration, error) {
	return Migrate(ctx, url)
}

// schemaParameter names the schema in a URL. What else is in its query is for the server.
const schemaParameter = "stepwell_schema"

// cutSchema takes the schema out of a URL. Texts that are none, like host=… dbname=…, are left as they are.
func cutSchema(text string) (rest, schema string, err error) {
	if !strings.HasPrefix(text, "postgres://") && !strings.HasPrefix(text, "postgresql://") || !strings.Contains(text, schemaParameter) {
		return text, "", nil
	}
	u, err := url.Parse(text)
	if err != nil {
		return "", "", fmt.Errorf("%w: not a PostgreSQL URL", world.ErrInvalid) // the error of url.Parse repeats it, password and all
	}
	q := u.Query()
	schema = q.Get(schemaParameter)
	q.Del(schemaParameter)
	u.RawQuery = q.Encode()
	return u.String(), schema, nil
}
