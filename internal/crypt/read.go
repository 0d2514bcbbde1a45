package crypt

// This file decrypts what is read.

import (
	"context"
	"errors"

	"github.com/stepwell/stepwell/world"
)

// Events reads a page of a log.
func (w *World) Events(ctx context.Context, run string, q world.EventQuery) (world.EventPage, error) {
	page, err := w.World.Events(ctx, run, q)
	if err != nil {
		return page, err
	}
	w.learnFrom(run, page.Events)
	opened, err := w.ring.OpenEvents(page.Events, run)
	if err != nil {
		err = w.wrong(ctx, page.Events, err)
	}
	page.Events = opened
	return page, err
}

// wrong is why events did not decrypt: where the key here is another than the one that its ID stands for, that, and not damage.
func (w *World) wrong(ctx context.Context, events []world.Event, err error) error {
	for i := range events {
		if key := events[i].Encrypted; key != "" {
			return w.wrongKey(ctx, key, err)
		}
	}
	return err
}

func (w *World) wrongKey(ctx context.Context, key string, err error) error {
	if !errors.Is(err, errAuth) {
		return err
	}
	if bad := w.vet(ctx, key, false); errors.Is(bad, world.ErrWrongKey) {
		return bad
	}
	return err
}

// learnFrom learns the key of a run from the first event of its log.
func (w *World) learnFrom(run string, events []world.Event) {
	if len(events) > 0 && events[0].Type == world.RunCreated {
		w.learn(run, events[0].Encrypted)
	}
}

// Claim claims runs and tasks. What cannot be right is left as it lies there: whoever reads the log hears why.
func (w *World) Claim(ctx context.Context, q world.ClaimQuery) (world.Claimed, error) {
	claimed, err := w.World.Claim(ctx, q)
	if err != nil {
		return claimed, err
	}
	for i := range claimed.Runs {
		tk := &claimed.Runs[i]
		w.learnFrom(tk.Run, tk.Log)
		if tk.Log, err = w.ring.OpenEvents(tk.Log, tk.Run); err != nil {
			tk.Log = nil
		}
		tk.Blocked = w.openBlock(tk.Blocked, tk.Run)
		w.openMail(tk.Mail)
	}
	for i := range claimed.Tasks {
		t := &claimed.Tasks[i]
		w.learn(t.Run, world.TaskKeyID(t.Options)) // of a run whose ID may have been another's before
		w.openTask(t)
	}
	return claimed, nil
}

// Heartbeat renews the lease, and tells of mail.
func (w *World) Heartbeat(ctx context.Context, q world.HeartbeatQuery) (world.Heartbeat, error) {
	b, err := w.World.Heartbeat(ctx, q)
	if err == nil {
		w.openMail(b.Mail)
	}
	return b, err
}

// openMail decrypts mail. What cannot be right stays as it is.
func (w *World) openMail(mail []world.Mail) {
	for i := range mail {
		m := &mail[i]
		if opened, err := w.ring.OpenEvents(m.Events, m.Run); err == nil {
			m.Events = opened
		}
	}
}

// Explain says why an event of a run is still encrypted.
func (w *World) Explain(run string, e *world.Event) error {
	c := *e
	if err := w.ring.openEvent(&c, run); err != nil {
		return err
	}
	return &world.KeyError{Run: run, Key: e.Encrypted}
}

// openTask decrypts what is known of a task, as far as it can be.
func (w *World) openTask(t *world.Task) {
	if opened, err := w.ring.OpenEvents(t.History, t.Run); err == nil {
		t.History = opened
	}
	t.Encrypted = ""
	key := world.TaskKeyID(t.Options)
	if key == "" || t.Input == nil || !w.ring.Has(key) {
		return
	}
	o := opening{ring: w.ring, run: t.Run, key: key}
	if input, err := o.open(t.Input, stepInput(t.Step), ""); err == nil {
		t.Input, t.Options = input, world.PlainOptions(t.Options)
	}
}

// Changed reports whether a task that could not be decrypted is not as it was written: its run is encrypted with another key than it says, or the key is right for the run's log and
// not for it. Where the key is not here, or is not right for the log either, that is not known.
func (w *World) Changed(ctx context.Context, t *world.Task) bool {
	page, err := w.World.Events(ctx, t.Run, world.EventQuery{Types: []world.EventType{world.RunCreated}, Limit: 1})
	if err != nil || len(page.Events) == 0 {
		return false
	}
	first := page.Events[0]
	if key := world.TaskKeyID(t.Options); first.Encrypted != key {
		w.learn(t.Run, first.Encrypted) // a claim believes the task
		return true
	}
	return first.Payload != nil && w.ring.Has(first.Encrypted) && w.ring.openEvent(&first, t.Run) == nil
}

