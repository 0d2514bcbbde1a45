package server

// This file serves a world over HTTP: one POST for each of its methods. docs/protocol.md says what each does. The world
// decides what is legal; here it is only who may ask.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

// doors are a server as remote workers and clients see it: a world over HTTP.
//
//   - What a world says is told as it is. Payloads go to workers as they lie there: who has the key can read them.
//   - What comes twice, under one name or number, is done once, and has the same answer.
//   - Who may ask is looked at before anything is: see guard.
type doors struct {
	app       *stepwell.App
	opts      *Options
	log       *slog.Logger
	below     world.World     // of remote workers
	able      world.Abilities // of below
	guard     *guard
	places    *places
	audit     *auditor
	claims    claims
	losses    losses
	calls     calls
	seed      maphash.Seed  // of what tells bodies apart
	id        string        // of this process of the server
	pageBytes *int          // of all that is in a page, behind which it ends early
	drain     chan struct{} // closed when the server drains
}

// atDoors makes a handler of a method of the doors.
func atDoors(f func(*doors, http.ResponseWriter, *request) error) func(*Server, http.ResponseWriter, *request) error {
	return func(s *Server, w http.ResponseWriter, r *request) error { return f(&s.doors, w, r) }
}

// answers makes the route of a method, which f answers.
func answers[In, Out any](m wire.Method[In, Out], f func(d *doors, r *request, in *In) (Out, error)) route {
	guard := guardOf[In](m.Guard)
	do := func(d *doors, r *request, in *In) ([]byte, error) {
		if err := guard(d.guard, r, in); err != nil {
			return nil, err
		}
		out, err := f(d, r, in)
		if err != nil {
			return nil, err
		}
		return wireAnswer(&out)
	}
	return route{
		method: "POST", path: wire.Prefix + "/" + m.Name, scope: Scope(m.Scope), maxBody: m.MaxBody, wide: m.Wide, wire: m.Row,
		op: operation{id: "world" + strings.ToUpper(m.Name[:1]) + m.Name[1:], summary: m.Does, body: "wire"},
		handle: func(s *Server, w http.ResponseWriter, r *request) error {
			d, in, name := &s.doors, new(In), ""
			if err := r.decodeWire(in); err != nil {
				return err
			}
			if m.Acts {
				name = d.callOf(r)
			}
			text, err := d.calls.once(r.Context(), name, func() ([]byte, error) { return do(d, r, in) })
			if err != nil {
				return err
			}
			return answerText(w, http.StatusOK, text)
		},
	}
}

// wireAnswer is an answer as it is sent.
func wireAnswer[Out any](out *Out) ([]byte, error) {
	var b bytes.Buffer
	if err := wire.EncodeAnswer(&b, out); err != nil {
		return nil, fmt.Errorf("write the answer: %w", err)
	}
	return b.Bytes(), nil
}

// passes makes the route of a method of a part of the store, which is called as it is.
func passes[Part, In, Out any](m wire.Method[In, Out], part func(*doors) (Part, error),
	call func(of Part, ctx context.Context, in In) (Out, error)) route {
	return answers(m, func(d *doors, r *request, in *In) (out Out, err error) {
		of, err := part(d)
		switch {
		case err != nil:
			return out, err
		case m.Acts:
			return lasting(r.Context(), func(ctx context.Context) (Out, error) { return call(of, ctx, *in) })
		}
		return call(of, r.Context(), *in)
	})
}

// done is the answer where there is nothing to answer.
func done(err error) (wire.Nothing, error) { return wire.Nothing{}, err }

// only makes a method that answers nothing one that answers.
func only[Part, In any](f func(Part, context.Context, In) error) func(Part, context.Context, In) (wire.Nothing, error) {
	return func(of Part, ctx context.Context, in In) (wire.Nothing, error) { return done(f(of, ctx, in)) }
}

// writeTime is how long the world may take to write. What takes longer may or may not have happened.
const writeTime = 30 * time.Second

