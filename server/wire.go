package server

// This file has the doors of remote workers: a world over HTTP, one POST for each of its methods. docs/protocol.md says what each does. What is
// legal the world says; here it is only who may ask.

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

// Limits of bodies. A commit may have 4 MiB of payload, which base64 makes a third more, and a birth by a client, as a fork's, many times that.
const (
	wireBody   = 8 << 20
	commitBody = 64 << 20
)

// wireRoutes are the doors of remote workers.
func wireRoutes() []route {
	return slices.Concat([]route{
		{method: "GET", path: wire.Prefix, scope: Viewer, handle: atDoors((*doors).hello), op: operation{
			id: "worldHello", summary: "Say which protocol this is, and what the key may do",
			responses: []response{{200, "WireHello", "", "The server."}},
		}},
		actRoute("join", Worker, "Join as a worker: register, and get a lease", "WireWorker", "WireBeat", (*doors).join),
		actRoute("take", Worker, "Take runs and tasks that are due, or wait until there are some", "WireTakeQuery", "WireTaken", (*doors).claim),
		actRoute("beat", Worker, "Renew a worker's lease, and get the news for what it owns", "WireBeatQuery", "WireBeat", (*doors).heartbeat),
		actRoute("held", Worker, "List what a worker holds, after a claim whose answer was lost", "WireHeldQuery", "WireHeld", (*doors).held),
		actRoute("leave", Worker, "End a worker's lease, and hand back what it holds", "WireWorkerID", "WireAccepted", (*doors).leave),
		actRoute("sweep", Worker, "Delete ended runs whose retention is over", "WireSweepQuery", "WireSwept", (*doors).sweep),
	}, wireLogRoutes(), wireDefinitionRoutes(), wireMetricsRoutes(), wireApartRoutes(), wireMessageRoutes(), wireTopicRoutes(), wireScheduleRoutes(), wireLimitRoutes(), wireStartRoutes(), wireReadRoutes(), noticeRoutes())
}

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

// answering is what a method of a world answers: a message that says that it is one.
type answering[Out any] interface {
	*Out
	wire.Reply
}

// wireRoute is the door of a method of a world.
func wireRoute[In, Out any, P answering[Out]](name string, scope Scope, summary, in, out string, f func(d *doors, r *request, in *In) (Out, error)) route {
	return route{method: "POST", path: wire.Prefix + "/" + name, scope: scope, maxBody: wireBody, in: reflect.TypeFor[In](), handle: wired[In, Out, P](f), op: operation{
		id: "world" + string(name[0]-'a'+'A') + name[1:], summary: summary, body: in, responses: []response{{200, out, "", "The store's answer."}},
	}}
}

// actRoute is the door of a method that changes something: what comes twice is done once.
func actRoute[In, Out any, P answering[Out]](name string, scope Scope, summary, in, out string, f func(d *doors, r *request, in *In) (Out, error)) route {
	rt := wireRoute[In, Out, P](name, scope, summary, in, out, f)
	rt.once = true
	return rt
}

// wired makes a handler of a method of a world.
func wired[In, Out any, P answering[Out]](f func(d *doors, r *request, in *In) (Out, error)) func(*Server, http.ResponseWriter, *request) error {
	return func(s *Server, w http.ResponseWriter, r *request) error {
		d := &s.doors
		in := new(In)
		if err := r.decode(in); err != nil {
			return err
		}
		do := func() ([]byte, error) {
			out, err := f(d, r, in)
			if err != nil {
				return nil, err
			}
			P(&out).Say()
			return encoded(out)
		}
		name := ""
		if r.route.once {
			name = d.callOf(r)
		}
		text, err := d.calls.once(r.Context(), name, do)
		if err != nil {
			return err
		}
		return answerText(w, http.StatusOK, text)
	}
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
	return answer(w, http.StatusOK, wire.Hello{
		Answer: wire.Answer{OK: true}, Protocol: wire.Protocol, Version: d.opts.Version, Server: d.id, Format: world.LogFormat, Scope: string(scope), Doctor: d.able.Doctor != nil,
		Apart: true,
	})
}

// mostLease bounds what a worker may ask for: one that died so is not noticed for longer.
const mostLease = 10 * time.Minute

func (d *doors) join(r *request, in *wire.Worker) (wire.Beat, error) {
	if most := int64(mostLease / time.Millisecond); in.LeaseMs > most {
		return wire.Beat{}, invalid("worker %.100q: a lease of %d ms: want %d at most", in.ID, in.LeaseMs, most)
	}
	if err := r.mayHave(in.Classes, in.Steps); err != nil {
		return wire.Beat{}, err
	}
	wk := in.World()
	if err := d.maySay(r, wk.Definitions, wk.StepLimits); err != nil {
		return wire.Beat{}, err
	}
	if r.limited() != nil { // it is not to lower the limit for others
		wk.MaxRetention = 0
	}
	wk.Remote = true
	if r.key != nil {
		wk.Name = nameWithKey(wk.Name, r.key.Name)
	}
	b, err := lasting(r.Context(), func(ctx context.Context) (world.Heartbeat, error) { return d.below.Join(ctx, wk) })
	if err == nil && r.key != nil {
		d.guard.joins(wk.ID, r.key.Name)
	}
	return d.heartbeatOf(&b), err
}

func (d *doors) heartbeat(r *request, in *wire.BeatQuery) (wire.Beat, error) {
	if err := d.guard.mayActFor(r, in.Worker); err != nil {
		return wire.Beat{}, err
	}
	q := world.HeartbeatQuery{Worker: in.Worker, Tasks: wire.WorldKeys(in.Tasks), Account: true}
	b, err := lasting(r.Context(), func(ctx context.Context) (world.Heartbeat, error) { return d.below.Heartbeat(ctx, q) })
	b.Mail = someMail(b.Mail)
	if err == nil {
		b.Lost = d.losses.tell(in.Worker, b.Lost, in.Again)
	}
	return d.heartbeatOf(&b), err
}

func (d *doors) heartbeatOf(b *world.Heartbeat) wire.Beat {
	out := wire.OfHeartbeat(b)
	out.Server = d.id
	return out
}

func (d *doors) leave(r *request, in *wire.WorkerID) (wire.Accepted, error) {
	if err := d.guard.mayActFor(r, in.Worker); err != nil {
		return wire.Accepted{}, err
	}
	d.claims.forget(in.Worker)
	d.losses.forget(in.Worker)
	defer d.guard.leaves(in.Worker)
	return lasting(r.Context(), func(ctx context.Context) (wire.Accepted, error) {
		return wire.Accepted{Accepted: true}, d.below.Leave(ctx, in.Worker)
	})
}

func (d *doors) sweep(r *request, in *wire.SweepQuery) (wire.Swept, error) {
	if in.Limit < 1 || in.Limit > 1000 {
		return wire.Swept{}, invalid("limit is %d: want 1 to 1000", in.Limit)
	}
	if r.limited() != nil { // it would delete what is others': the server sweeps itself
		return wire.Swept{}, nil
	}
	return lasting(r.Context(), func(ctx context.Context) (wire.Swept, error) {
		n, err := d.below.Sweep(ctx, in.Limit)
		return wire.Swept{Runs: n}, err
	})
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
