package main

// This file opens a server in the place of a database: commands do the same there, as far as its key allows.

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote"
)

const validServer = "write it like " + defaultServer

// isServer reports whether a URL is that of a server.
func isServer(where string) bool {
	name := strings.ToLower(scheme.FindString(where))
	return name == "http:" || name == "https:"
}

// locateServer takes a server for the database.
func (c *cli) locateServer(where, by string) error {
	if c.onDatabase {
		return usagef("run it where the database is, with --db", "%s is a server, and this works on a database", by)
	}
	u, err := url.Parse(where)
	if err != nil || u.Host == "" {
		return usagef(validServer, "%s is no URL of a server", by)
	}
	c.url, c.place = where, world.ShownURL(where)
	return nil
}

// openServer opens the world of a server.
func (c *cli) openServer(ctx context.Context) (*database, error) {
	o := remote.Options{}
	if u, err := url.Parse(c.url); err == nil && u.User == nil {
		o.Key = c.getenv(remote.KeyVariable)
	}
	w, err := remote.Open(ctx, c.url, o)
	switch {
	case err == nil:
		return c.clientOf(w)
	case errors.Is(err, world.ErrStorage):
		return nil, &fault{exitFailure, err, "is it running?  stepwell health " + shellWord(c.place)}
	}
	return nil, refusedKey(err)
}

// refusedKey says what to do where a server does not let the key do something.
func refusedKey(err error) error {
	switch {
	case errors.Is(err, remote.ErrUnauthenticated):
		return &fault{exitFailure, err, "put the secret of one of its keys into " + remote.KeyVariable}
	case errors.Is(err, remote.ErrForbidden):
		return &fault{exitFailure, fmt.Errorf("%w; nothing was changed", err), "put the secret of a key with that scope into " + remote.KeyVariable}
	}
	return err
}

// forDatabase makes a command refuse a server: it is about the database itself.
func (c *cli) forDatabase() { c.onDatabase = true }
