package world

// This file says what worlds need to know of encrypted payloads: who may send to a run, and, in the options of a queued step, which key its input needs: the queue keeps
// options and asks for nothing else.

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
)

// Decrypter is a [World] that encrypts data on the way into another store and decrypts it on the
// way out. Stepwell wraps each store in one if its App has keys. No store implements it.
type Decrypter interface {
	// Stored returns the store below, which has encrypted payloads.
	Stored() World
	// Explain returns an error that says why an event is still encrypted.
	Explain(run string, e *Event) error
	// Changed reports whether a task that is still encrypted was changed in the storage, as far as
	// is known.
	Changed(ctx context.Context, t *Task) bool
	// CheckKeys returns [ErrWrongKey] if the store binds the ID of a key to a different key. It
	// returns nil if the store cannot be asked now.
	CheckKeys(ctx context.Context) error
}

// Stored returns the store without encryption around it.
func Stored(w World) World {
	if d := w.Abilities().Decrypter; d != nil {
		return Stored(d.Stored())
	}
	return w
}

const encryptedOption = `"sealed":"`

// EncryptedOptions adds to a task's options the ID of the key that encrypts its input.
func EncryptedOptions(options []byte, key string) []byte {
	name, _ := json.Marshal(key) // a string
	out := append([]byte(`{"sealed":`), name...)
	if body := bytes.TrimSpace(options); len(body) > 2 && body[0] == '{' {
		return append(append(out, ','), body[1:]...)
	}
	return append(out, '}')
}

// PlainOptions is the inverse of [EncryptedOptions].
func PlainOptions(options []byte) []byte {
	name, _ := json.Marshal(TaskKeyID(options)) // a string
	rest, ok := bytes.CutPrefix(options, append([]byte(`{"sealed":`), name...))
	switch {
	case !ok:
		return options
	case string(rest) == "}":
		return nil
	}
	return append([]byte("{"), bytes.TrimPrefix(rest, []byte(","))...)
}

// TaskKeyID returns the ID from [EncryptedOptions]; "": none.
func TaskKeyID(options []byte) string {
	if !bytes.HasPrefix(options, []byte("{"+encryptedOption)) {
		return ""
	}
	var o struct {
		Encrypted string `json:"sealed"`
	}
	_ = json.Unmarshal(options, &o) // what does not parse names none
	return o.Encrypted
}

// Unencrypted reports whether mail has a payload that is not encrypted.
func Unencrypted(events []Event) bool {
	return slices.ContainsFunc(events, func(e Event) bool { return e.Encrypted == "" && e.Payload != nil && e.Type != AttrSet })
}

// CheckEncrypted returns a [*KeyError] for unencrypted mail to an encrypted run: its sender lacks
// the key. Stores call it before they put mail into an inbox.
func CheckEncrypted(run, key string, events []Event) error {
	if key == "" || !Unencrypted(events) {
		return nil
	}
	return &KeyError{Run: run, Key: key}
}
