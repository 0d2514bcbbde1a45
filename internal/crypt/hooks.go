package crypt

// This file says which listed hooks cannot be read.

import (
	"context"
	"errors"

	"github.com/stepwell/stepwell/world"
)

// MarkHooks notes, in place, the keys that the metadata of hooks is still encrypted with. A world that was not wrapped is asked for the row of each run whose hook
// has metadata that may be encrypted; one that is gone by then is left as it is.
func MarkHooks(ctx context.Context, w world.World, rows []world.HookRow) error {
	ring, keys := Ring(w), map[string]string{}
	for i := range rows {
		h := &rows[i]
		if plain(h.Metadata) {
			continue
		}
		key, known := keys[h.Run]
		if !known {
			row, err := world.Stored(w).Run(ctx, h.Run)
			if err != nil && !errors.Is(err, world.ErrNotFound) {
				return err
			}
			key, keys[h.Run] = row.Encryption, row.Encryption
		}
		if ring == nil || !ring.Has(key) { // else it was decrypted, whatever it looks like
			h.Encrypted = key
		}
	}
	return nil
}
