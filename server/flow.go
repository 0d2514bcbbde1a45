package server

// This file is the door of a program that is pushed to: it works on what a message names, while the request lasts.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/internal/logs"
	"github.com/stepwell/stepwell/push"
	"github.com/stepwell/stepwell/world"
)

// Paths of a [Flow]. FlowPath with the query __health reports the health of the program.
const (
	FlowPath     = "/.well-known/workflow/v1/flow"
	ManifestPath = "/.well-known/workflow/v1/manifest.json"
)

// FlowOptions configure a [Flow]. Secrets are required; all other fields have defaults.
type FlowOptions struct {
	// Secrets are shared with the server that pushes: see [ParsePushSecrets]. A message signed with
	// any of them is accepted.
	Secrets []PushSecret
	// Insecure accepts unsigned messages if there are no Secrets. Then anyone who can reach the
	// program can make it work.
	Insecure bool
	// Slice is how long a message is worked on, at least 1 s. Default: Slice of the App's
	// [stepwell.Config], 110 s. Choose less than the platform's limit for a request, because a step
	// that runs when the slice ends is waited for.
	Slice time.Duration
	// Window is how far a message's timestamp may be from now. Default 5 min. Within it each
	// message is accepted once.
	Window time.Duration
	// MaxBody limits a message, in bytes. Default 16 KiB.
	MaxBody int64
	// ReadTimeout is how long a message may take to arrive. Default 10 s.
	ReadTimeout time.Duration
	// Logger logs refused messages and failures. Default: [slog.Default] from level warn up.
	Logger *slog.Logger
	// Version is this build's version in the health answer. Default: the version of the module.
	Version string
}

func (o *FlowOptions) defaults(slice time.Duration) error {
	var errs []error
	refuse := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, invalid("FlowOptions."+format, args...))
		}
	}
	refuse(o.Slice != 0 && o.Slice < time.Second, "Slice is %s: want 1 s or more", o.Slice)
	refuse(o.Window < 0, "Window is %s: must not be negative", o.Window)
	refuse(o.MaxBody < 0, "MaxBody is %d: must not be negative", o.MaxBody)
	refuse(o.ReadTimeout < 0, "ReadTimeout is %s: must not be negative", o.ReadTimeout)
	refuse(len(o.Secrets) == 0 && !o.Insecure, "Secrets is empty: give a secret, or set Insecure if nobody else can reach the program")
	errs = append(errs, checkPushSecrets(o.Secrets))
	set := func(d *time.Duration, to time.Duration) {
		if *d == 0 {
			*d = to
		}
	}
	set(&o.Slice, slice)
	set(&o.Window, 5*time.Minute)
	set(&o.ReadTimeout, 10*time.Second)
	if o.MaxBody == 0 {
		o.MaxBody = 16 << 10
	}
	if o.Logger == nil {
		o.Logger = logs.Default(os.Getenv)
	}
	if o.Version == "" {
		o.Version = moduleVersion()
	}
	return errors.Join(errs...)
}

func checkPushSecrets(secrets []PushSecret) error {
	for i, s := range secrets {
		if len(s.key) == 0 {
			return invalid("push secret %d was not made by ParsePushSecrets", i)
		}
	}
	return nil
}

// Flow is an [http.Handler] for a user's program. It receives messages of a server that pushes, and
// works on the runs that they name with an App. Mount it at /.well-known/workflow/v1/. It is safe
// for concurrent use.
type Flow struct {
	app    *stepwell.App
	opts   FlowOptions
	log    *slog.Logger
	says   *logs.Seldom // to log
	verify *verifier
}

// NewFlow makes the handler of an App, which must not use [stepwell.App.Run]. It starts nothing.
func NewFlow(app *stepwell.App, o FlowOptions) (*Flow, error) {
	if app == nil {
		return nil, invalid("server.NewFlow: no App")
	}
	if err := o.defaults(app.Manifest().Slice); err != nil {
		return nil, fmt.Errorf("server.NewFlow: %w", err)
	}
	return &Flow{app: app, opts: o, log: o.Logger, says: logs.NewSeldom(o.Logger), verify: newVerifier(o.Secrets, o.Window)}, nil
}

