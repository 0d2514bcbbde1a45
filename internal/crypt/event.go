package crypt

// This file encrypts and decrypts what events hold. The place of each part is authenticated with it, so that no part can take another's place: what it
// is, and of which step, wait or hook.

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/stepwell/stepwell/world"
)

// Places of what is no part of an event with an ID.
const (
	inputPlace = "input"
	endPlace   = "output"
	failPlace  = "failure"
	blockPlace = "block"
)

func stepInput(step string) string     { return "step_created " + step }
func chunkPlace(stream string) string  { return "chunk " + stream }
func markPlace(stream string) string   { return "mark " + stream }
func matchPlace(wait string) string    { return "match " + wait }
func metadataPlace(hook string) string { return "hook_created " + hook }

// payloadPlace is the place of an event's payload.
func payloadPlace(e *world.Event) string {
	switch {
	case e.Type == world.RunCreated || e.Type == world.RunContinued:
		return inputPlace
	case e.Type.Terminal():
		return endPlace
	case e.Type == world.SignalReceived:
		return string(e.Type) + " " + e.Name
	case e.Type == world.HookConflict: // what was to be a hook
		return metadataPlace(e.ID)
	}
	return string(e.Type) + " " + e.ID
}

// errorPlace is the place of an event's error. One of a step may be told by several events.
func errorPlace(e *world.Event) string {
	if e.Type.Terminal() {
		return failPlace
	}
	return "error " + e.ID
}

// secret reports whether the event has anything that is encrypted. Attributes are not: runs are found by them.
func secret(e *world.Event) bool {
	return e.Type != world.AttrSet && (e.Payload != nil || e.Match != nil || e.Error != nil || e.Listen != nil)
}

// encryptEvent encrypts, in place, what an event of a run holds.
func (r *Keyring) encryptEvent(e *world.Event, run, key string) error {
	if e.Encrypted != "" || e.Type != world.RunCreated && !secret(e) {
		return nil // as when nobody here could read it
	}
	of := ""
	if e.Type.Terminal() {
		of = run
	}
	var err error
	if e.Payload != nil {
		if e.Payload, err = r.encrypt(key, run, of, payloadPlace(e), e.Payload); err != nil {
			return err
		}
	}
	if e.Listen != nil {
		e.Listen = world.NewListen(e.Listen.Pattern, e.Listen.Since, e.Match, key, r.sums(key))
	}
	if e.Match != nil {
		if e.Match, err = r.encrypt(key, run, of, matchPlace(e.ID), e.Match); err != nil {
			return err
		}
	}
	if e.Error != nil {
		if e.Error, err = r.encryptError(e.Error, run, key, of, errorPlace(e)); err != nil {
			return err
		}
	}
	e.Encrypted = key
	return nil
}

// encryptError encrypts an error but for what programs need of it: its code.
func (r *Keyring) encryptError(rec *world.Error, run, key, of, place string) (*world.Error, error) {
	plain, err := json.Marshal(rec)
	if err != nil {
		return nil, err
	}
	value, err := r.encrypt(key, run, of, place, plain)
	if err != nil {
		return nil, err
	}
	return &world.Error{Message: "encrypted with the key " + strconv.Quote(key), Code: rec.Code, Permanent: rec.Permanent, Value: value}, nil
}

// openEvent decrypts an event of a run, in place. Where the key is not there the event stays as it is, and so it does after an error: a
// [*world.CorruptError], or [world.ErrFormat].
func (r *Keyring) openEvent(e *world.Event, run string) error {
	if e.Encrypted == "" || !r.Has(e.Encrypted) {
		return nil
	}
	o := opening{ring: r, run: run, key: e.Encrypted, result: e.Type == world.StepCompleted || e.Type == world.StepFailed}
	c := *e
	err := o.openParts(&c)
	if errors.Is(err, world.ErrFormat) {
		return fmt.Errorf("run %s: event %d: %w", run, e.Seq, err)
	}
	if err != nil {
		return faulty(run, e.Seq, err)
	}
	if c.Encrypted = ""; o.of != "" && o.of != run {
		c.Peer = o.of // the fold compares it with the run that the step waits for
	}
	*e = c
	return nil
}

// openParts decrypts what an event has, in place.
func (o *opening) openParts(e *world.Event) (err error) {
	if e.Payload != nil && e.Type != world.AttrSet {
		if e.Payload, err = o.open(e.Payload, payloadPlace(e), endPlace); err != nil {
			return err
		}
	}
	if e.Match != nil {
		if e.Match, err = o.open(e.Match, matchPlace(e.ID), ""); err != nil {
			return err
		}
	}
	if e.Listen != nil { // where it is written again it is by another key, or none
		e.Listen = world.NewListen(e.Listen.Pattern, e.Listen.Since, e.Match, "", nil)
	}
	if e.Error == nil {
		return nil
	}
	o.parts = 0
	if e.Error, err = o.openError(e.Error, errorPlace(e), 0); err == nil && o.parts == 0 {
		return errForm // or a text that somebody put there would be taken for the error
	}
	return err
}

