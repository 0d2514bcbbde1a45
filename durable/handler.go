// Package durable serves a workflow over HTTP. A request starts a run, waits for its end, and gets
// its output as the answer. The run goes on if the connection or the process breaks. A client then
// repeats the request with the same key, and gets the answer of the same run.
//
//	mux.Handle("/checkout", durable.Handler(app, Checkout, durable.Options{}))
//
//	curl -i -H 'Content-Type: application/json' -H 'Idempotency-Key: cart-17' -d '{"cart": 17}' localhost:8080/checkout
//
// # Requests
//
// POST sends the workflow's input as JSON. The header Idempotency-Key is the run's key: a repeated
// key finds the run that it started. Without a key, an interim answer (103) at once has the run's
// ID in the headers Stepwell-Run and Location. All other answers have these headers too. Location
// is relative, ?run=ID; GET of it waits for the same run.
//
// The header Prefer limits the wait: wait=10 waits for at most 10 s, respond-async does not wait.
//
// # Answers
//
//   - 200 has the output as JSON.
//   - 202 means that the run goes on: ask again at Location.
//   - Other answers are problem documents (RFC 9457) with a code for programs.
//   - 400 means that the request is not JSON, 422 (UNFIT) that the input does not fit the
//     workflow's type, with the places, and 422 (KEY_USED) that the key was used for another input.
//     These have written nothing.
//   - A failed run is 500, or what [Options].Failed returns, with the failure's code and the run's
//     ID in the member run.
//
// With Accept: text/event-stream the answer is a stream of events: run, with the run's ID; chunk,
// for each chunk of a stream of the run (see [Options].Stream); reset, if chunks were discarded;
// and finally result, with the output, or problem. Each event has an ID. A client that sends it as
// Last-Event-ID continues after it, by GET, as an EventSource does, or by the same POST. 204 means
// that the client has seen all events.
package durable

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/codec"
	"github.com/stepwell/stepwell/internal/schema"
	"github.com/stepwell/stepwell/world"
)

// Options configure a handler. The zero value suits most programs.
type Options struct {
	// Wait is how long a request waits for its run's end before the answer 202. Default 60 s. It
	// does not apply to events.
	Wait time.Duration

	// MaxBody limits a request's body, in bytes. Default 1 MiB.
	MaxBody int64

	// Key returns the run's idempotency key for a request; "" means none. Default: the header
	// Idempotency-Key. A client that sends another client's key gets that client's result. So if
	// clients must not see each other's results, put the authenticated client before the header's
	// value.
	Key func(r *http.Request) (string, error)

	// Start returns options of the start, such as attributes or a priority. Nil: none.
	Start func(r *http.Request) []stepwell.StartOption

	// Stream is the name of the run's stream that is sent as events. Default "progress".
	Stream string

	// CancelWithClient cancels the run if the client that started it disconnects before its end.
	// Default: the run goes on.
	CancelWithClient bool

	// Failed returns the status and the detail of the answer for a run that failed or was
	// cancelled. Default: 500, and only the failure's code, because error messages may be
	// confidential.
	Failed func(err *stepwell.RunError) (status int, detail string)

	// Logger logs failures of the handler. Default [slog.Default].
	Logger *slog.Logger
}

// handler serves a workflow.
type handler[In, Out any] struct {
	app  *stepwell.App
	wf   *stepwell.Workflow[In, Out]
	opts Options
	fits *schema.Schema // nil: the type has none
}

// Handler serves a workflow: see the package comment. The App may work itself, or be a client of
// workers elsewhere. Handler panics if app or workflow is nil, or an option is negative.
func Handler[In, Out any](app *stepwell.App, workflow *stepwell.Workflow[In, Out], opts Options) http.Handler {
	if app == nil || workflow == nil {
		panic("durable: Handler needs an App and a workflow")
	}
	if opts.Wait < 0 || opts.MaxBody < 0 {
		panic(fmt.Sprintf("durable: Options.Wait is %s, and MaxBody %d: must not be negative", opts.Wait, opts.MaxBody))
	}
	opts.Wait, opts.MaxBody = cmp.Or(opts.Wait, time.Minute), cmp.Or(opts.MaxBody, 1<<20)
	opts.Stream = cmp.Or(opts.Stream, "progress")
	if opts.Logger == nil {
		opts.Logger = slog.Default()
	}
	if opts.Key == nil {
		opts.Key = func(r *http.Request) (string, error) { return r.Header.Get("Idempotency-Key"), nil }
	}
	return &handler[In, Out]{app: app, wf: workflow, opts: opts, fits: schema.Of(reflect.TypeFor[In]())}
}

// ServeHTTP answers one request.
func (h *handler[In, Out]) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a := &answer{w: w, rc: http.NewResponseController(w), r: r, opts: &h.opts}
	if err := h.serve(a); err != nil {
		a.refuse(err)
	}
}

func (h *handler[In, Out]) serve(a *answer) error {
	at, back, err := lastEvent(a.r)
	if err != nil {
		return err
	}
	wait, err := prefers(a.r, h.opts.Wait)
	if err != nil {
		return err
	}
	var run *stepwell.Run[Out]
	mine := false
	switch named := a.r.URL.Query().Get("run"); {
	case a.r.Method == http.MethodGet || a.r.Method == http.MethodHead:
		run, err = h.find(a.r.Context(), cmp.Or(named, at.run))
	case a.r.Method != http.MethodPost:
		a.w.Header().Set("Allow", "GET, HEAD, POST")
		return errMethod
	case back:
		run, err = h.find(a.r.Context(), at.run)
	default:
		run, err = h.start(a)
		mine = err == nil && !run.Existed()
	}
	if err != nil {
		return err
	}
	a.begun(run.ID())
	if back && at.run != run.ID() {
		return fmt.Errorf("%w: the header Last-Event-ID is of run %.130q, and the request of run %s", stepwell.ErrInvalid, at.run, run.ID())
	}
	if mine && h.opts.CancelWithClient {
		defer h.cancelIfGone(a.r, run.ID())
	}
	if strings.Contains(a.r.Header.Get("Accept"), eventStream) {
		return h.events(a, run, at)
	}
	return h.result(a, run, wait)
}

