package world

// This file says what worlds need to know of encrypted payloads: who may send to a run, and, in the options of a queued step, which key its input needs: the queue keeps
// options and asks for nothing else.

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
)

// Decrypter is a [World] that encrypts what goes into another one and decrypts what comes out. Stepwell's own stands
// around each world whose App has keys: a store is none.
type Decrypter interface {
	// Stored is the world below, which shows payloads as they lie there.
	Stored() World
	// Explain says why an event is still encrypted.
	Explain(run string, e *Event) error
	// Changed reports whether a task that is still encrypted was changed where it is stored, as far as is known.
	Changed(ctx context.Context, t *Task) bool
	// CheckKeys is [ErrWrongKey] where a key is not the one which its ID stands for in the world. Where that cannot be
	// asked just now, nothing is said.
	CheckKeys(ctx context.Context) error
}

// Stored is a world as it keeps payloads, without any encryption around it.
func Stored(w World) World {
	if d := AbilitiesOf(w).Decrypter; d != nil {
		return Stored(d.Stored())
	}
	return w
}

const encryptedOption = `"sealed":"`

// EncryptedOptions are the options of a task that also name the key which its input is encrypted with.
func EncryptedOptions(options []byte, key string) []byte {
	name, _ := json.Marshal(key) // a string
	out := append([]byte(`{"sealed":`), name...)
	if body := bytes.TrimSpace(options); len(body) > 2 && body[0] == '{' {
		return append(append(out, ','), body[1:]...)
	}
	return append(out, '}')
}

// PlainOptions undoes [EncryptedOptions].
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

// TaskKeyID is the ID of the key that [EncryptedOptions] has named; "": none.
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

// CheckEncrypted refuses, with a [*KeyError], mail that is plain for a run that is encrypted: its sender lacks the key. Worlds call it before they put mail into an inbox.
func CheckEncrypted(run, key string, events []Event) error {
	if key == "" || !Unencrypted(events) {
		return nil
	}
	return &KeyError{Run: run, Key: key}
}
