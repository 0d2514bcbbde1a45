package server

// This file holds the server itself: its options, and how a request comes to its route.

import (
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/acting"
	"github.com/stepwell/stepwell/internal/courier"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/internal/logs"
	"github.com/stepwell/stepwell/internal/ops"
	"github.com/stepwell/stepwell/server/wdk"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

// Options configure a server. The zero value is safe on the loopback address only: without keys,
// anyone who can reach the server may do everything.
type Options struct {
	// Keys are the API keys: see [ParseKeys]. Without keys, requests need none, and must address
	// the server by IP address or as localhost.
	Keys []Key
	// Insecure accepts requests without keys under any host name, and lets [Server.Listen] listen
	// on a public address without keys.
	Insecure bool
	// WebhookSecrets verify requests to webhooks: see [ParseWebhookSecrets]. A webhook whose secret
	// is missing answers 503.
	WebhookSecrets []WebhookSecret
	// MaxBody limits a request's body, in bytes. Default 2 MiB, because a payload may have 1 MiB.
	// The body of a start may have more: see MaxValue of [stepwell.Config].
	MaxBody int64
	// ReadTimeout is how long a request's body may take to arrive. Default 30 s.
	ReadTimeout time.Duration
	// WriteTimeout is how long a client may take to read an answer, or the next piece of a stream.
	// Default 30 s.
	WriteTimeout time.Duration
	// Heartbeat is the time between comments on an idle event stream. Default 15 s.
	Heartbeat time.Duration
	// MaxWait is the longest that a request may wait for a result. Default 60 s.
	MaxWait time.Duration
	// MaxWaiting is how many requests may wait for a result or follow events at once. Default
	// 1,000.
	MaxWaiting int
	// MaxAnswers limits the memory of answers that are being made or sent, in bytes. One key, or
	// one address without a key, gets at most half. Further answers wait for up to 5 s. Default 64
	// MiB.
	MaxAnswers int64
	// MaxBodies limits the memory of request bodies, in bytes, while they arrive and are worked on.
	// One key, or one address without a key, gets at most half. Further requests wait for up to 5
	// s. Default 64 MiB.
	MaxBodies int64
	// Push says which endpoints get messages. Default: none.
	Push PushOptions
	// PrivateEndpoints permits topic subscriptions to post to private networks and to this machine,
	// if they ask for it. By default they are refused.
	PrivateEndpoints bool
	// Logger logs failures; refused requests that may be attacks, at most ten a minute of each
	// kind; and, at level info, what operators do. It gets no key, token or payload. Default:
	// [slog.Default] from level warn up.
	Logger *slog.Logger
	// NoUI removes the web UI below /ui/ and the documentation below /docs/.
	NoUI bool
	// Metrics answers GET /metrics, for example the Handler of package telemetry. Nil: the route
	// does not exist.
	Metrics http.Handler
	// Version is this build's version in the health answer. Default: the version of the module.
	Version string
}

func (o *Options) defaults() error {
	var errs []error
	refuse := func(bad bool, name string, v any) {
		if bad {
			errs = append(errs, fmt.Errorf("%w: Options.%s is %v: must not be negative", stepwell.ErrInvalid, name, v))
		}
	}
	refuse(o.MaxBody < 0, "MaxBody", o.MaxBody)
	refuse(o.MaxWaiting < 0, "MaxWaiting", o.MaxWaiting)
	refuse(o.MaxAnswers < 0, "MaxAnswers", o.MaxAnswers)
	refuse(o.MaxBodies < 0, "MaxBodies", o.MaxBodies)
	for name, d := range map[string]*time.Duration{
		"ReadTimeout": &o.ReadTimeout, "WriteTimeout": &o.WriteTimeout, "Heartbeat": &o.Heartbeat, "MaxWait": &o.MaxWait,
	} {
		refuse(*d < 0, name, *d)
	}
	if o.MaxBody == 0 {
		o.MaxBody = 2 << 20
	}
	if o.MaxWaiting == 0 {
		o.MaxWaiting = 1000
	}
	if o.MaxAnswers == 0 {
		o.MaxAnswers = 64 << 20
	}
	if o.MaxBodies == 0 {
		o.MaxBodies = 64 << 20
	}
	for to, d := range map[*time.Duration]time.Duration{
		&o.ReadTimeout: 30 * time.Second, &o.WriteTimeout: 30 * time.Second, &o.Heartbeat: 15 * time.Second, &o.MaxWait: time.Minute,
	} {
		if *to == 0 {
			*to = d
		}
	}
	if o.Logger == nil {
		o.Logger = logs.Default(os.Getenv)
	}
	if o.Version == "" {
		o.Version = moduleVersion()
	}
	return errors.Join(append(errs, checkKeys(o.Keys), checkSecrets(o.WebhookSecrets), o.Push.defaults())...)
}

// moduleVersion is the version of Stepwell that the program links.
func moduleVersion() string {
	const module = "github.com/stepwell/stepwell"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, m := range append([]*debug.Module{&info.Main}, info.Deps...) {
		if m.Path == module && m.Version != "" {
			return m.Version
		}
	}
	return "unknown"
}

// Server is an [http.Handler]. It is safe for concurrent use.
type Server struct {
	app      *stepwell.App
	world    world.World
	opts     Options
	log      *slog.Logger
	mux      *http.ServeMux
	watchers *watchers
	ops      *ops.Ops
	topics   *courier.Courier
	room     *room // of answers
	bodies   *room
	entry    entry    // who may come in
	audit    auditor  // what is told of it
	places   places   // of those who wait
	guard    guard    // what keys of workers may do
	doors    doors    // of remote workers
	stepper  stepDoor // of step workers

	reception reception
	system    system

	pageBytes    int // of all that is in a page, behind which it ends early; constants but for tests
	journalBytes int // of a log, more than which its journal is told without payloads

	bulkTime time.Duration // for a bulk operation whose answer comes at its end; a constant but for tests
	pusher   *pusher       // nil: there is nobody to push to
	wdk      *wdk.Host     // Workflow DevKit's runtime calls it

	drain    chan struct{} // closed by Drain
	draining sync.Once
}

// New makes a server of an App. If the App is only a client, workers elsewhere carry out what
// requests start. The error reports all faults of the options at once.
//
// New starts nothing. [Server.Serve] runs all that a server needs. If you mount the server in your
// own HTTP server, run [Server.Spread] beside it, or no topic and no schedule is served by this
// process; call [Server.Drain] before you shut down; and let a worker delete the ended runs
// whose retention is over.
func New(app *stepwell.App, o Options) (*Server, error) {
	err := o.defaults()
	if app == nil {
		err = errors.Join(err, fmt.Errorf("%w: no App", stepwell.ErrInvalid))
	}
	if err != nil {
		return nil, fmt.Errorf("server.New: %w", err)
	}
	s := &Server{
		app: app, world: app.World(), opts: o, log: o.Logger, mux: http.NewServeMux(),
		watchers: newWatchers(app.World()), drain: make(chan struct{}), room: newRoom(o.MaxAnswers), bodies: newRoom(o.MaxBodies),
		pageBytes: 2 << 20, journalBytes: 8 << 20, bulkTime: bulkTime,
		places: places{waiting: make(chan struct{}, o.MaxWaiting)},
	}
	below := world.Stored(s.world)
	s.entry = entry{opts: &s.opts, origin: http.NewCrossOriginProtection()}
	s.audit = auditor{log: s.log, says: logs.NewSeldom(s.log), entry: &s.entry, docs: !o.NoUI}
	s.guard = guard{below: below}
	s.doors = doors{
		app: app, opts: &s.opts, log: s.log, below: below, able: below.Abilities(), guard: &s.guard, places: &s.places,
		audit: &s.audit, seed: maphash.MakeSeed(), id: world.NewID("srv", time.Now()), pageBytes: &s.pageBytes, drain: s.drain,
	}
	s.stepper = stepDoor{
		doors: &s.doors, guard: &s.guard, places: &s.places, log: s.log, says: logs.NewSeldom(s.log),
		world: s.world,
	}
	s.ops = newOps(s)
	s.topics = newCourier(app, s.log, o.PrivateEndpoints)
	if s.pusher, err = newPusher(below, o.Push, s.log); err != nil {
		return nil, fmt.Errorf("server.New: %w", err)
	}
	s.wdk = wdk.New(s.world, s.log)
	s.reception = reception{app: app, opts: &s.opts, log: s.log, audit: &s.audit, places: &s.places, drain: s.drain}
	s.system = system{app: app, world: s.world, opts: &s.opts, log: s.log, pusher: s.pusher, drain: s.drain}
	for path, methods := range byPath(routes()) {
		s.mux.Handle(path, s.at(methods))
	}
	if !o.NoUI {
		s.mountUI()
		s.mountDocs()
	}
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { s.audit.refuse(w, r, errNoRoute) })
	return s, nil
}

