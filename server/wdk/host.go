package wdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/stepwell/stepwell/world"
)

// Prefix begins the names of the workflows of Workflow DevKit's runs.
const Prefix = "wdk."

// version is that of all of its workflows: which code a run has is its deployment's to say.
const version = 1

// Host answers the calls of Workflow DevKit's runtime. It is safe for concurrent use.
type Host struct {
	world    world.World
	able     world.Abilities
	log      *slog.Logger
	worker   worker
	shelf    shelf
	queues   queues
	holds    holds
	beside   beside
	watchers watchers
}

// New makes a host over a world. It starts nothing before its first call.
func New(w world.World, log *slog.Logger) *Host {
	h := &Host{world: w, able: world.AbilitiesOf(w), log: log}
	h.worker.host, h.worker.soon = h, make(chan struct{}, 1)
	if h.able.StartKeeper != nil {
		h.holds.starter = h.able.StartKeeper.Starts()
	}
	if h.able.ApartKeeper != nil {
		h.beside.values = h.able.ApartKeeper.Values()
	}
	if h.able.MessageKeeper != nil {
		h.queues.messenger = h.able.MessageKeeper.Messages()
	}
	return h
}

// Close ends what the host does by itself, and waits for nothing. Its runs stay, for the next server.
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

var calls = map[string]call{
	"events.create":      of((*Host).createEvent),
	"events.batch":       of((*Host).createBatch),
	"events.list":        of((*Host).listEvents),
	"events.get":         of((*Host).getEvent),
	"events.correlation": of((*Host).listByCorrelation),
	"runs.get":           of((*Host).getRun),
	"runs.cancel":        of((*Host).cancelRuns),
	"runs.list":          of((*Host).listRuns),
	"runs.wait":          of((*Host).waitRun),
	"steps.get":          of((*Host).getStep),
	"steps.list":         of((*Host).listSteps),
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

// Call does what a method of the DevKit's World does. A refusal in the DevKit's own words is a [*Refusal].
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

// Refusal says why a call was refused, by the name of the DevKit's error.
type Refusal struct {
	Name   string // of the error's class
	Status int    // of HTTP
	After  time.Duration
	Err    error
}

// Error says what was refused.
func (r *Refusal) Error() string { return r.Err.Error() }

// Unwrap returns the error of the world, if it is one.
func (r *Refusal) Unwrap() error { return r.Err }

func conflict(format string, args ...any) error {
	return &Refusal{Name: "EntityConflictError", Status: 409, Err: fmt.Errorf(format, args...)}
}

func expired(format string, args ...any) error {
	return &Refusal{Name: "RunExpiredError", Status: 410, Err: fmt.Errorf(format, args...)}
}

func noRun(id string) error {
	return &Refusal{Name: "WorkflowRunNotFoundError", Status: 404, Err: fmt.Errorf("run %s: %w", id, world.ErrNotFound)}
}

// errForeign is the reason of the refusal of a run that is none of the DevKit's.
var errForeign = fmt.Errorf("it is no run of Workflow DevKit: %w", world.ErrNotFound)

func foreign(id string) error {
	return &Refusal{Name: "WorkflowRunNotFoundError", Status: 404, Err: fmt.Errorf("run %s: %w", id, errForeign)}
}

func noHook(which string) error {
	return &Refusal{Name: "HookNotFoundError", Status: 404, Err: fmt.Errorf("hook %s: %w", which, world.ErrNotFound)}
}

// missing is the refusal of what is not there, and has no error of its own.
func missing(format string, args ...any) error {
	return &Refusal{Name: "WorkflowWorldError", Status: 404, Err: fmt.Errorf(format+": %w", append(args, world.ErrNotFound)...)}
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

// watchers wake who waits for news of a run, a stream or a queue.
type watchers struct {
	once    sync.Once
	mu      sync.Mutex
	waiting map[chan struct{}]string // what each waits for: a run's ID or a queue's name
}

// watch returns what is sent to whenever there is news of a run or a queue, until stop is called.
func (h *Host) watch(what string) (news <-chan struct{}, stop func()) {
	w := &h.watchers
	w.once.Do(func() {
		w.waiting = map[chan struct{}]string{}
		if h.able.Notifier != nil {
			h.able.Notifier.Notify(func(n world.Notice) {
				w.mu.Lock()
				defer w.mu.Unlock()
				for c, of := range w.waiting {
					if mail := n.Kind == world.NoticeMail; mail && of == mailbox || !mail && (n.Run == "" || n.Run == of) {
						select {
						case c <- struct{}{}:
						default:
						}
					}
				}
			})
		}
	})
	c := make(chan struct{}, 1)
	w.mu.Lock()
	w.waiting[c] = what
	w.mu.Unlock()
	return c, func() {
		w.mu.Lock()
		delete(w.waiting, c)
		w.mu.Unlock()
	}
}

// look is how often who waits looks beside the news.
const look = time.Second

// await asks until there is an answer, the time is over or nobody waits any more.
func (h *Host) await(ctx context.Context, what string, wait time.Duration, ask func() (done bool, next time.Duration, err error)) error {
	wait = min(wait, mostWait)
	news, stop := h.watch(what)
	defer stop()
	over := time.NewTimer(wait)
	defer over.Stop()
	for {
		done, next, err := ask()
		if err != nil || done || wait <= 0 {
			return err
		}
		again := time.NewTimer(min(max(next, time.Millisecond), look))
		select {
		case <-news:
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
