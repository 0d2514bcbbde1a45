package server

// This file lists hooks, and opens the door to them: whoever has a token may send.

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/webhook"
	"github.com/stepwell/stepwell/world"
)

func hookRoutes() []route {
	return []route{
		{method: "GET", path: "/v1/hooks", scope: Operator, wide: true, handle: atReception((*reception).list), op: operation{
			id: "listHooks", summary: "List active hooks, at most 1,000, and no more behind 2 MiB of metadata",
			query: []param{
				{name: "run", schema: "Text", about: "Only those of this run."},
				{name: "token", schema: "Text", about: "Only the one with this token."},
			},
			responses: []response{{200, "Hooks", "", "The hooks."}},
		}},
		{method: "GET", path: "/v1/hooks/{token}", scope: Open, handle: atReception((*reception).get), op: operation{
			id: "getHook", summary: "Show the metadata of a hook to anyone who has its token",
			responses: []response{{200, "OpenHook", "", "The hook's metadata."}},
		}},
		{method: "POST", path: "/v1/hooks/{token}", scope: Open, before: knowsHook, handle: atReception((*reception).send), audit: true, op: operation{
			id: "sendHook", summary: "Send a payload to a hook", key: "The delivery ID: the same ID is delivered once, for at least 24 hours and the last 10,000 deliveries of the run.", body: "Payload", optional: true,
			responses: []response{{202, "Accepted", "", "The payload is durable."}},
		}},
		{method: "POST", path: "/v1/hooks/{token}/heartbeat", scope: Open, before: knowsHook, handle: heartbeatHook, audit: true, op: operation{
			id: "heartbeatHook", summary: "Tell a hook that someone is still working on it, with details for people", body: "Payload", optional: true,
			responses: []response{{202, "Accepted", "", "It is durable, or an earlier one is that is recent enough (an eighth of the hook's timeout)."}},
		}},
	}
}

// reception takes what others send to hooks and webhooks, who have no key but a token.
//
//   - Who has a token is not told of what run or workflow it is.
//   - What is sent is durable before it is answered, and each once.
type reception struct {
	app    *stepwell.App
	opts   *Options
	log    *slog.Logger
	audit  *auditor
	places *places
	drain  chan struct{} // closed when the server drains
}

// atReception makes a handler of a method of the reception.
func atReception(f func(*reception, http.ResponseWriter, *request) error) func(*Server, http.ResponseWriter, *request) error {
	return func(s *Server, w http.ResponseWriter, r *request) error { return f(&s.reception, w, r) }
}

func (c *reception) list(w http.ResponseWriter, r *request) error {
	hooks, err := c.app.Hooks(r.Context(), r.query.Get("run"), r.query.Get("token"))
	if err != nil {
		return err
	}
	all := make([]hook, len(hooks))
	for i, h := range hooks {
		if is, ok := webhook.Of(&h); ok {
			h.Metadata, all[i].URL = is.Metadata, is.URL
		}
		all[i].HookRow = h
	}
	return answer(w, http.StatusOK, all)
}

// hook is a hook, and where requests are sent to if it is a webhook.
type hook struct {
	world.HookRow
	URL string `json:"url,omitempty"`
}

// openHook is what a hook says to whoever has its token: neither its run nor its workflow.
type openHook struct {
	Token     string          `json:"token"`
	Metadata  json.RawMessage `json:"metadata,omitempty"`
	Encrypted string          `json:"sealed,omitempty"`    // ID of the key that the metadata is encrypted with, where the server does not have it
	Heartbeat string          `json:"heartbeat,omitempty"` // after how long without one its wait ends
	CreatedAt time.Time       `json:"createdAt"`
}

func (c *reception) get(w http.ResponseWriter, r *request) error {
	token := r.PathValue("token")
	if err := world.CheckToken(token); err != nil {
		return err
	}
	hooks, err := c.app.Hooks(r.Context(), "", token)
	switch {
	case err != nil:
		return err
	case len(hooks) == 0:
		return c.noHook(r, token)
	}
	is, ok := webhook.Of(&hooks[0])
	if !ok {
		is.Metadata = hooks[0].Metadata
	}
	return answer(w, http.StatusOK, openHook{hooks[0].Token, is.Metadata, hooks[0].Encrypted, hooks[0].Heartbeat, hooks[0].CreatedAt})
}

func (c *reception) send(w http.ResponseWriter, r *request) error {
	opts, err := r.delivery()
	if err != nil {
		return err
	}
	token := r.PathValue("token")
	if err := c.app.SendHook(r.Context(), token, r.payload(), opts...); err != nil {
		if unfit, ok := errors.AsType[*world.UnfitError](err); ok { // who has the token is not told the workflow
			err = &world.UnfitError{Places: unfit.Places}
		}
		return gone(err)
	}
	return accept(w)
}

// knowsHook refuses a token that nobody ever had before the body is read, and notes for the audit log which run its
// hook is of.
func knowsHook(s *Server, r *request) error {
	token := r.PathValue("token")
	if err := world.CheckToken(token); err != nil {
		return err
	}
	hooks, err := s.app.Hooks(r.Context(), "", token)
	switch {
	case err != nil:
		return err
	case len(hooks) > 0:
		r.created = hooks[0].Run
		return nil
	}
	if _, err = s.app.EndedHook(r.Context(), token); errors.Is(err, world.ErrNotFound) {
		return fmt.Errorf("hook: %w", world.ErrNotFound)
	}
	return err
}

func heartbeatHook(s *Server, w http.ResponseWriter, r *request) error {
	token := r.PathValue("token")
	if err := s.app.HeartbeatHook(r.Context(), token, r.payload()); err != nil {
		return gone(err)
	}
	return accept(w)
}

// noHook says that no active hook has a token: it never was, it was closed, or it is over with its run.
func (c *reception) noHook(r *request, token string) error {
	ended, err := c.app.EndedHook(r.Context(), token)
	if err != nil {
		return err
	}
	info, err := c.app.Get(r.Context(), ended.Run)
	if err == nil && info.Status.Terminal() {
		return errGone
	}
	return fmt.Errorf("hook: %w", world.ErrNotFound)
}

// gone is what those are told who send to a hook whose run is over.
func gone(err error) error {
	if errors.Is(err, world.ErrTerminal) {
		return errGone
	}
	return err
}