// byPath groups routes by path: one path has one entry in the mux, so that a method that it does not have can be told from a path that nobody
// knows.
func byPath(all []route) map[string]map[string]*route {
	paths := map[string]map[string]*route{}
	for i := range all {
		if paths[all[i].path] == nil {
			paths[all[i].path] = map[string]*route{}
		}
		paths[all[i].path][all[i].method] = &all[i]
	}
	return paths
}

// Drain ends requests that wait: waits for results get the current state, followers are told to
// reconnect, and /readyz fails. It returns at once. Calling it twice is harmless.
func (s *Server) Drain() {
	s.draining.Do(func() {
		close(s.drain)
		s.wdk.Close()
		s.audit.flush()
	})
}

// drains reports whether Drain was called.
func (s *Server) drains() bool {
	select {
	case <-s.drain:
		return true
	default:
		return false
	}
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(to http.ResponseWriter, r *http.Request) {
	w := newWriter(to, s.opts.WriteTimeout)
	header := w.Header()
	for name, value := range securityHeaders {
		header.Set(name, value)
	}
	if name := r.Header.Get(wire.CallHeader); isCallName(name) {
		header.Set(wire.CallHeader, name)
	}
	if r.TLS != nil {
		header.Set("Strict-Transport-Security", "max-age=31536000")
	}
	defer w.leave()
	defer s.recovered(w, r)
	g := guestOf(r)
	switch {
	case !plain(r.URL.EscapedPath()):
		s.audit.refuse(w, r, errNoRoute)
		return
	case g != nil && g.spare:
		header.Set("Connection", "close")
		if r.URL.Path != "/healthz" && r.URL.Path != "/readyz" {
			s.audit.refuse(w, r, errFull)
			return
		}
	}
	s.mux.ServeHTTP(w, r)
}

// plain reports whether a path is one that routes are looked up by: without empty segments and dots, which a mux would answer with a redirect.
func plain(path string) bool {
	if !strings.HasPrefix(path, "/") || strings.Contains(path, "//") {
		return false
	}
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "." || segment == ".." {
			return false
		}
	}
	return true
}

