package wdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/stepwell/stepwell/internal/courier"
	"github.com/stepwell/stepwell/world"
)

// Prefix begins the workflow names of Workflow DevKit's runs.
const Prefix = world.AppWorkflows

// version is that of all of its workflows: which code a run has is its deployment's to say.
const version = 1

// Host answers the calls of Workflow DevKit's runtime. It is safe for concurrent use.
type Host struct {
	world  world.World
	log    *slog.Logger
	worker worker
	shelf  shelf
	queues queues
	holds  holds
	beside beside
	keeps  kept
}

// New makes a host on a store. It starts nothing before its first call.
func New(w world.World, log *slog.Logger) *Host {
	h := &Host{world: w, log: log}
	h.worker.host, h.worker.soon = h, make(chan struct{}, 1)
	h.holds.starter, h.beside.values, h.queues.messenger = w.Starts(), w.Values(), w.Messages()
	return h
}

// Close ends the host's background work without waiting. Its runs stay, for the next server.
func (h *Host) Close() { h.worker.close() }

// call is one method of the DevKit's World.
type call func(h *Host, ctx context.Context, args json.RawMessage) (any, error)

// of makes a call of a method whose arguments have a type.
func of[In any](f func(h *Host, ctx context.Context, in *In) (any, error)) call {
	return func(h *Host, ctx context.Context, args json.RawMessage) (any, error) {
		in := new(In)
		if err := json.Unmarshal(args, in); err != nil {
			return nil, fmt.Errorf("%w: %w", world.ErrInvalid, err)
		}
		return f(h, ctx, in)
	}
}

// ofRun makes a call of what is read of a run, as its log has it now.
func ofRun(f func(r *run, in *query) (any, error)) call {
	return of(func(h *Host, ctx context.Context, in *query) (out any, err error) {
		err = h.with(ctx, in.RunID, true, func(r *run) (err error) { out, err = f(r, in); return err })
		return out, err
	})
}

var calls = map[string]call{
	"events.create":      of((*Host).createEvent),
	"events.batch":       of((*Host).createBatch),
	"events.list":        ofRun((*run).listEvents),
	"events.get":         ofRun((*run).getEvent),
	"events.correlation": ofRun((*run).listByCorrelation),
	"runs.get":           ofRun((*run).get),
	"runs.cancel":        of((*Host).cancelRuns),
	"runs.list":          of((*Host).listRuns),
	"runs.wait":          of((*Host).waitRun),
	"steps.get":          ofRun((*run).getStep),
	"steps.list":         ofRun((*run).listSteps),
	"hooks.get":          of((*Host).getHook),
	"hooks.token":        of((*Host).getHookByToken),
	"hooks.list":         of((*Host).listHooks),
	"streams.write":      of((*Host).writeStream),
	"streams.read":       of((*Host).readStream),
	"streams.list":       of((*Host).listStreams),
	"streams.info":       of((*Host).streamInfo),
	"queue.send":         of((*Host).send),
	"queue.receive":      of((*Host).receive),
	"queue.settle":       of((*Host).settle),
}

// Call carries out a method of the DevKit's World. A refusal that the DevKit knows is a [*Refusal].
func (h *Host) Call(ctx context.Context, name string, args json.RawMessage) (any, error) {
	f := calls[name]
	if f == nil {
		return nil, fmt.Errorf("%w: there is no call %.60q", world.ErrNotFound, name)
	}
	if err := h.worker.begin(ctx); err != nil {
		return nil, err
	}
	return f(h, ctx, args)
}

// Refusal says why a call was refused, with the name of the DevKit's error class.
type Refusal struct {
	Name   string // name of the error class
	Status int    // HTTP status
	After  time.Duration
	Err    error
}

// Error says what was refused.
func (r *Refusal) Error() string { return r.Err.Error() }

// Unwrap returns the error of the store, if there is one.
func (r *Refusal) Unwrap() error { return r.Err }

func refusal(name string, status int, format string, args ...any) error {
	return &Refusal{Name: name, Status: status, Err: fmt.Errorf(format, args...)}
}

func conflict(format string, args ...any) error {
	return refusal("EntityConflictError", 409, format, args...)
}

func expired(format string, args ...any) error {
	return refusal("RunExpiredError", 410, format, args...)
}

func noRun(id string, why error) error {
	return refusal("WorkflowRunNotFoundError", 404, "run %s: %w", id, why)
}

// errForeign is the reason of the refusal of a run that is none of the DevKit's.
var errForeign = fmt.Errorf("it is no run of Workflow DevKit: %w", world.ErrNotFound)

func noHook(which string) error {
	return refusal("HookNotFoundError", 404, "hook %s: %w", which, world.ErrNotFound)
}

// missing is the refusal of what is not there, and has no error of its own.
func missing(format string, args ...any) error {
	return refusal("WorkflowWorldError", 404, format+": %w", append(args, world.ErrNotFound)...)
}

// refused says what an error of the world is to the DevKit.
func refused(err error) error {
	var early *world.TooEarlyError
	switch {
	case err == nil, errors.As(err, new(*Refusal)):
		return err
	case errors.As(err, &early):
		return &Refusal{Name: "TooEarlyError", Status: 425, After: early.RetryAfter, Err: err}
	case errors.Is(err, world.ErrTerminal):
		return &Refusal{Name: "RunExpiredError", Status: 410, Err: err}
	case errors.Is(err, world.ErrConflict), errors.Is(err, world.ErrRunExists):
		return &Refusal{Name: "EntityConflictError", Status: 409, Err: err}
	case errors.Is(err, world.ErrLeaseLost):
		return &Refusal{Name: "WorkflowWorldError", Status: 503, After: time.Second, Err: err}
	}
	return err
}

// watch tells of news of a run, a queue or what was sent to runs, until it is stopped.
func (h *Host) watch(what string) *courier.News {
	return courier.NewsOf(h.world, func(n world.Notice) bool {
		if n.Kind == world.NoticeMail {
			return what == mailbox
		}
		return n.Run == "" || n.Run == what
	})
}

// look is how often who waits looks beside the news.
const look = time.Second

// await asks until there is an answer, the time is over or nobody waits any more.
func (h *Host) await(ctx context.Context, what string, wait time.Duration, ask func() (done bool, next time.Duration, err error)) error {
	wait = min(wait, mostWait)
	news := h.watch(what)
	defer news.Stop()
	over := time.NewTimer(wait)
	defer over.Stop()
	for {
		done, next, err := ask()
		if err != nil || done || wait <= 0 {
			return err
		}
		again := time.NewTimer(min(max(next, time.Millisecond), look))
		select {
		case <-news.Came:
		case <-again.C:
		case <-over.C:
			wait = 0
		case <-ctx.Done():
			again.Stop()
			return ctx.Err()
		}
		again.Stop()
	}
}

// mostWait is how long a call may wait for news.
const mostWait = 25 * time.Second