// lasting calls a world to write, whether the client waits for the answer or not: so it happens or not, but is not cut off half way.
func lasting[T any](ctx context.Context, f func(ctx context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTime)
	defer cancel()
	out, err := f(ctx)
	if err != nil && errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, world.ErrUnknownOutcome) {
		err = fmt.Errorf("%w: it took longer than %s", world.ErrUnknownOutcome, writeTime)
	}
	return out, err
}

func (d *doors) hello(w http.ResponseWriter, r *request) error {
	scope := Admin
	if r.key != nil {
		scope = r.key.Scope
	}
	text, err := wireAnswer(&wire.HelloOut{
		Protocol: wire.Protocol, Version: d.opts.Version, Server: d.id, Format: world.LogFormat, Scope: string(scope), Doctor: d.able.Doctor != nil,
	})
	if err != nil {
		return err
	}
	return answerText(w, http.StatusOK, text)
}

// mostLease bounds what a worker may ask for: one that died so is not noticed for longer.
const mostLease = 10 * time.Minute

func (d *doors) join(r *request, wk *world.Worker) (out wire.HeartbeatOut, err error) {
	if wk.Lease > mostLease {
		return out, invalid("worker %.100q: a lease of %s: want %s at most", wk.ID, wk.Lease, mostLease)
	}
	if err := d.maySay(r, wk.Definitions, wk.StepLimits); err != nil {
		return out, err
	}
	if r.limited() != nil { // it is not to lower the limit for others
		wk.MaxRetention = 0
	}
	wk.Remote = true
	if r.key != nil {
		wk.Name = nameWithKey(wk.Name, r.key.Name)
	}
	b, err := lasting(r.Context(), func(ctx context.Context) (world.Heartbeat, error) { return d.below.Join(ctx, *wk) })
	if err == nil && r.key != nil {
		d.guard.joins(wk.ID, r.key.Name)
	}
	return wire.HeartbeatOut{Heartbeat: b, Server: d.id}, err
}

func (d *doors) heartbeat(r *request, in *wire.HeartbeatIn) (wire.HeartbeatOut, error) {
	in.Account = true
	b, err := lasting(r.Context(), func(ctx context.Context) (world.Heartbeat, error) { return d.below.Heartbeat(ctx, in.HeartbeatQuery) })
	b.Mail = someMail(b.Mail)
	if err == nil {
		b.Lost = d.losses.tell(in.Worker, b.Lost, in.Again)
	}
	return wire.HeartbeatOut{Heartbeat: b, Server: d.id}, err
}

func (d *doors) leave(r *request, in *wire.WorkerID) (wire.Nothing, error) {
	d.claims.forget(in.Worker)
	d.losses.forget(in.Worker)
	defer d.guard.leaves(in.Worker)
	return lasting(r.Context(), func(ctx context.Context) (wire.Nothing, error) {
		return done(d.below.Leave(ctx, in.Worker))
	})
}

func (d *doors) sweep(r *request, in *wire.SweepIn) (int, error) {
	if in.Limit < 1 || in.Limit > 1000 {
		return 0, invalid("limit is %d: want 1 to 1000", in.Limit)
	}
	if r.limited() != nil { // it would delete what is others': the server sweeps itself
		return 0, nil
	}
	return lasting(r.Context(), func(ctx context.Context) (int, error) { return d.below.Sweep(ctx, in.Limit) })
}

// mailBytes is how much mail goes with one answer. The rest waits for the next heartbeat, as all that waits is told at
// each.
const mailBytes = 4 << 20

// someMail is the beginning of mail.
func someMail(mail []world.Mail) []world.Mail {
	bytes := 0
	for i := range mail {
		if bytes += eventsBytes(mail[i].Events); i > 0 && bytes > mailBytes {
			return mail[:i]
		}
	}
	return mail
}

// eventsBytes is about how many bytes events have.
func eventsBytes(events []world.Event) (n int) {
	for i := range events {
		n += events[i].Size()
	}
	return n
}
