package server

// This file makes routes of the operations of package api: their requests are read, and their answers written, by their rows.

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"reflect"
	"strconv"
	"time"

	"github.com/stepwell/stepwell/api"
	"github.com/stepwell/stepwell/internal/ops"
	"github.com/stepwell/stepwell/world"
)

// opRoutes are the routes of all rows that have a function.
func opRoutes() (all []route) {
	for _, row := range api.Rows() {
		if !ops.Serves(row) {
			continue
		}
		rt := route{
			method: row.Method, path: row.Path, scope: Scope(row.Scope), audit: row.Audit, wide: row.Wide, row: row, handle: serveOp,
			op: operation{id: row.ID, summary: row.Summary, responses: []response{{row.Status, row.Out.Name(), "", row.Answers}}},
		}
		if row == api.ReceiveMessagesOp.Row {
			rt.handle = serveReceive
		}
		if row.Status == http.StatusNoContent {
			rt.op.responses[0].schema = ""
		}
		if row.Method != http.MethodGet && row.Method != http.MethodDelete {
			rt.op.body, rt.op.optional = "Empty", !row.Needs
			if row.Body {
				rt.op.body = row.In.Name()
			}
		}
		for _, f := range row.Fields {
			switch f.Place {
			case api.InQuery:
				rt.op.query = append(rt.op.query, param{name: f.Name})
			case api.InHeader:
				rt.op.key = f.Name
			}
		}
		all = append(all, rt)
	}
	return all
}

// input reads the input of an operation: a pointer to a value of the type row.In.
func (r *request) input() (any, error) {
	row := r.route.row
	in := reflect.New(row.In)
	if err := r.decodeBody(in.Elem()); err != nil {
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
	for i, text := range preset {
		if in.Field(i).IsZero() { // for Go programs 0 is the default
			return invalid("body: %s is 0: want another number; without one it is %s", in.Type().Field(i).Tag.Get("json"), text)
		}
	}
	return nil
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
	name := ""
	if row.Method != http.MethodGet {
		name = s.doors.callOf(r)
	}
	text, err := s.doors.calls.once(r.Context(), name, func() ([]byte, error) {
		out := reflect.New(row.Out).Interface()
		if err := s.ops.Call(r.Context(), row, in, out); err != nil {
			return nil, err
		}
		return encoded(out)
	})
	if err != nil {
		return err
	}
	if row.Status == http.StatusNoContent {
		w.WriteHeader(row.Status)
		return nil
	}
	return answerText(w, row.Status, text)
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
