// Package api is the table of the operations of Stepwell's REST API: the inputs, the answers, and
// one row for each operation.
//
// The server's routes, its OpenAPI description, the audit, package client and the command line come
// from this table. A row says who may call an operation, where it is, and what it takes:
//
//	in := api.PauseQueue{Queue: "mails", Reason: "the mail server moves"}
//	queue, err := api.Do(ctx, c, api.PauseQueueOp, in)
//
// where c is a client of package client.
package api

import (
	"context"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Scope says what a key of the API may do. Each scope includes those before it, except [Steps].
type Scope string

// Scopes. Open is for operations that need no key: health checks, and webhooks, whose token is the
// key.
const (
	Open     Scope = "open"
	Viewer   Scope = "viewer"   // read, without hook tokens, because a token permits sending
	Operator Scope = "operator" // start runs, send, and act on one run
	// Worker: work on runs from another process: claim them, and write their logs.
	Worker Scope = "worker"
	Admin  Scope = "admin" // force a cancel, and act on many runs at once
	Steps  Scope = "steps" // only run the steps that the key is limited to
)

// Row describes one operation. It does not change.
type Row struct {
	ID      string // for generated clients and the audit: pauseQueue
	Method  string // of HTTP
	Path    string // as [net/http.ServeMux] has it: /v1/queues/{queue}/pause
	Scope   Scope  // the least that a key must have
	Summary string // one line
	Answers string // what the answer is, for the description of the API
	// Existing is what the answer is with status 200, if nothing new was made. "": it always is.
	Existing string
	Status   int  // of the answer; 0: 200, or 204 if there is no answer
	Audit    bool // an operator's act: the audit records each call
	Twice    bool // to do it twice is to do it once: a client may repeat it if the answer was lost
	Wide     bool // the answer may be large: the server counts it before it is put together
	Waits    bool // the call may wait for something to happen

	In     reflect.Type // a struct
	Out    reflect.Type
	Fields []Field // of In that are not in the body
	Body   bool    // In has fields in the body
	Whole  int     // index of the field that is the whole body; -1: none
	Needs  bool    // one of those is required, so the body is, too
}

// Field is a field of an input that is in the path, the query or a header.
type Field struct {
	Name    string // there
	Place   Place
	Index   int // of the field in the struct
	Min     int // of a number
	Max     int // of a number; 0: no bound
	Default int // of a number
}

// Place is where in a request a field is.
type Place string

// Places. A field without one of these tags is in the body.
const (
	InPath   Place = "path"
	InQuery  Place = "query"
	InHeader Place = "header"
)

// Op is an operation that takes an In and answers an Out.
type Op[In, Out any] struct{ *Row }

// Caller calls operations: a client of package client over HTTP, or an App in this process. out
// points to a value of the type row.Out.
type Caller interface {
	Call(ctx context.Context, row *Row, in, out any) error
}

// Do calls an operation.
func Do[In, Out any](ctx context.Context, c Caller, op Op[In, Out], in In) (out Out, err error) {
	err = c.Call(ctx, op.Row, &in, &out)
	return out, err
}

// None is the answer of an operation that answers nothing.
type None struct{}

var rows []*Row

// Rows returns all operations of the table, in its order.
func Rows() []*Row { return slices.Clone(rows) }

var pathName = regexp.MustCompile(`\{(\w+)\}`)

// op adds a row to the table. It panics if the row and its input do not agree, at the start of a
// program.
func op[In, Out any](r Row) Op[In, Out] {
	r.In, r.Out = reflect.TypeFor[In](), reflect.TypeFor[Out]()
	r.Whole = -1
	for i := range r.In.NumField() {
		f := r.In.Field(i)
		if _, ok := f.Tag.Lookup("body"); ok {
			r.Whole = i
			continue
		}
		at := Field{Index: i}
		for _, place := range []Place{InPath, InQuery, InHeader} {
			if name, ok := f.Tag.Lookup(string(place)); ok {
				at.Name, at.Place = name, place
			}
		}
		if at.Place == "" {
			r.Body = true
			r.Needs = r.Needs || !f.Anonymous && !strings.Contains(f.Tag.Get("json"), ",omit")
			continue
		}
		if f.Tag.Get("json") != "-" {
			panic(fmt.Sprintf(`%s: field %s needs json:"-"`, r.ID, f.Name))
		}
		at.Min, at.Max, at.Default = number(f.Tag, "min"), number(f.Tag, "max"), number(f.Tag, "default")
		r.Fields = append(r.Fields, at)
	}
	for _, m := range pathName.FindAllStringSubmatch(r.Path, -1) {
		if !slices.ContainsFunc(r.Fields, func(f Field) bool { return f.Place == InPath && f.Name == m[1] }) {
			panic(fmt.Sprintf("%s: the input has no field for {%s}", r.ID, m[1]))
		}
	}
	switch {
	case r.Status != 0:
	case r.Out == reflect.TypeFor[None]():
		r.Status = 204
	default:
		r.Status = 200
	}
	rows = append(rows, &r)
	return Op[In, Out]{&r}
}

// Rule returns a rule of a field's tag schema, such as min in `schema:"min=1"`; "": there
// is none. A rule without a value has the value true.
func Rule(tag reflect.StructTag, name string) string {
	for rule := range strings.SplitSeq(tag.Get("schema"), ",") {
		if key, value, _ := strings.Cut(rule, "="); key == name {
			return value
		}
	}
	return ""
}

func number(tag reflect.StructTag, name string) int {
	text := Rule(tag, name)
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(fmt.Sprintf("rule %s of a field is %q: want a number", name, text))
	}
	return n
}

// PathWith returns the path of an operation with values for its names, in order. They are escaped.
func PathWith(row *Row, values ...string) string {
	path := row.Path
	for i, m := range pathName.FindAllString(path, -1) {
		if i < len(values) {
			path = strings.Replace(path, m, values[i], 1)
		}
	}
	return path
}
