package server

// This file says who may come in: API keys and their scopes, browsers' origins, host names, headers of answers.

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

// Scope says what a key may do. Each scope includes those before it, except [Steps].
type Scope string

// Scopes. Open is for routes that need no key: health checks, and hooks, whose token is the key.
const (
	Open     Scope = "open"
	Viewer   Scope = "viewer"   // read, without hook tokens, because a token permits sending
	Operator Scope = "operator" // start runs, send, and act on one run
	// Worker: work on runs from another process: claim them, and write their logs.
	Worker Scope = "worker"
	Admin  Scope = "admin" // force a cancel, and act on many runs at once
	Steps  Scope = "steps" // only run the steps that it is limited to: see docs/workers.md
)

var scopes = []Scope{Open, Viewer, Operator, Worker, Admin}

// covers reports whether a scope has what another has. What Steps has, who works on whole runs has too.
func (s Scope) covers(other Scope) bool {
	switch {
	case s == Steps:
		return other == Steps || other == Open
	case other == Steps:
		other = Worker
	}
	return slices.Index(scopes, s) >= slices.Index(scopes, other)
}

// limitable reports whether a key of the scope may be limited to workflows and steps.
func (s Scope) limitable() bool { return s == Worker || s == Steps }

// Key is an API key. It has only a hash of its secret.
type Key struct {
	Name  string // its owner, in logs of runs and in the audit log
	Scope Scope
	Limit Limit // for scopes worker and steps
	hash  [sha256.Size]byte
}

// The least that a secret must have: 16 characters of hexadecimal digits have 64 bits.
const leastSecret = 16

var (
	keyName   = regexp.MustCompile(`^[A-Za-z0-9_.@-]{1,64}$`)
	keySecret = regexp.MustCompile(`^[A-Za-z0-9._~+/=-]{1,512}$`) // what RFC 6750 lets a bearer token be
)

// ParseKeys parses keys of the form scope:name:secret, such as operator:ci:7Jx0…, that are
// separated by spaces, commas or new lines. Lines that begin with # are comments. Scope worker can
// be limited, as in worker?workflow=orders&step=charge:name:secret. Scope steps must name its
// steps: steps?step=resize:name:secret. The secret sha256=HEX is the hash of one, so a file need
// not contain it. Errors show no secret.
func ParseKeys(text string) (keys []Key, err error) {
	err = eachWord(text, "API key", func(word string) error {
		k, err := parseKey(word)
		if err == nil {
			keys = append(keys, k)
		}
		return err
	})
	return keys, err
}

func parseKey(word string) (Key, error) {
	parts := strings.SplitN(word, ":", 3)
	if len(parts) != 3 {
		return Key{}, invalid("want scope:name:secret")
	}
	scope, limit, err := parseScope(parts[0])
	if err != nil {
		return Key{}, err
	}
	k, err := NewKey(scope, parts[1], parts[2])
	k.Limit = limit
	return k, err
}

// NewKey makes a key. The secret has at least 16 characters of [A-Za-z0-9._~+/=-]. See [ParseKeys]
// for sha256=HEX.
func NewKey(scope Scope, name, secret string) (Key, error) {
	k := Key{Name: name, Scope: scope}
	if scope == Open || !slices.Contains(scopes, scope) && scope != Steps {
		return Key{}, invalid("the scope is not one of viewer, operator, worker, admin and steps; want scope:name:secret")
	}
	if !keyName.MatchString(name) {
		return Key{}, invalid("the name does not have 1 to 64 letters, digits, '_', '.', '@' and '-'")
	}
	if hash, ok := strings.CutPrefix(secret, "sha256="); ok {
		b, err := hex.DecodeString(hash)
		if err != nil || len(b) != len(k.hash) {
			return Key{}, invalid("key %s: sha256= takes 64 hexadecimal digits", name)
		}
		copy(k.hash[:], b)
		if k.hash == sha256.Sum256([]byte(published)) {
			return Key{}, invalid("key %s: it is the hash of an example's placeholder, which everyone knows: create a secret with openssl rand -hex 24", name)
		}
		return k, nil
	}
	if len(secret) < leastSecret {
		return Key{}, invalid("key %s: the secret has %d characters: want at least %d; create one with openssl rand -hex 24", name, len(secret), leastSecret)
	}
	if placeholder(secret) {
		return Key{}, invalid("key %s: the secret is the placeholder of an example, which everyone knows: create one with openssl rand -hex 24", name)
	}
	if !keySecret.MatchString(secret) {
		return Key{}, invalid("key %s: the secret has characters that a header cannot carry", name)
	}
	k.hash = sha256.Sum256([]byte(secret))
	return k, nil
}

