package durable

// This file writes answers: what a run came to, and problem documents.

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

var (
	errMethod  = errors.New("use POST, or GET for a run that was started")
	errMedia   = errors.New("send application/json")
	errKeyUsed = errors.New("the key was used for a different input: send the same input again, or use another key")
	errWaited  = errors.New("the request has waited long enough")
	errCut     = errors.New("the answer has begun")
)

// doors are what is refused before anything else is asked.
var doors = []world.Coded{
	{Err: errMethod, Status: http.StatusMethodNotAllowed, Code: "METHOD_NOT_ALLOWED", Title: "Method not allowed"},
	{Err: errMedia, Status: http.StatusUnsupportedMediaType, Code: "UNSUPPORTED_MEDIA_TYPE", Title: "Unsupported media type"},
	{Err: errKeyUsed, Status: http.StatusUnprocessableEntity, Code: "KEY_USED", Title: "The key was used for a different input"},
}

// problem is a problem document (RFC 9457), as the REST API has it.
type problem struct {
	Type   string         `json:"type"`
	Title  string         `json:"title"`
	Status int            `json:"status"`
	Code   string         `json:"code"`
	Detail string         `json:"detail,omitempty"`
	Run    string         `json:"run,omitempty"`
	Errors []world.Misfit `json:"errors,omitempty"` // the places that do not fit
}

// answer is what one request is answered with.
type answer struct {
	w    http.ResponseWriter
	rc   *http.ResponseController
	r    *http.Request
	opts *Options
	run  string // "": there is none yet
	sent bool   // the head of the answer is out
}

// begun names the run in the answer's head.
func (a *answer) begun(run string) {
	a.run = run
	h := a.w.Header()
	h.Set("Stepwell-Run", run)
	h.Set("Location", place(run))
	h.Set("Cache-Control", "no-store")
}

// interim tells at once which run was started: who has no key has nothing else to come back with.
func (a *answer) interim(run string) {
	a.begun(run)
	if a.r.ProtoAtLeast(1, 1) {
		a.w.WriteHeader(http.StatusEarlyHints)
	}
}

func (a *answer) json(status int, body []byte) error {
	a.sent = true
	a.w.Header().Set("Content-Type", "application/json")
	a.w.WriteHeader(status)
	_, err := a.w.Write(append(body, '\n'))
	if err != nil {
		return errCut
	}
	return nil
}

// later says that the run goes on.
func (a *answer) later(run string) error {
	body, err := json.Marshal(map[string]string{"run": run, "status": string(world.Running)})
	if err != nil {
		return err
	}
	a.w.Header().Set("Retry-After", "1")
	return a.json(http.StatusAccepted, body)
}

// refuse answers with a problem.
func (a *answer) refuse(err error) {
	switch {
	case a.r.Context().Err() != nil: // nobody is there to be told
		return
	case a.sent:
		panic(http.ErrAbortHandler) // nobody is to take half of it for the whole
	}
	p := a.problem(err)
	h := a.w.Header()
	h.Set("Content-Type", "application/problem+json")
	if p.Status == http.StatusServiceUnavailable || p.Status == http.StatusTooManyRequests {
		h.Set("Retry-After", "1")
	}
	body, err := json.Marshal(p)
	if err != nil {
		body = []byte(`{"code":"INTERNAL","status":500}`)
	}
	a.w.WriteHeader(p.Status)
	_, _ = a.w.Write(append(body, '\n'))
}

// problem is what an error is to a client. What is wrong with the request is told; what is wrong here is logged.
func (a *answer) problem(err error) problem {
	p := problem{Status: http.StatusInternalServerError, Code: "INTERNAL", Title: "The server failed", Run: a.run}
	var failed *stepwell.RunError
	var unfit *world.UnfitError
	switch {
	case errors.As(err, &failed):
		p.Run, p.Code, p.Title = failed.Run, failed.Code, "The run failed"
		if p.Code == "" {
			p.Code = "RUN_FAILED"
		}
		if failed.Cancelled {
			p.Code, p.Title = "RUN_CANCELLED", "The run was cancelled"
		}
		if a.opts.Failed != nil {
			p.Status, p.Detail = a.opts.Failed(failed)
		}
	default:
		for _, known := range append(doors, world.Codes()...) {
			if errors.Is(err, known.Err) && !known.Own {
				p.Status, p.Code, p.Title = known.Status, known.Code, known.Title
				break
			}
		}
		if p.Status >= 500 {
			a.opts.Logger.Error("request failed", "method", a.r.Method, "run_id", a.run, "code", p.Code, "err", err)
		} else {
			p.Detail = err.Error()
		}
		if errors.As(err, &unfit) {
			p.Errors = unfit.Places
		}
	}
	p.Type = "urn:stepwell:problem:" + p.Code
	return p
}

// patience is how long a client may take to read the next piece of an answer.
const patience = 30 * time.Second