// start starts the run of a request, or finds the one that has its key.
func (h *handler[In, Out]) start(a *answer) (*stepwell.Run[Out], error) {
	in, err := h.input(a)
	if err != nil {
		return nil, err
	}
	key, err := h.opts.Key(a.r)
	if err != nil {
		return nil, err
	}
	var opts []stepwell.StartOption
	if h.opts.Start != nil {
		opts = h.opts.Start(a.r)
	}
	if key != "" {
		opts = append(opts, stepwell.Key(key))
	}
	run, err := h.wf.Start(a.r.Context(), h.app, in, opts...)
	if err != nil {
		return nil, err
	}
	if run.Existed() {
		return run, h.same(a.r.Context(), run.ID(), &in)
	}
	if key == "" {
		a.interim(run.ID())
	}
	return run, nil
}

// input reads the body, and refuses what does not fit.
func (h *handler[In, Out]) input(a *answer) (in In, err error) {
	media, _, err := mime.ParseMediaType(a.r.Header.Get("Content-Type"))
	if err != nil || media != "application/json" {
		return in, errMedia
	}
	body, err := io.ReadAll(http.MaxBytesReader(a.w, a.r.Body, h.opts.MaxBody))
	if large := new(http.MaxBytesError); errors.As(err, &large) {
		return in, fmt.Errorf("%w: the body has more than %d bytes", stepwell.ErrTooLarge, large.Limit)
	}
	if err != nil {
		return in, fmt.Errorf("%w: the body did not arrive: %w", stepwell.ErrInvalid, err)
	}
	if err := world.CheckJSON("the body", body); err != nil {
		return in, err
	}
	if err := codec.Decode(body, &in); err != nil {
		unfit := &world.UnfitError{Err: err}
		if h.fits != nil {
			unfit.Places = h.fits.Check(body)
		}
		return in, unfit
	}
	return in, nil
}

// same refuses another input under a key that was used. A run that took the place of another may have been given one.
func (h *handler[In, Out]) same(ctx context.Context, run string, in *In) error {
	info, err := h.app.Get(ctx, run)
	if err != nil || info.Origin != nil || info.Sealed || info.Input == nil {
		return err
	}
	input := []byte(info.Input)
	if info.InputApart != "" {
		from, _, err := h.app.OpenValue(ctx, run, info.InputApart)
		if err == nil {
			input, err = io.ReadAll(from)
		}
		if err != nil {
			return err
		}
	}
	var had In
	if codec.Decode(input, &had) != nil {
		return nil // it was of an older type
	}
	before, err := json.Marshal(&had)
	if err != nil {
		return err
	}
	now, err := json.Marshal(in)
	if err == nil && string(now) != string(before) {
		err = errKeyUsed
	}
	return err
}

// find finds a run of the workflow.
func (h *handler[In, Out]) find(ctx context.Context, id string) (*stepwell.Run[Out], error) {
	unknown := fmt.Errorf("run %.130q: %w", id, stepwell.ErrNotFound)
	if world.CheckRunID(id) != nil {
		return nil, unknown
	}
	info, err := h.app.Get(ctx, id)
	if err == nil && info.Workflow != h.wf.Name() {
		err = unknown
	}
	return h.wf.Get(h.app, id), err
}

// result waits for the run's end, and answers with it.
func (h *handler[In, Out]) result(a *answer, run *stepwell.Run[Out], wait time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(a.r.Context(), wait, errWaited)
	defer cancel()
	out, err := run.Result(ctx)
	if err != nil && a.r.Context().Err() == nil && context.Cause(ctx) == errWaited {
		return a.later(run.ID())
	}
	if err != nil {
		return err
	}
	body, err := codec.Encode(out, world.MaxApart) // the run has it already
	if err != nil {
		return err
	}
	return a.json(http.StatusOK, body)
}

// cancelIfGone asks a run to end whose client is gone.
func (h *handler[In, Out]) cancelIfGone(r *http.Request, run string) {
	if r.Context().Err() == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), 10*time.Second)
	defer cancel()
	if err := h.app.Cancel(ctx, run, "the client that started it disconnected"); err != nil && !errors.Is(err, stepwell.ErrTerminal) {
		h.opts.Logger.Error("a run whose client disconnected could not be cancelled", "run_id", run, "err", err)
	}
}

// prefers is how long a request is to wait: see RFC 7240.
func prefers(r *http.Request, most time.Duration) (time.Duration, error) {
	for _, header := range r.Header.Values("Prefer") {
		for part := range strings.SplitSeq(header, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
			switch strings.ToLower(name) {
			case "respond-async":
				most = 0
			case "wait":
				s, err := strconv.ParseUint(value, 10, 31)
				if err != nil {
					return 0, fmt.Errorf("%w: the header Prefer has wait=%.40q: want seconds", stepwell.ErrInvalid, value)
				}
				most = min(most, time.Duration(s)*time.Second)
			}
		}
	}
	return most, nil
}

// place is where a run is found, from any path that the handler is at.
func place(run string) string { return "?run=" + url.QueryEscape(run) }