// published is what the files in deploy have in the place of secrets.
const published = "CHANGE-ME-CHANGE-ME"

// placeholders are words, without signs, of which one in a secret says that nobody has made it yet.
var placeholders = []string{"changeme", "replaceme", "placeholder", "yoursecret", "yourkey", "yourtoken"}

// placeholder reports whether a secret is none: what an example has in its place.
func placeholder(secret string) bool {
	bare := strings.ToLower(strings.NewReplacer("-", "", "_", "", ".", "", " ", "").Replace(secret))
	return slices.ContainsFunc(placeholders, func(word string) bool { return strings.Contains(bare, word) })
}

func checkKeys(keys []Key) error {
	var errs []error
	for i, k := range keys {
		if err := k.Limit.fits(k.Scope); err != nil {
			errs = append(errs, fmt.Errorf("the key %s: %w", k.Name, err))
		}
		if err := k.Limit.check(); err != nil {
			errs = append(errs, fmt.Errorf("the key %s: %w", k.Name, err))
		}
		if k.hash == [sha256.Size]byte{} {
			errs = append(errs, fmt.Errorf("%w: Options.Keys[%d] was not made by NewKey or ParseKeys", stepwell.ErrInvalid, i))
		}
		for _, other := range keys[:i] {
			if other.Name == k.Name && other.hash == k.hash || other.hash == k.hash {
				errs = append(errs, fmt.Errorf("%w: the keys %s and %s have the same secret", stepwell.ErrInvalid, other.Name, k.Name))
			}
		}
	}
	return errors.Join(errs...)
}

// entry says who may come in: who has a key with the scope that a route needs, and no page of another origin.
type entry struct {
	opts   *Options
	origin *http.CrossOriginProtection
}

// admit checks who asks, and from where.
func (e *entry) admit(r *http.Request, rt *route) (*Key, error) {
	if !rt.anyOrigin {
		if err := e.sameHouse(r); err != nil {
			return nil, err
		}
	}
	if rt.scope == Open || len(e.opts.Keys) == 0 {
		return nil, nil
	}
	key := e.key(r)
	switch {
	case key == nil:
		return nil, errNoKey
	case !key.Scope.covers(rt.scope):
		return nil, fmt.Errorf("%w: its scope is %s, and this needs %s", errScope, key.Scope, rt.scope)
	case key.Limit.limits() && rt.scope != Steps && !strings.HasPrefix(rt.path, wire.Prefix):
		return nil, fmt.Errorf("%w: it is limited to some workflows and steps, so it opens only %s and %s", errScope, wire.Prefix, stepsPrefix)
	}
	return key, nil
}

// rightHost refuses, where there are no keys, requests under a name that is not this server's: a page whose name was bound to this address could ask.
func (e *entry) rightHost(r *http.Request) error {
	if len(e.opts.Keys) == 0 && !e.opts.Insecure && !local(r.Host) {
		return errHost
	}
	return nil
}

// sameHouse also refuses what pages of other origins send.
func (e *entry) sameHouse(r *http.Request) error {
	if err := e.rightHost(r); err != nil {
		return err
	}
	if err := e.origin.Check(r); err != nil {
		return errOrigin
	}
	return nil
}

// key finds the key that a request has. It takes as long whichever it is.
func (e *entry) key(r *http.Request) *Key {
	kind, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(kind, "Bearer") {
		return nil
	}
	return e.keyOf(strings.TrimSpace(secret))
}

// keyOf finds the key that has a secret.
func (e *entry) keyOf(secret string) (found *Key) {
	hash := sha256.Sum256([]byte(secret))
	for i := range e.opts.Keys {
		if subtle.ConstantTimeCompare(hash[:], e.opts.Keys[i].hash[:]) == 1 {
			found = &e.opts.Keys[i]
		}
	}
	return found
}

// local reports whether a request names the server by an address, or as localhost.
func local(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || net.ParseIP(host) != nil
}

// securityHeaders are on each answer. Routes that serve pages set their own policy.
var securityHeaders = map[string]string{
	"Cache-Control":                "no-store",
	"Content-Security-Policy":      "default-src 'none'; frame-ancestors 'none'",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Referrer-Policy":              "no-referrer",
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
}

// shown is what whoever asks may see of events: who may not send sees neither tokens of hooks nor seeds.
func shown(r *request, events []world.Event) []world.Event {
	if r.sees(Operator) {
		return events
	}
	return world.HideSecrets(events)
}
