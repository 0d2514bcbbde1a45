// Which keys the IDs of encryption keys stand for.

package memory

import (
	"context"
	"slices"

	"github.com/stepwell/stepwell/world"
)

// BindKey binds the ID of an encryption key; see [world.KeyBook].
func (w *World) BindKey(ctx context.Context, id string, print []byte) ([]byte, error) {
	if err := world.CheckBinding(id, print); err != nil {
		return nil, err
	}
	if err := w.enter(ctx); err != nil {
		return nil, err
	}
	defer w.mu.Unlock()
	if w.prints[id] == nil && len(print) > 0 {
		if w.prints == nil {
			w.prints = map[string][]byte{}
		}
		w.prints[id] = slices.Clone(print)
	}
	return slices.Clone(w.prints[id]), nil
}
