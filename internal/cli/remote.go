package cli

// This file opens a server in the place of a database: commands do the same there, as far as its key allows.

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote"
	"github.com/stepwell/stepwell/world/remote/wire"
)

const validServer = "write it like " + defaultServer

// isServer reports whether a URL is that of a server.
func isServer(where string) bool {
	name := strings.ToLower(scheme.FindString(where))
	return name == "http:" || name == "https:"
}

// openServer opens the world of a server.
func (t *target) openServer(ctx context.Context) (*database, error) {
	o := remote.Options{Through: human.Cut(t.sh.getenv(throughVariable), wire.MostThrough)}
	if u, err := url.Parse(t.url()); err == nil && u.User == nil {
		o.Key = t.sh.getenv(remote.KeyVariable)
	}
	w, err := remote.Open(ctx, t.url(), o)
	switch {
	case err == nil:
		return t.clientOf(w)
	case errors.Is(err, world.ErrStorage):
		return nil, &fault{exitFailure, err, "is it running?  stepwell health " + shellWord(t.place())}
	}
	return nil, refusedKey(err)
}

// refusedKey says what to do where a server does not let the key do something.
func refusedKey(err error) error {
	switch {
	case errors.Is(err, remote.ErrUnauthenticated):
		return &fault{exitFailure, err, "set this to the secret of one of its keys: " + remote.KeyVariable}
	case errors.Is(err, remote.ErrForbidden):
		return &fault{exitFailure, fmt.Errorf("%w; nothing was changed", err), "set this to the secret of a key with that scope: " + remote.KeyVariable}
	}
	return err
}
