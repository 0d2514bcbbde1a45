package remote

// This file makes calls: one request, what its answer means, and when it is sent again.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

// manner says what may be done about a call that failed.
type manner struct {
	twice bool          // it can be sent twice without harm: a lost answer is asked for again
	tries int           // at most; 0: as many as Patience has room for
	limit time.Duration // for the answer to one; 0: Options.Timeout
	long  bool          // the server may have to work long for it
	once  bool          // nobody can find out what became of it: its answer is waited for as long as limit says
}

// What a request can come to beside an answer.
var (
	errAway = errors.New("not reached") // nothing was sent, or the server says that it has done nothing
	errLost = errors.New("answer lost") // it may have happened
)

// Bounds of answers and of pauses between tries.
const (
	mostAnswer   = 256 << 20
	mostProblem  = 1 << 20
	firstPause   = 20 * time.Millisecond
	longestPause = time.Second
)

// A server that takes a request and does not begin to answer within firstSilence, for what may be long work longSilence, may hang, and there may be others behind the
// same address: what can be sent twice is sent again, on another connection, and waited for twice as long. Of what cannot the answer is
// lost, where it can be asked for.
const (
	firstSilence = 5 * time.Second
	longSilence  = 15 * time.Second
)

// errSilent: the answer did not begin in time.
var errSilent = errors.New("the server does not begin to answer")

// mannerOf is what a row says of a lost answer.
func mannerOf(lost wire.Lost) manner {
	switch lost {
	case wire.Twice:
		return manner{twice: true}
	case wire.Long:
		return manner{twice: true, long: true}
	case wire.Once:
		return manner{once: true}
	}
	return manner{}
}

// byID is the manner of a row that is [wire.ByID].
func byID(twice bool) manner { return manner{twice: twice, once: !twice} }

// call calls a method, and again as its row says. What remains unknown is
// [world.ErrUnknownOutcome], an absent server [world.ErrStorage].
func call[In, Out any](ctx context.Context, w *World, m wire.Method[In, Out], in In) (Out, error) {
	return callAs(ctx, w, mannerOf(m.Lost), m, in)
}

// act is call where there is nothing to answer.
func act[In any](ctx context.Context, w *World, m wire.Method[In, wire.Nothing], in In) error {
	_, err := call(ctx, w, m, in)
	return err
}

// callAs is call in another manner.
func callAs[In, Out any](ctx context.Context, w *World, how manner, m wire.Method[In, Out], in In) (out Out, err error) {
	leave, err := w.enter(ctx)
	if err != nil {
		return out, err
	}
	defer leave()
	return callWithin(ctx, w, how, m, in)
}

// callWithin is callAs within a call.
func callWithin[In, Out any](ctx context.Context, w *World, how manner, m wire.Method[In, Out], in In) (out Out, err error) {
	var body bytes.Buffer
	if err := wire.Encode(&body, &in); err != nil {
		return out, fmt.Errorf("%w: %s: %w", world.ErrInvalid, m.Name, err)
	}
	err = w.insist(ctx, how, m.Name, body.Bytes(), func(answer []byte) (err error) {
		out, err = wire.DecodeAnswer[Out](answer)
		return err
	})
	return out, err
}

// insist sends a request, and again as its manner says.
func (w *World) insist(ctx context.Context, how manner, name string, body []byte, read func(answer []byte) error) error {
	if how.limit == 0 {
		how.limit = w.opt.Timeout
	}
	silence := w.silence + time.Duration(len(body)>>18)*time.Second // what is large takes long to read and to write
	switch {
	case how.once:
		silence = how.limit
	case how.long:
		silence = w.long
	}
	began, pause, lost := time.Now(), firstPause, false
	for try := 1; ; try++ {
		one, cancel := context.WithTimeout(ctx, how.limit)
		err := w.once(one, http.MethodPost, "/"+name, body, silence, read)
		cancel()
		hangs := errors.Is(err, errSilent)
		if hangs {
			silence *= 2
		}
		cut := errors.Is(err, errLost)
		lost = lost || cut
		switch {
		case err == nil:
			return nil
		case !cut && !errors.Is(err, errAway):
			return err
		case ctx.Err() != nil && lost:
			return &unknownError{what: name, is: context.Cause(ctx)}
		case ctx.Err() != nil:
			return fmt.Errorf("%s: %w", name, context.Cause(ctx))
		case cut && !how.twice:
			return fmt.Errorf("%w: %s: %w", world.ErrUnknownOutcome, name, err)
		case try == how.tries, time.Since(began) > w.opt.Patience && (!hangs || time.Since(began) > how.limit):
			return w.gone(name, err, lost && !how.twice)
		}
		if !w.pause(ctx, pause+rand.N(pause)) {
			if err := ctx.Err(); err == nil {
				return w.gone(name, world.ErrClosed, lost && !how.twice)
			}
			continue // and it says why
		}
		pause = min(2*pause, longestPause)
	}
}

// gone is the error of a call that is not tried again.
func (w *World) gone(name string, err error, unknown bool) error {
	if unknown {
		return fmt.Errorf("%w: %s: %w", world.ErrUnknownOutcome, name, err)
	}
	return fmt.Errorf("%w: %s: %w", world.ErrStorage, name, err)
}

// unknownError is a call that was given up when it may have reached the server.
type unknownError struct {
	what string
	is   error // why it was given up
}

func (e *unknownError) Error() string { return e.what + ": " + e.is.Error() }
func (e *unknownError) Unwrap() error { return e.is }

// pause waits, unless the context ends or the World is closed.
func (w *World) pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
	case <-w.closing:
	}
	return false
}