// recovered answers where a handler panicked. The process goes on: a fault in one answer is not one in all.
func (s *Server) recovered(w *writer, r *http.Request) {
	v := recover()
	if v == nil {
		return
	}
	if v == http.ErrAbortHandler {
		panic(v)
	}
	err := fmt.Errorf("panic: %v\n%s", v, debug.Stack())
	if w.begun {
		s.log.Error("request failed", "method", r.Method, "route", r.Pattern, "err", err)
		panic(http.ErrAbortHandler)
	}
	s.audit.refuse(w, r, err)
}

// at is the handler of a path.
func (s *Server) at(methods map[string]*route) http.Handler {
	var names []string
	for method := range methods {
		if names = append(names, method); method == http.MethodGet {
			names = append(names, http.MethodHead)
		}
	}
	slices.Sort(names)
	allow := strings.Join(names, ", ")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		method := r.Method
		if method == http.MethodHead {
			method = http.MethodGet
		}
		rt := methods[method]
		if rt == nil {
			rt = methods[anyMethod]
		}
		if rt == nil {
			w.Header().Set("Allow", allow)
			s.audit.refuse(w, r, errMethod)
			return
		}
		if err := s.serve(w, r, rt); err != nil {
			s.audit.refuse(w, r, err)
		}
	})
}

