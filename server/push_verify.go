package server

// This file checks signed messages: who sent it, when, and that it is the first time. Nothing of a message is believed, or remembered, before its signature was
// checked.

import (
	"crypto/hmac"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

var (
	errUnsigned = errors.New("the message is not signed with a secret that is known here")
	errStale    = errors.New("the message is too old, or from the future: is the clock right?")
	errReplayed = errors.New("the message has already arrived")
)

const (
	mostMessages  = 1 << 16 // that are remembered
	mostOfMessage = 16      // that are looked at, of one message
	longestID     = 256
)

// verifier checks messages of those who share a secret. It is safe for concurrent use.
type verifier struct {
	secrets []PushSecret // none: no message is checked
	window  time.Duration
	now     func() time.Time
	most    int

	mu    sync.Mutex
	seen  map[string]bool // guarded by mu
	line  []seenID        // in order of arrival; guarded by mu
	floor int64           // messages of this second or before are stale: some of them were forgotten; guarded by mu
}

type seenID struct {
	id string
	at int64 // the message's time
}

func newVerifier(secrets []PushSecret, window time.Duration) *verifier {
	return &verifier{secrets: secrets, window: window, now: time.Now, most: mostMessages, seen: map[string]bool{}}
}

// check refuses a message that is not signed as it should be, stale, or repeated.
func (v *verifier) check(h http.Header, body []byte) error {
	if len(v.secrets) == 0 {
		return nil
	}
	id, timestamp, signatures := h.Values(headerID), h.Values(headerTimestamp), h.Values(headerSignature)
	if len(id) != 1 || len(timestamp) != 1 || len(signatures) != 1 || id[0] == "" || len(id[0]) > longestID {
		return fmt.Errorf("%w: want the headers webhook-id, webhook-timestamp and webhook-signature, once each", errUnsigned)
	}
	at, err := strconv.ParseUint(timestamp[0], 10, 40)
	if err != nil {
		return fmt.Errorf("%w: webhook-timestamp is not a number of seconds", errUnsigned)
	}
	if !v.signed(id[0], timestamp[0], signatures[0], body) {
		return errUnsigned
	}
	return v.first(id[0], int64(at))
}

// signed reports whether one of the signatures is that of one of the secrets. It looks at all of both.
func (v *verifier) signed(id, timestamp, signatures string, body []byte) (ok bool) {
	words := strings.Fields(signatures)
	words = words[:min(len(words), mostOfMessage)]
	for _, s := range v.secrets {
		want := s.sum(id, timestamp, body)
		for _, word := range words {
			text, known := strings.CutPrefix(word, "v1,")
			got, err := base64.StdEncoding.DecodeString(text)
			ok = known && err == nil && hmac.Equal(got, want) || ok
		}
	}
	return ok
}

// first reports whether a message is of now, and was not here before.
func (v *verifier) first(id string, at int64) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	now, window := v.now().Unix(), int64(v.window/time.Second)
	if at < now-window || at > now+window {
		return errStale
	}
	if v.seen[id] {
		return errReplayed
	}
	if at <= v.floor {
		return fmt.Errorf("%w: too many came since", errStale)
	}
	for len(v.line) > 0 && (v.line[0].at < now-window || len(v.line) >= v.most) {
		if v.line[0].at >= now-window {
			v.floor = max(v.floor, v.line[0].at)
		}
		delete(v.seen, v.line[0].id)
		v.line = v.line[1:]
	}
	v.seen[id] = true
	v.line = append(v.line, seenID{id, at})
	return nil
}
