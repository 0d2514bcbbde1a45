package crypt

// This file encrypts what is written: commits, deliveries, chunks.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/stepwell/stepwell/world"
)

// Commit encrypts a commit and writes it.
func (w *World) Commit(ctx context.Context, c *world.Commit) (world.Committed, error) {
	encrypted, err := w.encryptCommit(ctx, nil, c)
	if err != nil {
		return world.Committed{}, err
	}
	done, err := w.World.Commit(ctx, encrypted)
	if err == nil && done.Existing == "" && c.Birth() {
		w.learn(c.Run, encrypted.Events[0].Encrypted)
	}
	return w.openCommitted(c.Run, done, err)
}

// Outcome asks for the outcome of a commit. It is encrypted as when it was written: a world below may send it over a network to ask.
func (w *World) Outcome(ctx context.Context, c *world.Commit) (world.Committed, error) {
	encrypted, err := w.encryptCommit(ctx, nil, c)
	if err != nil {
		return world.Committed{}, err
	}
	done, err := w.World.Outcome(ctx, encrypted)
	return w.openCommitted(c.Run, done, err)
}

// openCommitted decrypts what a commit's conditions came to. What cannot be decrypted stays as it is.
func (w *World) openCommitted(run string, done world.Committed, err error) (world.Committed, error) {
	if err == nil && done.Events != nil {
		if opened, bad := w.ring.OpenEvents(done.Events, run); bad == nil {
			done.Events = opened
		}
	}
	return done, err
}

// encryptCommit encrypts a commit, in a transaction or, with nil, in none. It stays as it is. Births get the key of new runs.
func (w *World) encryptCommit(ctx context.Context, tx world.Tx, c *world.Commit) (*world.Commit, error) {
	if err := world.CheckCommit(c); err != nil { // limits are of what was not encrypted
		return nil, err
	}
	out := *c
	var err error
	key := w.ring.Primary()
	if !c.Birth() {
		key, err = w.keyFor(ctx, tx, c)
	}
	if err != nil {
		return nil, err
	}
	if key != "" {
		if err := w.vet(ctx, key, c.Birth()); err != nil {
			return nil, err
		}
		if err := w.encryptOwn(&out, key); err != nil {
			return nil, err
		}
	}
	if len(c.Births) > 0 {
		out.Births = make([]*world.Commit, len(c.Births))
		for i, child := range c.Births {
			if out.Births[i], err = w.encryptCommit(ctx, tx, child); err != nil {
				return nil, err
			}
		}
	}
	if len(c.Messages) > 0 {
		if out.Messages, err = encryptMessages(ctx, w, c.Messages); err != nil {
			return nil, err
		}
	}
	if len(c.Published) > 0 {
		if out.Published, err = encryptPublications(ctx, w, c.Published); err != nil {
			return nil, err
		}
	}
	if c.Schedule != nil {
		if out.Schedule, err = w.encryptSchedule(ctx, c.Schedule); err != nil {
			return nil, err
		}
	}
	out.Send, err = w.encryptSent(ctx, tx, c.Send)
	return &out, err
}

