package server

// This file makes routes of the operations of package api: their requests are read, and their answers written, by their rows.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/stepwell/stepwell/api"
	"github.com/stepwell/stepwell/internal/logs"
	"github.com/stepwell/stepwell/internal/ops"
	"github.com/stepwell/stepwell/world"
)

// byHand are the handlers of rows that need more of the server than their function.
var byHand = map[*api.Row]func(*Server, http.ResponseWriter, *request) error{
	api.ReceiveMessagesOp.Row: serveReceive,
	api.GetRunOp.Row:          (*Server).getRun,
	api.ListRunsOp.Row:        (*Server).listRuns,
}

// opRoutes are the routes of all rows.
func opRoutes() (all []route) {
	for _, row := range api.Rows() {
		rt := route{
			method: row.Method, path: row.Path, scope: Scope(row.Scope), audit: row.Audit, wide: row.Wide, row: row, handle: serveOp,
			op: operation{id: row.ID, summary: row.Summary, responses: []response{{row.Status, schemaOf(row), "", row.Answers}}},
		}
		if byHand[row] != nil {
			rt.handle = byHand[row]
		}
		if row == api.ListRunsOp.Row {
			rt.op.query = filterParams
		}
		if row.Existing != "" {
			rt.op.responses = append(rt.op.responses, response{http.StatusOK, schemaOf(row), "", row.Existing})
		}
		if row.Method != http.MethodGet && row.Method != http.MethodDelete {
			rt.op.body, rt.op.optional = "Empty", !row.Needs
			switch {
			case row.Body:
				rt.op.body = row.In.Name()
			case row.Whole >= 0:
				rt.op.body = "Payload"
			}
		}
		for _, f := range row.Fields {
			switch f.Place {
			case api.InQuery:
				if row != api.ListRunsOp.Row {
					rt.op.query = append(rt.op.query, param{name: f.Name})
				}
			case api.InHeader:
				rt.op.key = f.Name
			}
		}
		all = append(all, rt)
	}
	return all
}

// schemaOf names the schema of an answer; "": there is no answer.
func schemaOf(row *api.Row) string {
	switch {
	case row.Status == http.StatusNoContent:
		return ""
	case row.Out == reflect.TypeFor[api.StartedRun]():
		return "Run"
	}
	return row.Out.Name()
}

// input reads the input of an operation: a pointer to a value of the type row.In.
func (r *request) input() (any, error) {
	row := r.route.row
	in := reflect.New(row.In)
	if row.Whole >= 0 {
		in.Elem().Field(row.Whole).SetBytes(r.payload())
	} else if err := r.decodeBody(in.Elem()); err != nil {
		return nil, err
	}
	for _, f := range row.Fields {
		text := ""
		switch f.Place {
		case api.InPath:
			text = r.PathValue(f.Name)
		case api.InQuery:
			if !r.query.Has(f.Name) {
				continue
			}
			text = r.query.Get(f.Name)
		case api.InHeader:
			var err error
			if text, err = r.idempotencyKey(); err != nil {
				return nil, err
			}
		}
		if err := set(in.Elem().Field(f.Index), text, &f); err != nil {
			return nil, err
		}
	}
	for i := range row.In.NumField() {
		if row.In.Field(i).Tag.Get("audit") == "reason" {
			r.because(in.Elem().Field(i).String())
		}
	}
	return in.Interface(), nil
}

// decodeBody reads the body into an input. A number with a default has it, unless the body gives another.
func (r *request) decodeBody(in reflect.Value) error {
	preset := map[int]string{} // by field: its default
	for i := range in.NumField() {
		if text := api.Rule(in.Type().Field(i).Tag, "default"); text != "" {
			n, _ := strconv.ParseInt(text, 10, 64) // package api has read it
			in.Field(i).SetInt(n)
			preset[i] = text
		}
	}
	if err := r.decode(in.Addr().Interface()); err != nil {
		return err
	}
	for i := range in.NumField() {
		f := in.Type().Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case !in.Field(i).IsZero():
		case preset[i] != "": // for Go programs 0 is the default
			return invalid("body: %s is 0: want another number; without one it is %s", name, preset[i])
		case f.Type.Kind() == reflect.Pointer && options == "" && name != "-" && !r.bodyHas(name): // null has a meaning
			return invalid("body: there is no %s", name)
		}
	}
	return nil
}