// serve checks a request against its route and calls the handler.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, rt *route) error {
	rc := http.NewResponseController(w)
	if r.ContentLength != 0 {
		_ = rc.SetReadDeadline(time.Now().Add(s.opts.ReadTimeout)) // not every ResponseWriter has deadlines
	}
	key, err := s.entry.admit(r, rt)
	if err != nil {
		return err
	}
	if key != nil {
		defer guestOf(r).work()()
	}
	req := &request{Request: r, route: rt, key: key, max: s.opts.MaxBody, bodies: s.bodies}
	if rt.maxBody > 0 {
		req.max = rt.maxBody
	}
	defer req.leave()
	if rt.before != nil {
		if err := rt.before(s, req); err != nil {
			return err
		}
	}
	if !rt.raw {
		if err := req.read(w); err != nil {
			return err
		}
		if r.ContentLength != 0 {
			_ = rc.SetReadDeadline(time.Time{}) // or the wait for a result would end with it
		}
	}
	if key == nil && !rt.raw {
		defer guestOf(r).work()()
	}
	if key != nil {
		req.Request = r.WithContext(acting.For(r.Context(), req.by()))
	}
	if to, ok := w.(*writer); ok {
		to.room, to.who, to.ctx = s.room, req.who(), r.Context()
		if rt.wide && !strings.Contains(r.Header.Get("Accept"), eventStream) { // what is followed is counted piece by piece
			if err := to.crowd(wideAnswer); err != nil {
				return err
			}
		}
	}
	err = rt.handle(s, w, req)
	if rt.audit && (rt.scope != Open || err == nil) { // strangers may be refused as often as they like
		s.audit.act(req, err)
	}
	return err
}

// name is of who asks, for the audit log.
func (r *request) name() string {
	if r.key == nil {
		return "anonymous"
	}
	return r.key.Name
}

// act notes what an operator did, or was refused.
func (a *auditor) act(r *request, err error) {
	act := r.PathValue("act")
	if act == "" {
		act = r.PathValue("event")
	}
	who := r.name()
	if key := a.entry.key(r.Request); r.key == nil && key != nil { // of a door that needs none
		who = key.Name
	}
	a.note(r.Request, who, r.route.op.id, cmp.Or(r.PathValue("run"), r.created), act, err, r.noted...)
}

// mostReason is how many characters of a reason the audit log has.
const mostReason = 300

// because is what the audit log has of a reason, or a note, that stands in the run's log too; "": none was given.
func because(reason string) []any {
	if reason == "" {
		return nil
	}
	return []any{"reason", human.Cut(reason, mostReason)}
}

// because notes why something is done.
func (r *request) because(reason string) { r.noted = append(r.noted, because(reason)...) }

// note writes a line of the audit log; what is "" is left out.
func (a *auditor) note(r *http.Request, who, what, run, act string, err error, more ...any) {
	args := []any{"who", who, "what", what, "from", r.RemoteAddr}
	if what := through(r); what != "" {
		args = append(args, "through", what)
	}
	if run != "" {
		args = append(args, "run_id", run)
	}
	if act != "" {
		args = append(args, "act", act)
	}
	if workflow := r.PathValue("workflow"); workflow != "" {
		args = append(args, "workflow.name", workflow)
	}
	if queue := r.PathValue("queue"); queue != "" {
		args = append(args, "queue", queue)
	}
	if schedule := r.PathValue("schedule"); schedule != "" {
		args = append(args, "schedule", schedule)
	}
	if subscription := r.PathValue("subscription"); subscription != "" {
		args = append(args, "subscription", subscription)
	}
	if err != nil {
		args = append(args, "refused", problemOf(err).Code)
	}
	a.log.Info("audit", append(args, more...)...)
}
