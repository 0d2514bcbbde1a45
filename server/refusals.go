package server

// This file logs what was refused for reasons of security: who guesses keys or tokens, or sends what no client of ours does, is to be seen.

import (
	"errors"
	"log/slog"
	"net/http"

	"github.com/stepwell/stepwell/internal/logs"
	"github.com/stepwell/stepwell/webhook"
	"github.com/stepwell/stepwell/world"
)

// refusal is a kind of them, and what whoever reads of it can do.
type refusal struct{ what, hint string }

var (
	noKey        = refusal{"no key", "The client needs a key: Authorization: Bearer SECRET."}
	wrongKey     = refusal{"wrong key", "Someone is guessing, or uses a revoked key; see from for the address."}
	forbidden    = refusal{"forbidden", "The key has another scope, or is limited: give its holder a key that may do this, or ask why they try."}
	crossOrigin  = refusal{"cross-origin", "A page of another origin sent this; a proxy in front must pass on the header Host."}
	otherHost    = refusal{"unknown host name", "Without API keys the server answers to its address and localhost alone: set keys, or --insecure."}
	oversized    = refusal{"oversized", "The limit is --max-body."}
	unknownToken = refusal{"unknown token", "Someone is guessing, or sends to a hook that no longer exists."}
	badSignature = refusal{"bad signature", "Someone else sends this, or the secrets differ."}
)

// refusalOf says what kind of refusal an error is; ok is false where it is none of security.
func refusalOf(r *http.Request, err error) (why refusal, ok bool) {
	switch {
	case errors.Is(err, errNoKey) && r.Header.Get("Authorization") == "":
		return noKey, true
	case errors.Is(err, errNoKey):
		return wrongKey, true
	case errors.Is(err, errScope):
		return forbidden, true
	case errors.Is(err, errOrigin):
		return crossOrigin, true
	case errors.Is(err, errHost):
		return otherHost, true
	case errors.Is(err, world.ErrTooLarge), errors.Is(err, errHeaders):
		return oversized, true
	case r.PathValue("token") != "" && errors.Is(err, world.ErrNotFound):
		return unknownToken, true
	}
	return refusal{}, false
}

// auditor tells operators what is done and what is refused, and those who ask why.
//
//   - Of one kind of refusal it tells seldom; of what operators do, always.
//   - It is told no key, token or payload, and tells none.
type auditor struct {
	log   *slog.Logger
	says  *logs.Seldom // to log
	entry *entry
	docs  bool // the server has the documentation
}

// flush tells what was kept back.
func (a *auditor) flush() { a.says.Flush() }

// sayUnsigned logs that a request to a webhook has not the signature that it must have.
func (a *auditor) sayUnsigned(r *request, door *webhook.Door, err error) {
	a.says.Warn("webhook refused", slog.String("run_id", door.Run), "scheme", string(door.Scheme), "secret", door.Secret,
		"from", r.RemoteAddr, "err", err, "hint", badSignature.hint)
}

// sayRefused logs a refusal, once: at most ten of a kind a minute, as who is refused can come again as often as he likes. The route stands for the path, which may
// have a token.
func (a *auditor) sayRefused(r *http.Request, why refusal, known ...any) {
	args := append([]any{"method", r.Method, "route", r.Pattern, "from", r.RemoteAddr}, known...)
	if key := a.entry.key(r); key != nil {
		args = append(args, "who", key.Name)
	}
	a.says.Warn("request refused", slog.String("why", why.what), append(args, "hint", why.hint)...)
}