// bodyHas reports whether the body, which was decoded, has a member.
func (r *request) bodyHas(name string) bool {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(r.body, &members) // it is an object, or empty
	_, ok := members[name]
	return ok
}

// set sets a field of an input to the value of its text.
func set(field reflect.Value, text string, f *api.Field) error {
	switch field.Kind() {
	case reflect.Int:
		n, err := strconv.Atoi(text)
		if err != nil || n < f.Min || n > f.Max {
			return invalid("query parameter %s is %.40q: want a number from %d to %d", f.Name, text, f.Min, f.Max)
		}
		field.SetInt(int64(n))
	case reflect.Bool:
		if text != "true" && text != "false" {
			return invalid("query parameter %s is %.40q: want true or false", f.Name, text)
		}
		field.SetBool(text == "true")
	default:
		field.SetString(text)
	}
	return nil
}

// serveOp calls an operation. A call that comes twice under one name is made once.
func serveOp(s *Server, w http.ResponseWriter, r *request) error {
	row := r.route.row
	in, err := r.input()
	if err != nil {
		return err
	}
	ctx, name, status := r.Context(), "", row.Status
	if row.Method != http.MethodGet {
		name = s.doors.callOf(r)
	}
	switch in := in.(type) {
	case *api.StartRun:
		r.body = nil // its parts are copies, and one may be large
		in.Context = traceOf(r.Header, in.Context)
		if s.pusher.pushes(in.Workflow) {
			ctx = logs.Served(ctx)
		}
	case *api.CancelRun:
		if in.Force && !r.sees(Admin) {
			return errForce
		}
	}
	text, err := s.doors.calls.once(ctx, name, func() ([]byte, error) {
		out := reflect.New(row.Out).Interface()
		if err := s.ops.Call(ctx, row, in, out); err != nil {
			return nil, err
		}
		if run, ok := out.(*api.StartedRun); ok {
			status = r.started(w, run)
		}
		return encoded(out)
	})
	if err != nil {
		return err
	}
	if status == http.StatusNoContent {
		w.WriteHeader(status)
		return nil
	}
	return answerText(w, status, text)
}

// started notes for the audit which run was started, says where it is, and returns the status of the answer.
func (r *request) started(w http.ResponseWriter, run *api.StartedRun) int {
	r.created = run.ID
	if r.PathValue("run") != "" { // a retry, a fork or a restart of another run
		r.noted = append(r.noted, "new_run", run.ID)
	}
	w.Header().Set("Location", api.PathWith(api.GetRunOp.Row, url.PathEscape(run.Workflow), url.PathEscape(run.ID)))
	if run.Existed {
		return http.StatusOK
	}
	return http.StatusCreated
}

// serveReceive receives messages. Those that nobody could be told of are given back.
func serveReceive(s *Server, w http.ResponseWriter, r *request) error {
	got, err := r.input()
	if err != nil {
		return err
	}
	in := got.(*api.ReceiveMessages)
	ctx := r.Context()
	if in.Wait > 0 {
		done, err := s.places.wait(s.places.keyed(r)...)
		if err != nil {
			return err
		}
		defer done()
		var stop context.CancelCauseFunc
		ctx, stop = context.WithCancelCause(ctx)
		defer stop(nil)
		go func() {
			select {
			case <-s.drain:
				stop(errNotReady)
			case <-ctx.Done():
			}
		}()
	}
	out, err := s.ops.ReceiveMessages(ctx, *in)
	switch {
	case err != nil && in.Wait > 0 && s.drains() && r.Context().Err() == nil:
		out, err = api.ReceivedMessages{Messages: []api.Message{}}, nil // the client asks again, another server
	case err != nil:
		return err
	}
	text, err := encoded(out)
	if err = cmp.Or(err, r.Context().Err()); err == nil {
		err = answerText(w, http.StatusOK, text)
	}
	if err != nil {
		return errors.Join(err, s.ops.GiveBack(r.Context(), out.Messages))
	}
	return nil
}

// newOps are the operations as this server does them.
func newOps(s *Server) *ops.Ops {
	return ops.New(s.app, ops.Options{
		Requests:  true,
		Endpoint:  func(t *world.PostTarget) error { return checkEndpoint(t, s.opts.PrivateEndpoints) },
		PageBytes: func() int { return s.pageBytes },
		MaxWait:   min(s.opts.MaxWait, 30*time.Second),
		More:      func(began time.Time) bool { return time.Since(began) < s.bulkTime && !s.drains() },
	})
}
