package sqlite

// This file binds the IDs of encryption keys.

import (
	"context"

	"github.com/stepwell/stepwell/world"
)

var (
	bindKey  = load("bind_key")
	keyPrint = load("key_print")
)

// BindKey binds the ID of an encryption key; see [world.KeyBook].
func (w *World) BindKey(ctx context.Context, id string, print []byte) (bound []byte, err error) {
	if err := world.CheckBinding(id, print); err != nil {
		return nil, err
	}
	if len(print) > 0 {
		return ask(ctx, w, func(g *group) ([]byte, error) {
			if err := g.tx.exec(bindKey, id, print); err != nil {
				return nil, err
			}
			return printOf(g.tx.conn(), id)
		})
	}
	err = w.read(ctx, func(c *conn) error {
		bound, err = printOf(c, id)
		return err
	})
	return bound, err
}

func printOf(c *conn, id string) (print []byte, err error) {
	_, err = c.one(keyPrint, func(r row) error { print = r.bytes(0); return nil }, id)
	return print, err
}
