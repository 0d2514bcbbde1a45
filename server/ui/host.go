package ui

// This file says what the pages need of the server around them.

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/stepwell/stepwell"
)

// Level says what a visitor may do. Each level includes those before it.
type Level int

// Levels, which are the scopes of API keys.
const (
	Viewer   Level = iota // read, without hook tokens
	Operator              // start runs, send, and act on one run
	Admin                 // force a cancel, and act on many runs
)

func (l Level) String() string { return [...]string{"viewer", "operator", "admin"}[l] }

// Who is a visitor.
type Who struct {
	Name  string // name of the key; "" if no key is needed
	Level Level
}

// Refusal describes an error to a visitor, in the words of the API's problem documents.
type Refusal struct {
	Status  int
	Code    string
	Title   string // what the code means
	Detail  string // what was wrong with this request
	Request string // ID of the request in the server's log, after a failure of the server
}

// Host is the server around the pages. Its methods are safe for concurrent use.
type Host interface {
	// Locked reports whether visitors need a key.
	Locked() bool
	// Identify returns the visitor whose key has a secret, in constant time.
	Identify(secret string) (Who, bool)
	// Session creates a session, until a time, for the key with a secret. All servers with the same
	// keys accept it.
	Session(secret string, until time.Time) (string, error)
	// Visitor returns the visitor of a session that is not over.
	Visitor(session string, now time.Time) (Who, bool)
	// FormSecret returns the secret that signs form tokens, the same on each server with the same
	// keys; nil: there are no keys.
	FormSecret() []byte
	// Pushed reports whether a push endpoint has a workflow.
	Pushed(workflow string) bool
	// Filter parses the query of a list of runs as the API does: workflow, status, since, until,
	// input.… and attr.…
	Filter(query url.Values) (stepwell.ListFilter, error)
	// Refused describes an error to a visitor. It logs failures of the server.
	Refused(r *http.Request, err error) Refusal
	// Audit logs an action of a visitor on a run (or on many, with run ""), with its error. more
	// has further attributes for slog.
	Audit(r *http.Request, who, what, run string, err error, more ...any)
	// Watch calls look at once and whenever the run may have changed, until look is done or fails,
	// the server drains, or ctx ends. It calls keepalive at intervals, to keep the connection open.
	// It fails if too many clients watch.
	Watch(ctx context.Context, run string, look func() (done bool, err error), keepalive func() error) error
	// WatchStreams is Watch for the streams of a run.
	WatchStreams(ctx context.Context, run string, look func() (done bool, err error), keepalive func() error) error
	// Patience returns how long a client may take to send a form, and to read a piece of an answer.
	Patience() (read, write time.Duration)
	// MaxBody returns the largest size of a payload in bytes.
	MaxBody() int64
	// Body counts the body of a request, of at most most bytes, toward the memory limit of the
	// visitor who ("": without a name). done releases it.
	Body(r *http.Request, who string, body io.ReadCloser, most int64) (counted io.ReadCloser, done func())
}
