package server

// This file makes problem documents (RFC 9457) of errors: one table says what each is to a client.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/world"
)

// Problem is what a refused request is answered with, as application/problem+json.
type Problem struct {
	Type    string `json:"type"`              // a URN, as stable as Code
	Title   string `json:"title"`             // what the code means
	Status  int    `json:"status"`            // the answer's
	Code    string `json:"code"`              // for programs; never changes
	Detail  string `json:"detail,omitempty"`  // what was wrong with this request
	Request string `json:"request,omitempty"` // where the server failed: find it in its log

	RetryAfterMs int64  `json:"retryAfterMs,omitempty"` // TOO_EARLY: how long to wait
	Step         string `json:"step,omitempty"`         // TOO_EARLY: which step
	Run          string `json:"run,omitempty"`          // CORRUPTED_EVENT_LOG, NO_KEY
	Key          string `json:"key,omitempty"`          // NO_KEY: the ID of the missing key
	Seq          int64  `json:"seq,omitempty"`          // CORRUPTED_EVENT_LOG: the first event that cannot be right
}

// Error is the problem as one line.
func (p *Problem) Error() string { return p.Code + ": " + p.Detail }

// What the doors refuse before anything else is asked.
var (
	errNoRoute     = errors.New("there is nothing at this path")
	errMethod      = errors.New("the path does not have this method; see the header Allow")
	errNoKey       = errors.New("this needs an API key: Authorization: Bearer KEY")
	errScope       = errors.New("the key's scope does not allow this")
	errHost        = errors.New("without API keys the server answers to its address and to localhost alone")
	errOrigin      = errors.New("a page of another origin sent this")
	errMedia       = errors.New("send application/json")
	errAcceptable  = errors.New("this is application/json")
	errBusy        = errors.New("too many requests wait for results or follow events; come again")
	errFull        = errors.New("all connections are worked on; come again")
	errCrowded     = errors.New("answers that are not read yet take all the memory that there is for them; come again")
	errNotReady    = errors.New("the server is not ready")
	errSlow        = errors.New("the body did not arrive in time")
	errForce       = fmt.Errorf("%w: a forced cancel needs %s", errScope, Admin)
	errSignature   = errors.New("the request is not signed as its webhook wants")
	errSecret      = errors.New("the server cannot check the signature")
	errHeaders     = errors.New("too many headers")
	errGone        = errors.New("the hook ended with its run")
	errOtherBody   = errors.New("the delivery ID was used for another request")
	errConditional = errors.New("the key in the body and the one in the header Idempotency-Key differ")
)

// problems says what an error is; the first that matches counts. Codes are a promise: none changes its meaning.
var problems = []struct {
	is     error
	status int
	code   string
	title  string
}{
	{errNoRoute, 404, "NO_ROUTE", "No such path"},
	{errMethod, 405, "METHOD_NOT_ALLOWED", "Method not allowed"},
	{errNoKey, 401, "UNAUTHENTICATED", "No valid API key"},
	{errSignature, 401, "BAD_SIGNATURE", "No valid signature"},
	{errSecret, 503, "UNKNOWN_SECRET", "The server cannot check signatures of this webhook"},
	{errHeaders, 431, "HEADERS_TOO_LARGE", "Too many headers"},
	{errScope, 403, "FORBIDDEN", "The key may not do this"},
	{errHost, 421, "MISDIRECTED", "Unknown host name"},
	{errOrigin, 403, "CROSS_ORIGIN", "Request from another origin"},
	{errMedia, 415, "UNSUPPORTED_MEDIA_TYPE", "Unsupported media type"},
	{errAcceptable, 406, "NOT_ACCEPTABLE", "Not acceptable"},
	{errBusy, 429, "BUSY", "Too many requests wait"},
	{errCrowded, 503, "BUSY", "Too much is being read"},
	{errFull, 503, "BUSY", "Too many connections"},
	{stepwell.ErrFull, 429, "BUSY", "Too much is worked on"},
	{errUnsigned, 401, "BAD_SIGNATURE", "No valid signature"},
	{errStale, 401, "STALE", "Too old, or from the future"},
	{errReplayed, 409, "REPLAYED", "It was here before"},
	{errNotReady, 503, "NOT_READY", "Not ready"},
	{errSlow, 408, "TIMEOUT", "Request timeout"},
	{errConditional, 400, "INVALID", "Invalid request"},
	{world.ErrRunExists, 409, "RUN_EXISTS", "The run ID is taken"},
	{errGone, 410, "RUN_OVER", "The run is over"},
	{errOtherBody, 422, "DELIVERY_USED", "The delivery ID was used for another request"},
	{world.ErrTerminal, 409, "RUN_OVER", "The run is over"},
	{world.ErrInboxFull, 429, "INBOX_FULL", "The run has too many unread payloads"},
	{world.ErrDeliveryUsed, 409, "DELIVERY_USED", "The delivery ID was used for another payload"},
	{world.ErrStreamClosed, 409, "STREAM_CLOSED", "The stream is closed"},
	{world.ErrTooLarge, 413, "TOO_LARGE", "Too large"},
	{world.ErrNotFound, 404, "NOT_FOUND", "Not found"},
	{world.ErrConflict, 409, "CONFLICT", "Conflict"},
	{world.ErrTooEarly, 409, "TOO_EARLY", "Too early"},
	{world.ErrLeaseLost, 409, "LEASE_LOST", "Somebody else has it now"},
	{world.ErrWorkerExists, 409, "WORKER_EXISTS", "Another worker process has the database"},
	{world.ErrNoKey, 409, "NO_KEY", "The run is encrypted with a key that the server does not have"},
	{world.ErrWrongKey, 409, "WRONG_KEY", "The encryption key has the ID of another"},
	{world.ErrCorrupt, 500, "CORRUPTED_EVENT_LOG", "The run's log is damaged"},
	{world.ErrFormat, 500, "UNKNOWN_FORMAT", "The run's log is of a newer release"},
	{errElsewhere, 409, "UNKNOWN_OUTCOME", "Another process of this server was asked first"},
	{world.ErrUnknownOutcome, 503, "UNKNOWN_OUTCOME", "It may or may not have happened; repeat it under the same key"},
	{world.ErrReplaced, 503, "DATABASE_REPLACED", "The file of the database was deleted, moved or replaced"},
	{world.ErrStorage, 503, "STORAGE", "The database refused"},
	{world.ErrClosed, 503, "SHUTTING_DOWN", "The server is shutting down"},
	{context.DeadlineExceeded, 503, "TIMEOUT", "It took too long"},
	{context.Canceled, 503, "SHUTTING_DOWN", "The server is shutting down"},
	{world.ErrInvalid, 400, "INVALID", "Invalid request"},
}

