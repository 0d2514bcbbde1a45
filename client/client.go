package client

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/stepwell/stepwell/api"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

// Options configure a client. The zero value is ready to use.
type Options struct {
	// Key is the secret of an API key. Default: the user of the URL, or STEPWELL_API_KEY.
	Key string
	// HTTP makes the requests. Default: a client of its own.
	HTTP *http.Client
	// RetryFor is how long a call is repeated while the server is away or busy. Default 60 s.
	// Negative: a call is not repeated.
	RetryFor time.Duration
	// Timeout is how long an answer may take, beside the wait that the call asks for. Default 30 s.
	Timeout time.Duration
	// Through names the program to the audit, beside the key: an assistant, for example.
	Through string
}

// Client calls one server. It is safe for concurrent use.
type Client struct {
	base *url.URL
	opt  Options
}

// New returns a client of the server at a URL such as https://host or http://127.0.0.1:7373. A path
// of the URL goes before all others. New sends nothing. Error: [world.ErrInvalid]; it does not show
// the URL, because a key may be in it.
func New(address string, o Options) (*Client, error) {
	base, err := url.Parse(address)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("%w: the URL of a server is like https://host or http://host:port", world.ErrInvalid)
	}
	password, _ := base.User.Password()
	o.Key = cmp.Or(o.Key, base.User.Username(), password, os.Getenv("STEPWELL_API_KEY"))
	if parts := strings.SplitN(o.Key, ":", 3); len(parts) == 3 { // as the server's file has it
		o.Key, _, _ = strings.Cut(parts[2], ",")
	}
	base.User = nil
	if o.HTTP == nil {
		o.HTTP = &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
	}
	o.RetryFor, o.Timeout = cmp.Or(o.RetryFor, time.Minute), cmp.Or(o.Timeout, 30*time.Second)
	return &Client{base: base, opt: o}, nil
}