// encryptSent encrypts what a commit sends to other runs. What cannot arrive is left to the world, which drops it.
func (w *World) encryptSent(ctx context.Context, tx world.Tx, send []world.Delivery) ([]world.Delivery, error) {
	var out []world.Delivery
	for i := range send {
		d := &send[i]
		if !slices.ContainsFunc(d.Events, func(e world.Event) bool { return secret(&e) }) {
			continue
		}
		encrypted, err := w.encryptDelivery(ctx, tx, d)
		if errors.Is(err, world.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if out == nil {
			out = slices.Clone(send)
		}
		out[i] = *encrypted
	}
	if out == nil {
		return send, nil
	}
	return out, nil
}

// keyFor finds the key that a commit of an owner needs. What has nothing to encrypt needs none.
func (w *World) keyFor(ctx context.Context, tx world.Tx, c *world.Commit) (string, error) {
	needs := len(c.Tasks)+len(c.Streams) > 0
	for i := range c.Events {
		needs = needs || secret(&c.Events[i])
	}
	blocked := c.Release != nil && c.Release.Blocked != nil
	if !needs && !blocked {
		return "", nil
	}
	key, err := w.keyOf(ctx, tx, c.Run, true)
	if errors.Is(err, world.ErrNotFound) {
		err = fmt.Errorf("%w: %w", world.ErrLeaseLost, err) // as the world would say
	}
	if !needs && !w.ring.Has(key) {
		return "", err // the block says that the key is missing
	}
	return key, err
}

// encryptOwn encrypts what a commit says of its own run.
func (w *World) encryptOwn(c *world.Commit, key string) (err error) {
	if c.Prints, err = w.ring.prints(c, key); err != nil {
		return err
	}
	if c.Events, err = w.ring.EncryptEvents(c.Events, c.Run, key); err != nil {
		return err
	}
	if c.Tasks, err = w.encryptTasks(c.Tasks, c.Run, key); err != nil {
		return err
	}
	if len(c.Streams) > 0 {
		c.Streams = slices.Clone(c.Streams)
		for i := range c.Streams {
			if err := w.encryptWrite(&c.Streams[i], c.Run, key); err != nil {
				return err
			}
		}
	}
	if r := c.Release; r != nil && r.Blocked != nil && r.Blocked.Encrypted == "" && w.ring.Has(key) {
		release, block := *r, *r.Blocked
		message, err := w.ring.encrypt(key, c.Run, "", blockPlace, []byte(block.Message))
		if err != nil {
			return err
		}
		block.Message, block.Encrypted = string(message), key
		release.Blocked = &block
		c.Release = &release
	}
	return nil
}

// prints are the fingerprints of what was sent with a birth: what is encrypted differs each time.
func (r *Keyring) prints(c *world.Commit, key string) ([][]byte, error) {
	sent := world.BirthDeliveries(c)
	if len(sent) == 0 {
		return c.Prints, nil
	}
	prints := make([][]byte, len(sent))
	for i, d := range sent {
		same := d.Fingerprint()
		if same == nil { // it comes encrypted
			continue
		}
		var err error
		if prints[i], err = r.fingerprint(key, c.Run, same); err != nil {
			return nil, err
		}
	}
	return prints, nil
}

func (w *World) encryptTasks(tasks []world.Task, run, key string) ([]world.Task, error) {
	if len(tasks) == 0 {
		return tasks, nil
	}
	tasks = slices.Clone(tasks)
	for i := range tasks {
		t := &tasks[i]
		if t.Encrypted != "" {
			continue
		}
		input, err := w.ring.encrypt(key, run, "", stepInput(t.Step), t.Input)
		if err != nil {
			return nil, err
		}
		t.Input, t.Encrypted, t.Options = input, key, world.EncryptedOptions(t.Options, key)
	}
	return tasks, nil
}

// encryptWrite encrypts, in place, what is added to a stream.
func (w *World) encryptWrite(s *world.StreamWrite, run, key string) (err error) {
	chunks := make([]json.RawMessage, len(s.Chunks))
	for i, c := range s.Chunks {
		if chunks[i], err = w.ring.encrypt(key, run, "", chunkPlace(s.Stream), c); err != nil {
			return err
		}
	}
	s.Chunks, s.Encrypted = chunks, key
	if s.Error != nil {
		s.Error, err = w.ring.encryptError(s.Error, run, key, "", markPlace(s.Stream))
	}
	return err
}

// Append encrypts chunks and adds them.
func (w *World) Append(ctx context.Context, a *world.Append) (world.Appended, error) {
	if err := world.CheckAppend(a); err != nil {
		return world.Appended{}, err
	}
	key, err := w.keyOf(ctx, nil, a.Run, true)
	if errors.Is(err, world.ErrNotFound) {
		err = fmt.Errorf("%w: %w", world.ErrLeaseLost, err)
	}
	if err != nil {
		return world.Appended{}, err
	}
	if key == "" {
		return w.World.Append(ctx, a)
	}
	if err := w.vet(ctx, key, false); err != nil {
		return world.Appended{}, err
	}
	out := *a
	if err := w.encryptWrite(&out.StreamWrite, a.Run, key); err != nil {
		return world.Appended{}, err
	}
	return w.World.Append(ctx, &out)
}

// Deliver encrypts a delivery for its run and sends it. Where the run's key is not there it is refused, with [world.ErrNoKey], and nothing is written.
func (w *World) Deliver(ctx context.Context, d *world.Delivery) (world.Delivered, error) {
	encrypted, err := w.encryptDelivery(ctx, nil, d)
	if err != nil {
		return world.Delivered{}, err
	}
	return w.World.Deliver(ctx, encrypted)
}

func (w *World) encryptDelivery(ctx context.Context, tx world.Tx, d *world.Delivery) (*world.Delivery, error) {
	if err := world.CheckDelivery(d); err != nil {
		return nil, err
	}
	needs := false
	for i := range d.Events {
		needs = needs || secret(&d.Events[i])
	}
	if !needs {
		return d, nil
	}
	out := *d
	run, owner := d.Run, false
	if d.Task != nil {
		run, owner = d.Task.Run, true
	}
	if d.Token != "" { // what is encrypted is for this hook, and for no other that has the token later
		rows, err := w.World.Hooks(ctx, world.HookQuery{Token: d.Token, Ended: true, Limit: 1})
		if err != nil {
			return nil, err
		}
		if len(rows) == 0 {
			return nil, fmt.Errorf("hook token %q: %w", world.ShownToken(d.Token), world.ErrNotFound)
		}
		run = rows[0].Run
		if !rows[0].Ended { // else the world finds out whether it came before
			out.Run, out.Token, out.Events = run, "", slices.Clone(d.Events)
			out.Events[0].ID, out.Of = rows[0].ID, d.Token
		}
	}
	key, err := w.keyOf(ctx, tx, run, owner)
	if err != nil {
		return nil, err
	}
	if key == "" {
		return d, nil
	}
	if err := w.vet(ctx, key, false); err != nil {
		return nil, err
	}
	if same := d.Fingerprint(); d.ID != "" && same != nil { // what is encrypted differs each time
		if out.Print, err = w.ring.fingerprint(key, run, same); err != nil {
			return nil, err
		}
	}
	if out.Events, err = w.ring.EncryptEvents(out.Events, run, key); err != nil {
		return nil, err
	}
	return &out, nil
}

// plain reports whether bytes are no envelope, so that nothing needs to be asked.
func plain(b []byte) bool { return !LooksEncrypted(bytes.TrimSpace(b)) }
