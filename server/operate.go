package server

// This file holds what operators do to one run.

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/operate"
	"github.com/stepwell/stepwell/world"
)

func operateRoutes() []route {
	act := func(name, summary, body string, handle func(*Server, http.ResponseWriter, *request) error, responses ...response) route {
		return route{
			method: "POST", path: "/v1/workflows/{workflow}/runs/{run}/" + name, scope: Operator, handle: handle, audit: true,
			op: operation{id: name + "Run", summary: summary, body: body, optional: true, responses: responses},
		}
	}
	now := response{202, "Run", "", "It is durable; this is the run now."}
	created := response{201, "Run", "", "The new run."}
	return []route{
		act("pause", "Stop a run until you resume it", "Reason", (*Server).pauseRun, now),
		act("resume", "Let a paused run continue", "Empty", (*Server).resumeRun, now),
		act("wake", "End the retry delays and sleeps of a run now, or those that are named, or its start delay", "Wake", (*Server).wakeRun,
			response{202, "Woken", "", "How many there were."}),
		act("restart", "Start a new run with the input of another", "Restart", (*Server).restartRun, created),
		act("fork", "Start a new run from any event of another", "Fork", (*Server).forkRun, created),
		act("retry", "Continue a failed run from the step that failed, in a new run", "Empty", (*Server).retryRun, created,
			response{200, "Run", "", "The run that an earlier retry began."}),
	}
}

// reason is the body of what has a reason.
type reason struct {
	Reason string `json:"reason"`
}

func (s *Server) pauseRun(w http.ResponseWriter, r *request) error {
	var b reason
	if err := r.decode(&b); err != nil {
		return err
	}
	r.because(b.Reason)
	id, err := s.findID(r)
	if err != nil {
		return err
	}
	if err := s.app.Pause(r.Context(), id, b.Reason); err != nil {
		return err
	}
	return s.now(w, r, id)
}

func (s *Server) resumeRun(w http.ResponseWriter, r *request) error {
	id, err := s.findEmpty(r)
	if err != nil {
		return err
	}
	if err := s.app.Resume(r.Context(), id); err != nil {
		return err
	}
	return s.now(w, r, id)
}

// findEmpty finds the run of an act that has no options.
func (s *Server) findEmpty(r *request) (string, error) {
	if err := r.decode(&struct{}{}); err != nil {
		return "", err
	}
	return s.findID(r)
}

// wake is the body of a wake: what is to end. None: retry delays and sleeps.
type wake struct {
	Retries bool `json:"retries"`
	Starts  bool `json:"starts"`
	Sleeps  bool `json:"sleeps"`
}

func (b *wake) what() []world.Waking { return operate.Waking(b.Retries, b.Starts, b.Sleeps) }

// woken says how many delays were ended, and of which kind.
type woken struct {
	Woken   int `json:"woken"`
	Retries int `json:"retries"`
	Starts  int `json:"starts"`
	Sleeps  int `json:"sleeps"`
}

func (s *Server) wakeRun(w http.ResponseWriter, r *request) error {
	var b wake
	if err := r.decode(&b); err != nil {
		return err
	}
	id, err := s.findID(r)
	if err != nil {
		return err
	}
	n, err := s.app.Wake(r.Context(), id, b.what()...)
	if err != nil {
		return err
	}
	return answer(w, http.StatusAccepted, woken{n.Total(), n.Retries, n.Starts, n.Sleeps})
}

// restart is the body of a restart.
type restart struct {
	ID      string          `json:"id"`
	Version int             `json:"version"`
	Input   json.RawMessage `json:"input"`
	InPlace bool            `json:"inPlace"`
}

func (s *Server) restartRun(w http.ResponseWriter, r *request) error {
	var b restart
	if err := r.decode(&b); err != nil {
		return err
	}
	if b.Version < 0 {
		return invalid("version is %d: must not be negative", b.Version)
	}
	id, err := s.findID(r)
	if err != nil {
		return err
	}
	started, err := s.app.Restart(r.Context(), id, stepwell.RestartOptions{ID: b.ID, Version: b.Version, Input: b.Input, InPlace: b.InPlace})
	if err != nil {
		return err
	}
	return s.created(w, r, started)
}

// position names an event in a body: by its number, or its ID.
type position string

func (p *position) UnmarshalJSON(b []byte) error {
	var text string // null: none
	if json.Unmarshal(b, &text) != nil {
		text = string(b)
	}
	*p = position(text)
	return nil
}

// of is the number of the event of a run.
func (p position) of(run string) (int64, error) {
	if p == "" {
		return 0, nil
	}
	n, err := world.ParseEvent(run, string(p))
	if err != nil {
		return 0, fmt.Errorf("at: %w", err)
	}
	return n, nil
}

// fork is the body of a fork.
type fork struct {
	At      position                   `json:"at"`
	ID      string                     `json:"id"`
	Version int                        `json:"version"`
	Input   json.RawMessage            `json:"input"`
	Results map[string]json.RawMessage `json:"results"`
}

func (s *Server) forkRun(w http.ResponseWriter, r *request) error {
	var b fork
	if err := r.decode(&b); err != nil {
		return err
	}
	if b.Version < 0 {
		return invalid("version is %d: must not be negative", b.Version)
	}
	id, err := s.findID(r)
	if err != nil {
		return err
	}
	at, err := b.At.of(id)
	if err != nil {
		return err
	}
	started, err := s.app.Fork(r.Context(), id, stepwell.ForkOptions{At: at, ID: b.ID, Version: b.Version, Input: b.Input, Results: b.Results})
	if err != nil {
		return err
	}
	return s.created(w, r, started)
}

func (s *Server) retryRun(w http.ResponseWriter, r *request) error {
	id, err := s.findEmpty(r)
	if err != nil {
		return err
	}
	started, err := s.app.Retry(r.Context(), id)
	if err != nil {
		return err
	}
	return s.created(w, r, started)
}
