package server

// This file makes problem documents (RFC 9457) of errors: one table says what each is to a client.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/server/site"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

// Problem is the application/problem+json answer to a refused request.
type Problem struct {
	Type   string `json:"type"`             // a URN, as stable as Code
	Title  string `json:"title"`            // what the code means
	Status int    `json:"status"`           // HTTP status of the answer
	Code   string `json:"code"`             // for programs; never changes
	Detail string `json:"detail,omitempty"` // what was wrong with this request
	Help   string `json:"help,omitempty"`   // path of a page that says what to do
	// ID of the request in the server's log, after a failure of the server
	Request string `json:"request,omitempty"`

	RetryAfterMs int64  `json:"retryAfterMs,omitempty"` // TOO_EARLY, RATE_LIMITED: how long to wait
	Step         string `json:"step,omitempty"`         // TOO_EARLY: the step
	Run          string `json:"run,omitempty"`          // CORRUPTED_EVENT_LOG, NO_KEY
	// NO_KEY: ID of the missing key; RATE_LIMITED: the limit's key
	Key string `json:"key,omitempty"`
	// CORRUPTED_EVENT_LOG: the first damaged event
	Seq   int64  `json:"seq,omitempty"`
	Limit string `json:"limit,omitempty"` // RATE_LIMITED: name of the limit

	Errors []world.Misfit `json:"errors,omitempty"` // UNFIT: the first ten places that do not fit
}

// Error returns the problem as one line.
func (p *Problem) Error() string { return p.Code + ": " + p.Detail }

// What the doors refuse before anything else is asked.
var (
	errNoRoute     = errors.New("there is nothing at this path")
	errMethod      = errors.New("the path does not have this method; see the header Allow")
	errNoKey       = errors.New("this needs an API key: Authorization: Bearer KEY")
	errScope       = world.ErrForbidden
	errHost        = errors.New("without API keys the server answers to its address and to localhost alone")
	errOrigin      = errors.New("a page of another origin sent this request")
	errMedia       = errors.New("send application/json")
	errOctets      = errors.New("send application/octet-stream: the bytes as they are")
	errAcceptable  = errors.New("this is application/json")
	errBusy        = errors.New("too many requests wait for results or follow events; try again later")
	errFull        = errors.New("all connections are busy; try again later")
	errCrowded     = errors.New("answers that are not read yet use all the memory reserved for them; try again later")
	errNotReady    = errors.New("the server is not ready")
	errSlow        = errors.New("the body did not arrive in time")
	errForce       = fmt.Errorf("%w: a forced cancel needs %s", errScope, Admin)
	errSignature   = errors.New("the request is not signed as its webhook wants")
	errSecret      = errors.New("the server cannot check the signature")
	errHeaders     = errors.New("too many headers")
	errGone        = errors.New("the hook ended with its run")
	errOtherBody   = errors.New("the delivery ID was used for a different request")
	errConditional = errors.New("the key in the body and the one in the header Idempotency-Key differ")
)

// problems says what an error is; the first that matches counts: what the server's doors refuse, and what its world does.
var problems = slices.Concat([]world.Coded{
	{Err: errNoRoute, Status: 404, Code: "NO_ROUTE", Title: "No such path"},
	{Err: errMethod, Status: 405, Code: "METHOD_NOT_ALLOWED", Title: "Method not allowed"},
	{Err: errNoKey, Status: 401, Code: wire.CodeNoKey, Title: "No valid API key"},
	{Err: errSignature, Status: 401, Code: "BAD_SIGNATURE", Title: "No valid signature"},
	{Err: errSecret, Status: 503, Code: "UNKNOWN_SECRET", Title: "The server cannot check signatures of this webhook"},
	{Err: errHeaders, Status: 431, Code: "HEADERS_TOO_LARGE", Title: "Too many headers"},
	{Err: errScope, Status: 403, Code: wire.CodeForbidden, Title: "The key may not do this"},
	{Err: errHost, Status: 421, Code: "MISDIRECTED", Title: "Unknown host name"},
	{Err: errOrigin, Status: 403, Code: "CROSS_ORIGIN", Title: "Request from another origin"},
	{Err: errMedia, Status: 415, Code: "UNSUPPORTED_MEDIA_TYPE", Title: "Unsupported media type"},
	{Err: errOctets, Status: 415, Code: "UNSUPPORTED_MEDIA_TYPE", Title: "Unsupported media type"},
	{Err: errAcceptable, Status: 406, Code: "NOT_ACCEPTABLE", Title: "Not acceptable"},
	{Err: errBusy, Status: 429, Code: wire.CodeBusy, Title: "Too many requests wait"},
	{Err: errCrowded, Status: 503, Code: wire.CodeBusy, Title: "Too many unread answers"},
	{Err: errFull, Status: 503, Code: wire.CodeBusy, Title: "Too many connections"},
	{Err: stepwell.ErrFull, Status: 429, Code: wire.CodeBusy, Title: "Too many requests in progress"},
	{Err: errUnsigned, Status: 401, Code: "BAD_SIGNATURE", Title: "No valid signature"},
	{Err: errStale, Status: 401, Code: "STALE", Title: "Too old, or from the future"},
	{Err: errReplayed, Status: 409, Code: "REPLAYED", Title: "It has already arrived"},
	{Err: errNotReady, Status: 503, Code: wire.CodeNotReady, Title: "Not ready"},
	{Err: errSlow, Status: 408, Code: "TIMEOUT", Title: "Request timeout"},
	{Err: errConditional, Status: 400, Code: "INVALID", Title: "Invalid request"},
	{Err: errGone, Status: 410, Code: "RUN_OVER", Title: "The run is over"},
	{Err: errOtherBody, Status: 422, Code: "DELIVERY_USED", Title: "The delivery ID was used for a different request"},
	{Err: errElsewhere, Status: 409, Code: "UNKNOWN_OUTCOME", Title: "Another process of this server was asked first"},
}, worlds[:len(worlds)-1], []world.Coded{
	{Err: context.DeadlineExceeded, Status: 503, Code: "TIMEOUT", Title: "It took too long"},
	{Err: context.Canceled, Status: 503, Code: wire.CodeDraining, Title: "The server is shutting down"},
}, worlds[len(worlds)-1:]) // [world.ErrInvalid] is the last, as others may be invalid too

