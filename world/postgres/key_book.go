package postgres

// This file binds the IDs of encryption keys.

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
)

var (
	bindKey  = load("bind_key")
	keyPrint = load("key_print")
)

// BindKey binds the ID of an encryption key; see [world.KeyBook].
func (rd *reader) BindKey(ctx context.Context, id string, print []byte) (bound []byte, err error) {
	if err := world.CheckBinding(id, print); err != nil {
		return nil, err
	}
	if len(print) > 0 {
		if err := rd.change(ctx, func(ctx context.Context, tx pgx.Tx) error {
			_, err := rd.in(tx).exec(ctx, bindKey, id, print)
			return err
		}); err != nil {
			return nil, err
		}
	}
	err = rd.read(ctx, keyPrint, func(rows pgx.Rows) error { return rows.Scan(&bound) }, id)
	return bound, err
}