// Tasks lists the tasks of a run.
func (w *World) Tasks(ctx context.Context, run string) ([]world.Task, error) {
	tasks, err := w.World.Tasks(ctx, run)
	for i := range tasks {
		w.openTask(&tasks[i])
	}
	return tasks, err
}

// Run reads one run.
func (w *World) Run(ctx context.Context, id string) (world.Run, error) {
	row, err := w.World.Run(ctx, id)
	if err != nil {
		return row, err
	}
	w.learn(id, row.Encryption)
	if err = w.openRun(&row); err != nil {
		err = w.wrongKey(ctx, row.Encryption, err)
	}
	return row, err
}

// Runs lists runs. One that cannot be decrypted, though the key is there, is shown as it lies there: the list goes on.
func (w *World) Runs(ctx context.Context, q world.RunQuery) (world.RunPage, error) {
	page, err := w.World.Runs(ctx, q)
	for i := range page.Runs {
		_ = w.openRun(&page.Runs[i]) // whoever reads the run itself is told
	}
	return page, err
}

// openRun decrypts a row, in place, if its key is there.
func (w *World) openRun(row *world.Run) (err error) {
	if row.Queue != nil {
		row.Queue.Blocked = w.openBlock(row.Queue.Blocked, row.ID)
	}
	if !row.Encrypted || !w.ring.Has(row.Encryption) {
		return nil
	}
	out := *row
	o := opening{ring: w.ring, run: row.ID, key: row.Encryption}
	if out.Input != nil {
		if out.Input, err = o.open(out.Input, inputPlace, ""); err != nil {
			return faulty(row.ID, 1, err)
		}
	}
	if out.Output != nil {
		if out.Output, err = o.open(out.Output, endPlace, ""); err != nil {
			return faulty(row.ID, 1, err)
		}
	}
	if out.Error != nil {
		if out.Error, err = o.openError(out.Error, failPlace, 0); err != nil {
			return faulty(row.ID, 1, err)
		}
	}
	out.Encrypted = false
	*row = out
	return nil
}

// openBlock decrypts the message of a block, if it can be.
func (w *World) openBlock(b *world.Block, run string) *world.Block {
	if b == nil || b.Encrypted == "" || !w.ring.Has(b.Encrypted) {
		return b
	}
	o := opening{ring: w.ring, run: run, key: b.Encrypted}
	message, err := o.open([]byte(b.Message), blockPlace, "")
	if err != nil {
		return b
	}
	out := *b
	out.Message, out.Encrypted = string(message), ""
	return &out
}

// Hooks lists active hooks. In a list of all, metadata that cannot be right is shown as it lies there: who asks for that hook, or its run, is told.
func (w *World) Hooks(ctx context.Context, q world.HookQuery) ([]world.HookRow, error) {
	rows, err := w.World.Hooks(ctx, q)
	if err != nil {
		return rows, err
	}
	for i := range rows {
		h := &rows[i]
		if plain(h.Metadata) {
			continue
		}
		key, err := w.reachable(ctx, h.Run)
		if err != nil {
			return rows, err
		}
		if key == "" || !w.ring.Has(key) {
			continue
		}
		o := opening{ring: w.ring, run: h.Run, key: key}
		metadata, err := o.open(h.Metadata, metadataPlace(h.ID), "")
		switch {
		case err == nil:
			h.Metadata = metadata
		case q.Run != "" || q.Token != "":
			return rows, w.wrongKey(ctx, key, faulty(h.Run, 1, err))
		}
	}
	return rows, nil
}

// Chunks reads a page of a stream. Where the key is not there it is refused, with [world.ErrNoKey].
func (w *World) Chunks(ctx context.Context, run, stream string, q world.ChunkQuery) (world.ChunkPage, error) {
	page, err := w.World.Chunks(ctx, run, stream, q)
	if err != nil {
		return page, err
	}
	o := opening{ring: w.ring, run: run}
	for i := range page.Chunks {
		c := &page.Chunks[i]
		if plain(c.Value) && c.Error == nil {
			continue
		}
		if o.key == "" {
			if o.key, err = w.reachable(ctx, run); err != nil || o.key == "" {
				return page, err
			}
		}
		if err := o.openChunk(c, stream); err != nil {
			return page, w.wrongKey(ctx, o.key, faulty(run, 1, err))
		}
	}
	return page, nil
}

func (o *opening) openChunk(c *world.Chunk, stream string) (err error) {
	if !o.ring.Has(o.key) {
		return &world.KeyError{Run: o.run, Key: o.key}
	}
	if c.Value != nil {
		if c.Value, err = o.open(c.Value, chunkPlace(stream), ""); err != nil {
			return err
		}
	}
	if c.Error != nil {
		c.Error, err = o.openError(c.Error, markPlace(stream), 0)
	}
	return err
}