// Error is what a server answered instead of a result. It wraps the error of package world that its
// code stands for; a code without one wraps [world.ErrStorage].
type Error struct {
	Status  int    // of HTTP
	Code    string // it never changes its meaning, such as RUN_NOT_FOUND
	Message string
	Request string // ID of the request in the server's log, after a failure of the server
	// RetryAfter is when the call can succeed. 0: unknown.
	RetryAfter time.Duration

	is error
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns the error that the code stands for.
func (e *Error) Unwrap() error { return e.is }

// Errors of a server about the caller's key.
var (
	ErrUnauthenticated = errors.New("the server does not know the API key")
	ErrForbidden       = errors.New("the API key may not do this")
)

var (
	errAway = errors.New("the server is away")         // nothing was sent, or nothing was done
	errLost = errors.New("the server did not answer")  // the call may have been made
	errBusy = errors.New("the server is busy")         // nothing was done
	errWait = errors.New("no answer within the limit") // of one try
)

// Call calls an operation: see [api.Caller].
func (c *Client) Call(ctx context.Context, row *api.Row, in, out any) error {
	own := ownID(in)
	req, err := newRequest(row, in)
	if err != nil {
		return fmt.Errorf("%s: %w", row.ID, err)
	}
	again := row.Method == http.MethodGet || row.Twice || req.key != "" || own != ""
	lost := false
	err = c.try(ctx, &req, again, func(resp *http.Response) error {
		if resp.StatusCode == http.StatusNoContent {
			return nil
		}
		answer, err := io.ReadAll(resp.Body)
		if err != nil {
			return fmt.Errorf("%w: %w", errLost, err)
		}
		if err := json.Unmarshal(answer, out); err != nil {
			return fmt.Errorf("%w: the answer does not come from a Stepwell server: %w", world.ErrStorage, err)
		}
		if run, ok := out.(*api.StartedRun); ok {
			run.Existed = resp.StatusCode == http.StatusOK
		}
		return nil
	}, &lost)
	if lost && own != "" && errors.Is(err, world.ErrRunExists) { // the first try had made it
		run, err := c.GetRun(ctx, api.GetRun{Run: own})
		if started, ok := out.(*api.StartedRun); ok {
			started.Run = run
		}
		return err
	}
	if err != nil {
		return fmt.Errorf("%s: %w", row.ID, err)
	}
	return nil
}

// ownID gives a new run an ID, unless it has one or a key, and returns it.
func ownID(in any) string {
	var id *string
	switch in := in.(type) {
	case *api.StartRun:
		if in.Key != "" || in.IdempotencyKey != "" {
			return ""
		}
		id = &in.ID
	case *api.ForkRun:
		id = &in.ID
	case *api.RestartRun:
		id = &in.ID
	default:
		return ""
	}
	if *id != "" {
		return "" // of the caller, who is told that a run has it
	}
	*id = world.NewID(world.PrefixRun, time.Now())
	return *id
}

// request is a call as it is sent.
type request struct {
	method string
	path   string
	query  url.Values
	key    string // Idempotency-Key
	body   []byte // nil: none
	accept string
	last   string        // Last-Event-ID
	wait   time.Duration // that the server may take
}

// newRequest makes the request of an operation.
func newRequest(row *api.Row, in any) (r request, err error) {
	v := reflect.ValueOf(in).Elem()
	r = request{method: row.Method, path: row.Path, query: url.Values{}}
	for _, f := range row.Fields {
		field := v.Field(f.Index)
		switch f.Place {
		case api.InPath:
			text := field.String()
			if text == "" && f.Name == "workflow" && strings.HasPrefix(r.path, "/v1/workflows/{workflow}/runs") {
				r.path = strings.Replace(r.path, "/workflows/{workflow}", "", 1)
				continue
			}
			if text == "" || text == "." || text == ".." {
				return r, fmt.Errorf("%w: %s is %q: a path cannot have that", world.ErrInvalid, f.Name, text)
			}
			r.path = strings.Replace(r.path, "{"+f.Name+"}", url.PathEscape(text), 1)
		case api.InHeader:
			r.key = field.String()
		case api.InQuery:
			addQuery(r.query, f.Name, field)
			if span, ok := field.Interface().(api.Span); ok {
				r.wait = time.Duration(span)
			}
		}
	}
	switch {
	case row.Whole >= 0:
		r.body = v.Field(row.Whole).Bytes()
	case row.Body:
		r.body, err = json.Marshal(in)
		if wait, ok := in.(*api.ReceiveMessages); ok {
			r.wait = time.Duration(wait.Wait)
		}
	}
	if err != nil || !utf8.Valid(r.body) {
		return r, fmt.Errorf("%w: the input is not JSON: %w", world.ErrInvalid, err)
	}
	return r, nil
}

// addQuery adds a parameter, unless its value is zero. The members of a map become one each.
func addQuery(query url.Values, name string, field reflect.Value) {
	if field.IsZero() {
		return
	}
	switch field.Kind() {
	case reflect.Map:
		for _, member := range field.MapKeys() {
			query.Set(name+member.String(), field.MapIndex(member).String())
		}
	default:
		query.Set(name, fmt.Sprint(field.Interface()))
	}
}

// try sends a request until read has read its answer. again: it may be sent again although an
// answer was lost, which lost then reports.
func (c *Client) try(ctx context.Context, req *request, again bool, read func(*http.Response) error, lost *bool) error {
	for began, n := time.Now(), 0; ; n++ {
		err := c.once(ctx, req, read)
		var e *Error
		errors.As(err, &e)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return cmp.Or(context.Cause(ctx), err)
		case errors.Is(err, errLost):
			*lost = true
			if !again {
				return fmt.Errorf("%w: %w", world.ErrUnknownOutcome, err)
			}
		case !errors.Is(err, errAway) && !errors.Is(err, errBusy):
			return err
		}
		pause := time.Duration(float64(min(5*time.Second, 100*time.Millisecond<<min(n, 10))) * (0.5 + mathrand.Float64()/2))
		if e != nil {
			pause = max(pause, e.RetryAfter)
		}
		if time.Since(began)+pause > c.opt.RetryFor {
			return fmt.Errorf("%w: server %s: %w", world.ErrStorage, c.base.Redacted(), err)
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
	}
}

// once sends a request once.
func (c *Client) once(ctx context.Context, req *request, read func(*http.Response) error) error {
	sent := false
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limit := time.AfterFunc(c.opt.Timeout+req.wait, func() { cancel(errWait) })
	defer limit.Stop()
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent = true }})
	var body io.Reader
	if req.body != nil {
		body = bytes.NewReader(req.body)
	}
	target := *c.base
	target.Path, target.RawPath = "", ""
	address := target.String() + strings.TrimRight(c.base.EscapedPath(), "/") + req.path
	if len(req.query) > 0 {
		address += "?" + req.query.Encode()
	}
	h, err := http.NewRequestWithContext(traced, req.method, address, body)
	if err != nil {
		return fmt.Errorf("%w: %w", world.ErrInvalid, err)
	}
	c.headers(h, req)
	resp, err := c.opt.HTTP.Do(h)
	if err != nil {
		why := errAway
		if sent {
			why = errLost
		}
		return fmt.Errorf("%w: %w", why, cmp.Or(cause(ctx), err))
	}
	defer func() { _ = resp.Body.Close() }() // it was read to its end, or is not needed
	if resp.StatusCode >= http.StatusMultipleChoices {
		return refused(resp)
	}
	if req.accept != "" {
		limit.Stop() // what is followed has its own
	}
	return read(resp)
}