func faulty(run string, seq int64, err error) error {
	if errors.Is(err, world.ErrFormat) || errors.Is(err, world.ErrNoKey) {
		return err
	}
	return &world.CorruptError{Run: run, Seq: seq, Err: err}
}

// opening decrypts the parts of one event, row or chunk.
type opening struct {
	ring     *Keyring
	run, key string
	result   bool   // it may be what another run came to
	of       string // the run that is named
	parts    int    // so many were decrypted
}

// open decrypts a part. Where it names the run that it was made in, and may be another's, its place there is as an end.
func (o *opening) open(b []byte, place, end string) ([]byte, error) {
	e, err := parse(b)
	if err != nil {
		return nil, err
	}
	run := o.run
	switch {
	case e.key != o.key:
		return nil, errOther
	case e.run != "" && o.result && e.run != o.run: // no run has its own end as a result
		run, place = e.run, end
	case e.run != "" && (o.result || e.run != o.run):
		return nil, errOther
	}
	if o.of == "" {
		o.of = e.run
	}
	if o.of != e.run && e.run != "" {
		return nil, errOther
	}
	o.parts++
	return o.ring.open(&e, run, place)
}

// mostCauses is how deep an error is that worlds have made of encrypted ones.
const mostCauses = 4

// openError decrypts an error, or the causes of one that a world has made around it.
func (o *opening) openError(rec *world.Error, place string, depth int) (*world.Error, error) {
	if LooksEncrypted(rec.Value) {
		plain, err := o.open(rec.Value, place, failPlace)
		if err != nil {
			return nil, err
		}
		out := &world.Error{}
		if err := json.Unmarshal(plain, out); err != nil {
			return nil, errForm
		}
		return out, nil
	}
	if len(rec.Causes) == 0 || depth == mostCauses {
		return rec, nil
	}
	out := *rec
	out.Causes = make([]*world.Error, len(rec.Causes))
	for i, c := range rec.Causes {
		if out.Causes[i] = c; c == nil {
			continue
		}
		var err error
		if out.Causes[i], err = o.openError(c, place, depth+1); err != nil {
			return nil, err
		}
	}
	return &out, nil
}

// EncryptEvents encrypts events of a run. The slice that it is given stays as it is.
func (r *Keyring) EncryptEvents(events []world.Event, run, key string) ([]world.Event, error) {
	var out []world.Event
	for i := range events {
		e := &events[i]
		if e.Encrypted != "" || e.Type != world.RunCreated && !secret(e) {
			continue
		}
		if out == nil {
			out = slices.Clone(events)
		}
		if err := r.encryptEvent(&out[i], run, key); err != nil {
			return nil, err
		}
	}
	if out == nil {
		return events, nil
	}
	return out, nil
}

// OpenEvents decrypts events of a run. The slice that it is given stays as it is. Those whose key is not there stay encrypted. An error names the first
// that cannot be right; all before it are decrypted.
func (r *Keyring) OpenEvents(events []world.Event, run string) ([]world.Event, error) {
	var out []world.Event
	for i := range events {
		if events[i].Encrypted == "" {
			continue
		}
		if out == nil {
			out = slices.Clone(events)
		}
		if err := r.openEvent(&out[i], run); err != nil {
			return out, err
		}
	}
	if out == nil {
		return events, nil
	}
	return out, nil
}

// OpenHistory is OpenEvents for a log that is not in a world, which could say what key its ID stands for: where nothing
// decrypts with the key that is here, the error is [world.ErrWrongKey].
func (r *Keyring) OpenHistory(events []world.Event, run string) ([]world.Event, error) {
	out, err := r.OpenEvents(events, run)
	if !errors.Is(err, errAuth) {
		return out, err
	}
	key := ""
	for i := range events {
		c := events[i]
		if c.Encrypted == "" || !secret(&c) || !r.Has(c.Encrypted) {
			continue
		}
		if key = c.Encrypted; r.openEvent(&c, run) == nil {
			return out, err // it is the key, and one event was changed
		}
	}
	return out, fmt.Errorf("%w: what is encrypted does not decrypt with the key that is here under the ID %q: it is another key, or the file was changed", world.ErrWrongKey, key)
}

// Encrypted finds the first of a run's events that is still encrypted, and says which key it needs; nil: there is none.
func Encrypted(run string, events []world.Event) error {
	for i := range events {
		if k := events[i].Encrypted; k != "" {
			return &world.KeyError{Run: run, Key: k}
		}
	}
	return nil
}
