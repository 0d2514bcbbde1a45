package crypt

// This file refuses a key that has the ID of another one, before anything is encrypted with it.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"crypto/hkdf"
	"crypto/sha256"

	"github.com/stepwell/stepwell/world"
)

// print is the fingerprint of a master key; nil where it is not there. It says nothing of the key.
func (r *Keyring) print(id string) ([]byte, error) {
	master, ok := r.Key(id)
	if !ok {
		return nil, nil
	}
	return hkdf.Key(sha256.New, master.Secret[:], nil, "stepwell key 1\x00"+id, 16)
}

// vet refuses a key that is not the one which its ID stands for in the world, with [world.ErrWrongKey]. With bind, the ID stands for this one from now on where it
// stood for none.
func (w *World) vet(ctx context.Context, id string, bind bool) error {
	w.mu.Lock()
	asked, bound := w.asked[id], w.bound[id]
	w.mu.Unlock()
	if bound || !bind && time.Since(asked) < fresh {
		return nil
	}
	mine, err := w.ring.print(id)
	if err != nil || mine == nil {
		return err
	}
	there, err := w.BindKey(ctx, id, nil)
	if err == nil && there == nil && bind {
		if err = w.prove(ctx, id); err == nil {
			there, err = w.BindKey(ctx, id, mine)
		}
	}
	switch {
	case errors.Is(err, world.ErrNotFound), errors.Is(err, world.ErrInvalid): // a server that does not remember keys
	case err != nil:
		return err
	case there != nil && !bytes.Equal(there, mine):
		return fmt.Errorf("%w: the ID %q stands for another key in this database, with the fingerprint %x; that of the key here is %x", world.ErrWrongKey, id, there[:min(8, len(there))], mine[:8])
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.asked == nil {
		w.asked, w.bound = map[string]time.Time{}, map[string]bool{}
	}
	w.asked[id], w.bound[id] = time.Now(), there != nil || err != nil
	return nil
}

// prove refuses to bind an ID where runs of before are encrypted with another key under it, as far as the newest runs show.
func (w *World) prove(ctx context.Context, id string) error {
	page, err := w.World.Runs(ctx, world.RunQuery{Limit: 100})
	if err != nil {
		return err
	}
	for i := range page.Runs {
		row := page.Runs[i]
		if row.Encryption != id || !row.Encrypted || row.Input == nil {
			continue
		}
		if err := w.openRun(&row); err != nil {
			return fmt.Errorf("%w: run %s is encrypted with another key under the ID %q: %w", world.ErrWrongKey, row.ID, id, err)
		}
		return nil
	}
	return nil
}

// Wrong finds the keys that are not those which their IDs stand for in a world, by ID. Each error is [world.ErrWrongKey]. An ID that nothing is bound to is held against the
// newest runs. A world that does not remember keys finds none wrong by their IDs.
func (r *Keyring) Wrong(ctx context.Context, w world.World) (wrong map[string]error, err error) {
	if r == nil {
		return nil, nil
	}
	c := Wrap(world.Stored(w), r.Ring)
	for _, id := range r.IDs() {
		err := c.vet(ctx, id, false)
		if err == nil && !c.bound[id] {
			err = c.prove(ctx, id)
		}
		switch {
		case err == nil:
			continue
		case !errors.Is(err, world.ErrWrongKey):
			return wrong, err
		}
		if wrong == nil {
			wrong = map[string]error{}
		}
		wrong[id] = err
	}
	return wrong, nil
}

// CheckKeys is [world.ErrWrongKey] where a key is not the one which its ID stands for. Where that cannot be asked just now, nothing is said.
func (w *World) CheckKeys(ctx context.Context) error {
	wrong, _ := w.ring.Wrong(ctx, w.World)
	var all []error
	for _, id := range slices.Sorted(maps.Keys(wrong)) {
		all = append(all, wrong[id])
	}
	return errors.Join(all...)
}

// Join registers a worker whose keys are those that their IDs stand for. The ID of the one for new runs stands for it
// from now on, so that clients with keys of less may encrypt with it.
func (w *World) Join(ctx context.Context, wk world.Worker) (world.Heartbeat, error) {
	for i, id := range w.ring.IDs() {
		err := w.vet(ctx, id, i == 0)
		if i == 0 && errors.Is(err, world.ErrForbidden) { // the API key is limited: another worker binds it
			err = nil
		}
		if err != nil {
			return world.Heartbeat{}, err
		}
	}
	return w.World.Join(ctx, wk)
}