// problemOf is the problem that an error is. What is wrong with the request is told; what is wrong with the server is not.
func problemOf(err error) *Problem {
	var p *Problem
	if errors.As(err, &p) {
		return p
	}
	p = &Problem{Status: 500, Code: "INTERNAL", Title: "The server failed"}
	for _, known := range problems {
		if errors.Is(err, known.is) {
			p.Status, p.Code, p.Title = known.status, known.code, known.title
			break
		}
	}
	var early *world.TooEarlyError
	if errors.As(err, &early) {
		p.Step, p.RetryAfterMs = early.Step, int64((early.RetryAfter+time.Millisecond-1)/time.Millisecond)
	}
	var corrupt *world.CorruptError
	if errors.As(err, &corrupt) {
		p.Run, p.Seq = corrupt.Run, corrupt.Seq
	}
	var sealed *world.KeyError
	if errors.As(err, &sealed) {
		p.Run, p.Key = sealed.Run, sealed.Key
	}
	p.Type = "urn:stepwell:problem:" + p.Code
	if p.Status < 500 || errors.Is(err, errNotReady) || errors.Is(err, errFull) || errors.Is(err, errCrowded) || errors.Is(err, world.ErrCorrupt) || errors.Is(err, world.ErrFormat) {
		p.Detail = detail(err.Error())
	}
	return p
}

// mostDetail is how long a problem's detail may be: what was sent may stand in it.
const mostDetail = 2000

// detail is what an error says, as it can be shown wherever it comes to.
func detail(text string) string {
	lines := strings.Split(text[:min(len(text), 2*mostDetail)], "\n")
	for i := range lines {
		lines[i] = human.Visible(lines[i])
	}
	if text = strings.Join(lines, "\n"); len(text) > mostDetail {
		text = strings.ToValidUTF8(text[:mostDetail], "") + "…"
	}
	return text
}

// refuse answers a request with a problem. Where the answer has begun, the connection is cut instead: a client must not take half of it for
// the whole.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, errBegun) {
		panic(http.ErrAbortHandler)
	}
	if r.Context().Err() != nil && errors.Is(err, r.Context().Err()) {
		return // nobody is there to be told
	}
	p := s.problem(r, err)
	writeProblem(w, &p)
}

func writeProblem(w http.ResponseWriter, p *Problem) {
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	switch p.Status {
	case http.StatusUnauthorized:
		if p.Code == "UNAUTHENTICATED" {
			h.Set("WWW-Authenticate", `Bearer realm="stepwell"`)
		}
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		h.Set("Retry-After", "1")
	case http.StatusRequestTimeout, http.StatusRequestEntityTooLarge:
		h.Set("Connection", "close") // what is left of the body is not waited for
	}
	body, err := json.Marshal(p)
	if err != nil {
		body = []byte(`{"code":"INTERNAL","status":500}`)
	}
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(body, '\n')) // a client that is gone is not told
}

// problem is the problem that an error is to who asks; what is the server's fault it logs, with what is known beside it.
func (s *Server) problem(r *http.Request, err error, known ...any) Problem {
	p := *problemOf(err)
	if p.Status >= 500 && !errors.Is(err, errNotReady) && !errors.Is(err, errFull) && !errors.Is(err, errCrowded) {
		p.Request = world.NewID("req", time.Now())
		s.log.Error("request failed", append([]any{"request", p.Request, "method", r.Method, "route", r.Pattern, "code", p.Code, "err", err}, known...)...)
	}
	return p
}

// notFound says that a run is not there, or is of another workflow.
func notFound(run, workflow string) error {
	if workflow == "" {
		return fmt.Errorf("run %.130q: %w", run, world.ErrNotFound)
	}
	return fmt.Errorf("run %.130q of workflow %.130q: %w", run, workflow, world.ErrNotFound)
}