var worlds = world.Codes()

// problemOf is the problem that an error is. What is wrong with the request is told; what is wrong with the server is not.
func problemOf(err error) *Problem {
	var p *Problem
	if errors.As(err, &p) {
		return p
	}
	p = &Problem{Status: 500, Code: "INTERNAL", Title: "The server failed"}
	for _, known := range problems {
		if errors.Is(err, known.Err) {
			p.Status, p.Code, p.Title = known.Status, known.Code, known.Title
			break
		}
	}
	var early *world.TooEarlyError
	if errors.As(err, &early) {
		p.Step, p.RetryAfterMs = early.Step, int64((early.RetryAfter+time.Millisecond-1)/time.Millisecond)
	}
	var rate *world.RateError
	if errors.As(err, &rate) {
		p.RetryAfterMs, p.Limit, p.Key = int64((rate.After+time.Millisecond-1)/time.Millisecond), rate.Limit, rate.Key
	}
	var corrupt *world.CorruptError
	if errors.As(err, &corrupt) {
		p.Run, p.Seq = corrupt.Run, corrupt.Seq
	}
	var encrypted *world.KeyError
	if errors.As(err, &encrypted) {
		p.Run, p.Key = encrypted.Run, encrypted.Key
	}
	var unfit *world.UnfitError
	if errors.As(err, &unfit) {
		p.Errors = unfit.Places
	}
	p.Type = "urn:stepwell:problem:" + p.Code
	if p.Status < 500 || errors.Is(err, errNotReady) || errors.Is(err, errFull) || errors.Is(err, errCrowded) || errors.Is(err, world.ErrCorrupt) || errors.Is(err, world.ErrFormat) {
		p.Detail = detail(err.Error())
	}
	if errors.Is(err, world.ErrStorage) && p.Detail == "" {
		p.Detail = storageAway
	}
	return p
}

// helpBase is where the documentation has the codes, each under its name.
const helpBase = site.Base + "server.html#"

// storageAway is all that is told of a database that fails: the cause may name hosts.
const storageAway = "the database does not answer, or refuses (away, full, read-only): workers continue by themselves when it is back; ask again when GET /readyz says yes"

// mostDetail is how long a problem's detail may be: what was sent may stand in it.
const mostDetail = 2000

// detail is what an error says, as it can be shown wherever it comes to.
func detail(text string) string {
	if text = human.VisibleLines(text[:min(len(text), 2*mostDetail)]); len(text) > mostDetail {
		text = strings.ToValidUTF8(text[:mostDetail], "") + "…"
	}
	return text
}

// refuse answers a request with a problem. Where the answer has begun, the connection is cut instead: a client must not take half of it for
// the whole.
func (a *auditor) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, errBegun) {
		panic(http.ErrAbortHandler)
	}
	if r.Context().Err() != nil && errors.Is(err, r.Context().Err()) {
		return // nobody is there to be told
	}
	p := a.problem(r, err)
	writeProblem(w, &p)
}

func writeProblem(w http.ResponseWriter, p *Problem) {
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	switch p.Status {
	case http.StatusUnauthorized:
		if p.Code == wire.CodeNoKey {
			h.Set("WWW-Authenticate", `Bearer realm="stepwell"`)
		}
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		h.Set("Retry-After", strconv.FormatInt(max(1, (p.RetryAfterMs+999)/1000), 10))
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
func (a *auditor) problem(r *http.Request, err error, known ...any) Problem {
	p := *problemOf(err)
	if of := (*Problem)(nil); a.docs && !errors.As(err, &of) { // what Workflow DevKit refuses has codes of its own
		p.Help = helpBase + p.Code
	}
	if why, ok := refusalOf(r, err); ok {
		a.sayRefused(r, why)
	}
	if p.Status >= 500 && !errors.Is(err, errNotReady) && !errors.Is(err, errFull) && !errors.Is(err, errCrowded) {
		p.Request = world.NewID("req", time.Now())
		a.log.Error("request failed", append([]any{"request", p.Request, "method", r.Method, "route", r.Pattern, "code", p.Code, "err", err}, known...)...)
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
