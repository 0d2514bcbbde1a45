package server

// This file signs pushed messages and reads the secrets for that. The scheme is that of Standard Webhooks, so that any language has a library for it: the header
// webhook-signature has HMAC-SHA256 of "id.timestamp.body" as v1,BASE64, one for each secret of the sender.

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/stepwell/stepwell/world"
)

// Headers of a signed message.
const (
	headerID        = "Webhook-Id"
	headerTimestamp = "Webhook-Timestamp" // seconds since 1970
	headerSignature = "Webhook-Signature"
)

// PushSecret is a secret that a server shares with its endpoints. Printed, it shows nothing. Make
// one with [ParsePushSecrets].
type PushSecret struct{ key []byte }

// String hides the secret.
func (PushSecret) String() string { return "(secret)" }

// GoString hides the secret.
func (PushSecret) GoString() string { return "(secret)" }

const (
	secretPrefix = "whsec_" // of one that is written in base64
	mostSecrets  = 8
)

// ParsePushSecrets parses secrets that are separated by spaces, commas or new lines. Lines that
// begin with # are comments. A secret is whsec_ and at least 24 bytes in base64, as in Standard
// Webhooks, or at least 16 characters. A message is signed with each secret, and accepted with any.
// To change a secret, add the new one on both sides, then remove the old one. Errors show no
// secret.
func ParsePushSecrets(text string) (secrets []PushSecret, err error) {
	err = eachWord(text, "push secret", func(word string) error {
		s, err := parseSecret(word)
		if err == nil {
			secrets = append(secrets, s)
		}
		return err
	})
	if len(secrets) > mostSecrets {
		err = errors.Join(err, invalid("%d push secrets: want %d at most", len(secrets), mostSecrets))
	}
	return secrets, err
}

func parseSecret(word string) (PushSecret, error) {
	if placeholder(word) {
		return PushSecret{}, invalid("it is the placeholder of an example, which everyone knows: create one with openssl rand -hex 24")
	}
	text, encoded := strings.CutPrefix(word, secretPrefix)
	if !encoded {
		if len(word) < leastSecret {
			return PushSecret{}, invalid("it has %d characters: want at least %d; create one with openssl rand -hex 24", len(word), leastSecret)
		}
		return PushSecret{[]byte(word)}, nil
	}
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return PushSecret{}, invalid("the part after %s is not base64", secretPrefix)
	}
	const least = 24
	if len(key) < least {
		return PushSecret{}, invalid("the part after %s has %d bytes: want %d or more", secretPrefix, len(key), least)
	}
	return PushSecret{key}, nil
}

// sum is the signature of a message.
func (s PushSecret) sum(id, timestamp string, body []byte) []byte {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	return mac.Sum(nil)
}

// sign puts the headers of a message on it, under an ID of its own.
func sign(h http.Header, secrets []PushSecret, body []byte, now time.Time) {
	signAs(h, world.NewID("msg", now), secrets, body, now)
}

// signAs does so under an ID that is there already.
func signAs(h http.Header, id string, secrets []PushSecret, body []byte, now time.Time) {
	at := strconv.FormatInt(now.Unix(), 10)
	h.Set(headerID, id)
	h.Set(headerTimestamp, at)
	all := make([]string, len(secrets))
	for i, s := range secrets {
		all[i] = "v1," + base64.StdEncoding.EncodeToString(s.sum(id, at, body))
	}
	if len(all) > 0 {
		h.Set(headerSignature, strings.Join(all, " "))
	}
}