// cause is why a context ended early; nil: it did not.
func cause(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return context.Cause(ctx)
}

func (c *Client) headers(h *http.Request, req *request) {
	h.Header.Set("User-Agent", "stepwell-client-go")
	h.Header.Set("Accept", cmp.Or(req.accept, "application/json"))
	h.Header.Set(wire.CallHeader, rand.Text()) // a proxy may send one request twice: the server does it once
	for name, value := range map[string]string{
		"Idempotency-Key": req.key, "Last-Event-ID": req.last, wire.ThroughHeader: c.opt.Through,
	} {
		if value != "" {
			h.Header.Set(name, value)
		}
	}
	if c.opt.Key != "" {
		h.Header.Set("Authorization", "Bearer "+c.opt.Key)
	}
	if req.body != nil {
		h.Header.Set("Content-Type", "application/json")
	}
}

// mostProblem is how much is read of an answer that is an error.
const mostProblem = 64 << 10

// refused returns the error that an answer is.
func refused(resp *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(resp.Body, mostProblem))
	var p wire.Problem
	if err != nil || json.Unmarshal(text, &p) != nil || p.Code == "" {
		if resp.StatusCode >= http.StatusInternalServerError { // of a proxy: it may have passed the call on
			return fmt.Errorf("%w: status %d, not from a Stepwell server", errLost, resp.StatusCode)
		}
		return fmt.Errorf("%w: there is no Stepwell server at this URL: status %d", world.ErrInvalid, resp.StatusCode)
	}
	e := &Error{Status: resp.StatusCode, Code: p.Code, Request: p.Request, RetryAfter: time.Duration(p.RetryAfterMs) * time.Millisecond}
	if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && e.RetryAfter == 0 {
		e.RetryAfter = time.Duration(min(s, math.MaxInt32)) * time.Second
	}
	is := p.Err()
	e.Message, e.is = is.Error(), is
	switch p.Code {
	case wire.CodeNoKey:
		e.is = ErrUnauthenticated
	case wire.CodeForbidden:
		e.is = ErrForbidden
	case wire.CodeBusy:
		e.is = errBusy
	case wire.CodeDraining, wire.CodeNotReady:
		e.is = errAway
	case "TIMEOUT":
		e.is = errLost
	}
	return e
}