// once sends one request, and waits silence for its answer to begin. Its error is what the server said, or wraps errAway or errLost.
func (w *World) once(ctx context.Context, method, path string, body []byte, silence time.Duration, read func(answer []byte) error) error {
	reached := false
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var began atomic.Bool // the answer
	timer := time.AfterFunc(time.Hour, func() {
		if !began.Load() {
			cancel(errSilent)
		}
	})
	defer timer.Stop()
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn:      func(httptrace.GotConnInfo) { reached = true },
		WroteRequest: func(httptrace.WroteRequestInfo) { timer.Reset(silence) }, // a large one may take its time
	})
	req, err := w.request(ctx, method, path, body)
	if err != nil {
		return err
	}
	resp, err := w.client.Do(req)
	if began.Store(true); errors.Is(context.Cause(ctx), errSilent) {
		if err == nil {
			_ = resp.Body.Close() // it came too late
		}
		w.client.CloseIdleConnections() // they may lead to the same server
		return fmt.Errorf("server %s: %w: %w within %s", w.base, errLost, errSilent, silence)
	}
	if err != nil {
		why := errAway
		if reached { // it, or a part of it, was sent
			why = errLost
		}
		return fmt.Errorf("server %s: %w: %w", w.base, why, cause(ctx, err))
	}
	defer func() { _ = resp.Body.Close() }() // what it could say, reading said
	greeting, name := path == "", resp.Header.Get(wire.CallHeader)
	if name != "" && name != req.Header.Get(wire.CallHeader) {
		return fmt.Errorf("server %s: %w: the answer belongs to another call", w.base, errLost)
	}
	if resp.StatusCode != http.StatusOK {
		return w.refused(resp, greeting)
	}
	if name == "" {
		return fmt.Errorf("server %s: %w: the answer is not the server's: it does not name the call", w.base, errLost)
	}
	answer, err := io.ReadAll(io.LimitReader(resp.Body, mostAnswer+1))
	switch {
	case err != nil:
		return fmt.Errorf("server %s: %w: %w", w.base, errLost, cause(ctx, err))
	case len(answer) > mostAnswer:
		return fmt.Errorf("%w: server %s: an answer of more than %d bytes", world.ErrStorage, w.base, mostAnswer)
	}
	if media, _, bad := mime.ParseMediaType(resp.Header.Get("Content-Type")); bad != nil || media != "application/json" {
		err = fmt.Errorf("it is %.100q", resp.Header.Get("Content-Type"))
	} else {
		err = read(answer)
	}
	if err != nil {
		return fmt.Errorf("server %s: %w: the answer does not come from a Stepwell server: %w", w.base, errLost, err)
	}
	return nil
}

// request makes a request.
func (w *World) request(ctx context.Context, method, path string, body []byte) (*http.Request, error) {
	var from io.Reader
	if body != nil {
		from = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, w.base.JoinPath(wire.Prefix+path).String(), from)
	if err != nil {
		return nil, fmt.Errorf("%w: server %s: %w", world.ErrInvalid, w.base, err)
	}
	req.Header.Set("User-Agent", "stepwell-remote")
	req.Header.Set(wire.CallHeader, fmt.Sprintf("%016x%016x", rand.Uint64(), rand.Uint64()))
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if w.opt.Through != "" {
		req.Header.Set(wire.ThroughHeader, w.opt.Through)
	}
	if w.key != "" {
		req.Header.Set("Authorization", "Bearer "+w.key)
	}
	return req, nil
}

// cause is an error of net/http without the URL, which is told already.
func cause(ctx context.Context, err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil {
		return errors.New("no answer in time")
	}
	return err
}

// refused is what an answer says that is not the one that was asked for. What is not of a server is of something in between, a proxy say, which may have passed
// the call on. greeting: nobody has seen a server there yet.
func (w *World) refused(resp *http.Response, greeting bool) error {
	p := wire.Problem{Status: resp.StatusCode, Title: http.StatusText(resp.StatusCode)}
	body, err := io.ReadAll(io.LimitReader(resp.Body, mostProblem))
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	strange := resp.Header.Get(wire.CallHeader) == ""
	if err != nil || strange || media != "application/problem+json" || json.Unmarshal(body, &p) != nil || p.Code == "" {
		switch {
		case resp.StatusCode == http.StatusRequestEntityTooLarge: // whoever says that has not passed it on, and never will
			return fmt.Errorf("%w: a proxy in front of server %s does not accept a body of that size: status %d", world.ErrTooLarge, w.base, resp.StatusCode)
		case resp.StatusCode >= 500 || !greeting:
			return fmt.Errorf("server %s: %w: status %d, not from a Stepwell server", w.base, errLost, resp.StatusCode)
		}
		return fmt.Errorf("%w: there is no Stepwell server at %s, or an older one: status %d", world.ErrInvalid, w.base, resp.StatusCode)
	}
	switch p.Code {
	case "NO_ROUTE": // a path too much in the URL, an older server, a program that serves a flow alone
		return fmt.Errorf("%w: there is no Stepwell server at %s, or an older one: status %d %s", world.ErrInvalid, w.base, resp.StatusCode, p.Code)
	case wire.CodeDraining, wire.CodeNotReady, wire.CodeBusy:
		return fmt.Errorf("server %s: %w: %s %s", w.base, errAway, p.Code, p.Detail)
	case "TIMEOUT":
		return fmt.Errorf("server %s: %w: %s %s", w.base, errLost, p.Code, p.Detail)
	case wire.CodeNoKey:
		return fmt.Errorf("server %s: %w", w.base, ErrUnauthenticated)
	case wire.CodeForbidden:
		return fmt.Errorf("server %s: %w: %s", w.base, ErrForbidden, strings.TrimPrefix(p.Detail, ErrForbidden.Error()+": "))
	}
	return p.Err()
}
