package ui

// This file says what the pages need of the server around them.

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// Level says what a visitor may do. Each has what the one before has.
type Level int

// The levels are the scopes of API keys.
const (
	Viewer   Level = iota // read; hook tokens are left out
	Operator              // start runs, send, and act on one run
	Admin                 // force a cancel, and act on many runs
)

func (l Level) String() string { return [...]string{"viewer", "operator", "admin"}[l] }

// Who is a visitor.
type Who struct {
	Name  string // of the key; "" where nobody needs one
	Level Level
}

// Refusal is what an error is to a visitor, in the words of the API's problem documents.
type Refusal struct {
	Status  int
	Code    string
	Title   string // what the code means
	Detail  string // what was wrong with this request
	Request string // where the server failed: find it in its log
}

// Host is the server that has the pages. Its methods are safe for concurrent use.
type Host interface {
	// Locked reports whether visitors need a key.
	Locked() bool
	// Identify finds whose key has a secret. It takes as long whoever it is.
	Identify(secret string) (Who, bool)
	// Session makes a session of whose key has a secret, which ends at some time. Each server with the same keys knows it.
	Session(secret string, until time.Time) (string, error)
	// Visitor finds whose session it is, unless it is over.
	Visitor(session string, now time.Time) (Who, bool)
	// FormSecret signs the tokens of forms, on each server with the same keys; nil: there are no keys.
	FormSecret() []byte
	// Pushed reports whether an endpoint that is pushed to has a workflow.
	Pushed(workflow string) bool
	// Filter reads the query of a list of runs as the API does: workflow, status, since, until, input.… and attr.…
	Filter(query url.Values) (stepwell.ListFilter, error)
	// Refused says what an error is to a visitor; what is the server's fault it logs.
	Refused(r *http.Request, err error) Refusal
	// Audit notes what somebody did to a run, or to many where run is "", or was refused; more is for its line, as slog takes it.
	Audit(r *http.Request, who, what, run string, err error, more ...any)
	// Postable refuses an endpoint that the server would not post to.
	Postable(t *world.PostTarget) error
	// Watch calls look at once and whenever the run may have changed, until look is done or fails, the server ends,
	// or ctx does; and keepalive, now and then, so that the connection lives. It is refused where too many watch.
	Watch(ctx context.Context, run string, look func() (done bool, err error), keepalive func() error) error
	// WatchStreams does the same for the streams of a run.
	WatchStreams(ctx context.Context, run string, look func() (done bool, err error), keepalive func() error) error
	// Patience is how long a client may take to read a piece of an answer, and how long one may take to send a form.
	Patience() (read, write time.Duration)
	// MaxBody is how many bytes a payload may have.
	MaxBody() int64
	// Body counts the body of a request among all that are in memory, as that of a visitor, "": who has no name. It has
	// so many bytes at most; done gives its room back.
	Body(r *http.Request, who string, body io.ReadCloser, most int64) (counted io.ReadCloser, done func())
}
