package server

// This file says what a route is, and has the list of all.

import (
	"net/http"
	"slices"
	"strings"

	"github.com/stepwell/stepwell/api"
	"github.com/stepwell/stepwell/world/remote/wire"
)

// anyMethod is the method of a route that takes all which its path has no other route for.
const anyMethod = "*"

// route is one door.
type route struct {
	method string
	path   string // as net/http.ServeMux has it
	scope  Scope  // the least that a key must have
	handle func(s *Server, w http.ResponseWriter, r *request) error
	before func(s *Server, r *request) error // what is looked at before the body is read; nil: the key alone
	op     operation

	audit     bool // an operator's act: it is logged with who, what and which run
	raw       bool // the handler reads query and body itself, whatever they are
	wide      bool // its answer may be large, and is counted before it is put together
	anyOrigin bool // pages of other origins may send, and under any host name, as to a webhook: its token is the key

	maxBody int64 // bytes of its body; 0: Options.MaxBody

	row  *api.Row  // nil: the handler reads the request itself
	wire *wire.Row // of a world over HTTP; nil: it is a route of the API, which openapi.json describes
}

// operation is what openapi.json says of a route, and what a request is held to.
type operation struct {
	id        string // its name, for generated clients and the audit log
	summary   string
	query     []param // all there are: another is refused
	key       string  // what the header Idempotency-Key is, if it is one
	body      string  // the schema of the body; "": none
	optional  bool    // the body may be left out
	free      bool    // body and answer may be anything: a webhook's
	binary    bool    // the body is bytes, which are streamed
	responses []response
}

// param is a query parameter.
type param struct {
	name   string // one that ends in . is a prefix: input.a.b
	schema string // in components: see testdata/schemas.json
	about  string
	many   bool // it may be repeated
}

// response is an answer that is no problem.
type response struct {
	status int
	schema string // "": no body
	media  string // "": application/json
	about  string
}

// param finds the parameter that a name in a query is.
func (o *operation) param(name string) *param {
	for i := range o.query {
		p := &o.query[i]
		if prefix := strings.HasSuffix(p.name, "."); prefix && strings.HasPrefix(name, p.name) && len(name) > len(p.name) || !prefix && p.name == name {
			return p
		}
	}
	return nil
}

// routes are all doors. More are added here, by a function beside their handlers.
func routes() []route {
	return short(slices.Concat(
		runRoutes(),
		bulkRoutes(),
		historyRoutes(),
		valueRoutes(),
		blobRoutes(),
		streamRoutes(),
		opRoutes(),
		hookRoutes(),
		webhookRoutes(),
		systemRoutes(),
		telemetryRoutes(),
		wireRoutes(),
		stepRoutes(),
		manifestRoutes(),
		wdkRoutes(),
	))
}

// The address of a run, which names its workflow or does not: an ID is enough.
const (
	longForm  = "/v1/workflows/{workflow}/runs/{run}"
	shortForm = "/v1/runs/{run}"
)

// short are routes about a run, each beside the same in the short form.
func short(long []route) []route {
	all := slices.Clone(long)
	for _, r := range long {
		if rest, ok := strings.CutPrefix(r.path, longForm); ok {
			r.path, r.op.id = shortForm+rest, r.op.id+"ByID"
			r.op.summary += ", of whatever workflow"
			all = append(all, r)
		}
	}
	return all
}

// Parameters that several routes have.
var (
	paramCursor = param{name: "cursor", schema: "Cursor", about: "Continue after the page that had this cursor."}
)

func limit(most string) param {
	return param{name: "limit", schema: most, about: "At most this many."}
}