// Close refuses further messages, waits for steps, and hands back unfinished work: see
// [stepwell.App.Close]. Call it before you shut down the HTTP server.
func (f *Flow) Close() error { return f.app.Close() }

// ServeHTTP answers one request.
func (f *Flow) ServeHTTP(to http.ResponseWriter, r *http.Request) {
	w := newWriter(to, f.opts.ReadTimeout)
	for name, value := range securityHeaders {
		w.Header().Set(name, value)
	}
	if err := f.serve(w, r); err != nil {
		f.refuse(w, r, err)
	}
}

func (f *Flow) serve(w *writer, r *http.Request) error {
	_, asked := r.URL.Query()["__health"]
	switch {
	case r.URL.Path == FlowPath && asked:
		return answer(w, http.StatusOK, health{Healthy: true, Endpoint: r.URL.Path, SpecVersion: world.LogFormat, WorkflowCoreVersion: f.opts.Version})
	case r.URL.Path == FlowPath && r.Method == http.MethodPost:
		return f.flow(w, r)
	case r.URL.Path == FlowPath:
		w.Header().Set("Allow", http.MethodPost)
		return errMethod
	case r.URL.Path == ManifestPath && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		if err := f.verify.check(r.Header, nil); err != nil {
			return err
		}
		return answer(w, http.StatusOK, f.manifest())
	case r.URL.Path == ManifestPath:
		w.Header().Set("Allow", "GET, HEAD")
		return errMethod
	}
	return errNoRoute
}

// flow works on one message.
func (f *Flow) flow(w *writer, r *http.Request) error {
	m, err := f.message(w, r)
	if err != nil {
		return err
	}
	outcome, err := f.app.Invoke(r.Context(), m, f.opts.Slice)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, flowAnswer{m.Run, outcome})
}

// flowAnswer is the answer to a message.
type flowAnswer struct {
	Run     string       `json:"runId"`
	Outcome push.Outcome `json:"outcome"`
}

// message reads a message and checks who sent it.
func (f *Flow) message(w *writer, r *http.Request) (m push.Message, err error) {
	if r.ContentLength > f.opts.MaxBody {
		return m, tooLarge(f.opts.MaxBody)
	}
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(f.opts.ReadTimeout)) // not every ResponseWriter has deadlines
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, f.opts.MaxBody))
	var more *http.MaxBytesError
	switch {
	case errors.As(err, &more):
		return m, tooLarge(more.Limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return m, errSlow
	case err != nil:
		return m, invalid("the body ended too early: %v", err)
	}
	_ = rc.SetReadDeadline(time.Time{})
	if err := f.verify.check(r.Header, body); err != nil {
		return m, err
	}
	if !isJSON(r.Header) {
		return m, errMedia
	}
	if err := world.CheckJSON("the body", body); err != nil {
		return m, err
	}
	// Fields that a newer server knows are none of ours: the message is only a hint.
	return m, decodeJSON(body, &m, true)
}

// refuse answers with a problem. Who was refused is logged, and what was wrong; not what was sent.
func (f *Flow) refuse(w *writer, r *http.Request, err error) {
	if r.Context().Err() != nil && errors.Is(err, context.Cause(r.Context())) {
		return // nobody is there to be told
	}
	p := *problemOf(err)
	if p.Status >= 500 {
		p.Request = world.NewID("req", time.Now())
		f.log.Error("message failed", "request", p.Request, "code", p.Code, "err", err)
	} else if p.Status == http.StatusUnauthorized || p.Code == "REPLAYED" {
		f.says.Warn("message refused", slog.String("code", p.Code), "from", r.RemoteAddr, "hint", badSignature.hint)
	} else {
		f.log.Info("message refused", "code", p.Code, "from", r.RemoteAddr)
	}
	writeProblem(w, &p)
}

// flowManifest says what the program has.
type flowManifest struct {
	push.Manifest
	Slice       string `json:"slice"`
	SpecVersion int    `json:"specVersion"` // of logs
	CoreVersion string `json:"workflowCoreVersion"`
}

func (f *Flow) manifest() flowManifest {
	return flowManifest{f.app.Manifest(), human.SpanText(f.opts.Slice), world.LogFormat, f.opts.Version}
}
