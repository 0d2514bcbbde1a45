package crypt

// An envelope is a payload as a world keeps it: a JSON string, so that whoever carries it needs to know nothing. Behind "sealed:" it is the base64 of
//
//	1 byte   version: 1
//	1 byte   codec of the payload: 0, JSON
//	1 byte   compression: 0, none
//	1 byte   where the bytes are: 0, behind this head
//	1 byte   n; n bytes: ID of the key
//	1 byte   m; m bytes: run; none where it is the run in which the envelope lies
//	12 bytes nonce
//	the encrypted payload, and a tag of 16 bytes
//
// The head is authenticated, and so is the place. Only what ends a run names it: that is what travels to other runs.

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/stepwell/stepwell/world"
)

const (
	mark     = `"sealed:`
	version  = 1
	headSize = 6
	overhead = 12 + 16 // nonce and tag
)

// envelope is one that was read.
type envelope struct {
	key, run   string
	head, body []byte
}

var (
	errForm  = errors.New("an encrypted payload has no such form")
	errAuth  = errors.New("an encrypted payload was changed, or belongs elsewhere")
	errOther = errors.New("an encrypted payload lies where another key, or run, is named")
)

// LooksEncrypted reports whether bytes begin as an envelope does. They may be somebody's JSON all the same.
func LooksEncrypted(b []byte) bool { return len(b) > len(mark) && string(b[:len(mark)]) == mark }

// encrypt encrypts a payload of a run for a place. of is the run to name, or "".
func (r *Keyring) encrypt(key, run, of, place string, plain []byte) (json.RawMessage, error) {
	aead, err := r.cipher(key, run)
	if err != nil {
		return nil, err
	}
	if aead == nil {
		return nil, &world.KeyError{Run: run, Key: key}
	}
	head := make([]byte, 0, headSize+len(key)+len(of)+overhead+len(plain))
	head = append(head, version, 0, 0, 0, byte(len(key)))
	head = append(append(append(head, key...), byte(len(of))), of...)
	raw := aead.Seal(head, nil, plain, associated(head, run, place)) // #nosec G407 -- the cipher draws the nonce
	out := make([]byte, 0, len(mark)+base64.RawStdEncoding.EncodedLen(len(raw))+1)
	out = base64.RawStdEncoding.AppendEncode(append(out, mark...), raw)
	return append(out, '"'), nil
}

// parse reads an envelope. One of a form that this release does not know is [world.ErrFormat].
func parse(b []byte) (envelope, error) {
	if !LooksEncrypted(b) || b[len(b)-1] != '"' || bytes.ContainsAny(b, "\r\n") { // base64 would skip line ends
		return envelope{}, errForm
	}
	raw, err := base64.RawStdEncoding.Strict().AppendDecode(nil, b[len(mark):len(b)-1])
	if err != nil || len(raw) < headSize {
		return envelope{}, errForm
	}
	for i, what := range [...]string{"version", "codec", "compression", "place"} {
		known := byte(0)
		if i == 0 {
			known = version
		}
		if raw[i] != known {
			return envelope{}, fmt.Errorf("%w: an encrypted payload of %s %d; this release knows %d", world.ErrFormat, what, raw[i], known)
		}
	}
	at := 4
	text := func() (string, bool) {
		if at >= len(raw) || at+1+int(raw[at]) > len(raw) {
			return "", false
		}
		s := string(raw[at+1 : at+1+int(raw[at])])
		at += 1 + len(s)
		return s, true
	}
	var e envelope
	var ok bool
	if e.key, ok = text(); ok {
		e.run, ok = text()
	}
	if !ok || world.CheckKeyID(e.key) != nil || len(raw)-at < overhead {
		return envelope{}, errForm
	}
	e.head, e.body = raw[:at], raw[at:]
	return e, nil
}

// open decrypts what lies in a run at a place. A key that is not there is a [*world.KeyError].
func (r *Keyring) open(e *envelope, run, place string) ([]byte, error) {
	aead, err := r.cipher(e.key, run)
	if err != nil {
		return nil, err
	}
	if aead == nil {
		return nil, &world.KeyError{Run: run, Key: e.key}
	}
	plain, err := aead.Open(nil, nil, e.body, associated(e.head, run, place))
	if err != nil {
		return nil, errAuth
	}
	if plain == nil {
		plain = []byte{}
	}
	return plain, nil
}

// associated is what is authenticated with a payload.
func associated(head []byte, run, place string) []byte {
	b := make([]byte, 0, len(head)+len(run)+len(place)+2)
	b = append(append(b, head...), byte(len(run)))
	return append(append(b, run...), place...)
}
