package stepwell

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/stepwell/stepwell/internal/codec"
	"github.com/stepwell/stepwell/internal/crypt"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/journal"
)

// HookConflictError says that a chosen hook token is held by another run.
type HookConflictError struct {
	Token  string `json:"-"` // what is recorded of the error has no token: who reads it may not send
	Holder string // the run that holds it
}

func (e *HookConflictError) Error() string { return (*replay.ConflictError)(e).Error() }

// HookOption changes a hook: [Named], [Token], [Metadata], [PayloadErrors], [HeartbeatTimeout].
type HookOption interface{ hookOption(o *hookOptions) }

type hookOptions struct {
	name     string
	token    string
	chosen   bool
	tell     bool // of payloads that do not fit
	metadata any

	heartbeat time.Duration // 0 unless attended
	attended  bool          // it has a HeartbeatTimeout
}

type namedOption string

// Named gives a hook a name, 1 to 256 bytes of printable UTF-8, by which the journal, [App.Why] and the web UI call it: "approval". It is recorded, as the name
// of a step is; without it, it is "hook". It has nothing to do with the token.
func Named(name string) HookOption { return namedOption(name) }

func (n namedOption) hookOption(o *hookOptions) { o.name = string(n) }

type tokenOption string

// Token chooses a hook's token: whoever knows it can send to the hook. Without it the token is unguessable: 26 characters.
func Token(token string) HookOption { return tokenOption(token) }

func (t tokenOption) hookOption(o *hookOptions) { o.token, o.chosen = string(t), true }

type metadataOption struct{ v any }

// Metadata keeps a value, as JSON, with a hook, for those who look it up by its token.
func Metadata(v any) HookOption { return metadataOption{v} }

func (m metadataOption) hookOption(o *hookOptions) { o.metadata = m.v }

// Hook is a point of a workflow that receives payloads from outside, under a token.
type Hook[T any] struct {
	f    *replay.Future
	tell bool // of payloads that do not fit

	heartbeat time.Duration // 0: it has no HeartbeatTimeout
}

// NewHook opens a hook. It stays open until it is disposed or the run ends; payloads are kept, in order, until they are received.
// A token that this run already holds gives the same hook again.
//
// With a chosen [Token] it returns when the token is decided; where another run holds it the error is a [*HookConflictError].
func NewHook[T any](ctx Context, opts ...HookOption) (*Hook[T], error) {
	o := hookOptions{name: "hook"}
	if err := kit.Given(opts, func(opt HookOption) { opt.hookOption(&o) }); err != nil {
		return nil, fmt.Errorf("hook: %w", err)
	}
	if err := world.CheckName("hook name", o.name); err != nil {
		return nil, err
	}
	if o.chosen {
		if err := world.CheckToken(o.token); err != nil {
			return nil, err
		}
	}
	var metadata json.RawMessage
	if o.metadata != nil {
		b, err := codec.Encode(o.metadata, ctx.x.MaxPayload())
		if err != nil {
			return nil, fmt.Errorf("hook: metadata: %w", err)
		}
		metadata = b
	}
	metadata, err := o.attend(metadata)
	if err != nil {
		return nil, err
	}
	f := ctx.x.Hook(o.name, o.token, metadata)
	if err := waitFor(ctx, f); err != nil {
		return nil, err
	}
	return &Hook[T]{f: f, tell: o.tell, heartbeat: o.heartbeat}, nil
}

// bind opens a hook that another package made: see internal/kit.
func (h *Hook[T]) bind(f *replay.Future, tell bool) { h.f, h.tell = f, tell }

// Token is the hook's token.
func (h *Hook[T]) Token() string {
	if err := h.check(); err != nil {
		halt(err)
	}
	return h.f.Op().Token
}

// check refuses a hook that is nil, or that [NewHook] did not open.
func (h *Hook[T]) check() error {
	if h == nil || h.f == nil {
		return kit.Missing("the hook")
	}
	return nil
}

// Wait waits for the next payload. ok is false where its [Timeout] passed first, which counts from here: the hook is
// still open then.
//
//	approval, ok, err := hook.Wait(ctx, stepwell.Timeout(72*time.Hour))
//	if err != nil {
//		return err
//	}
//	if !ok { // nobody answered
//		return escalate(ctx)
//	}
//
// A payload that is there already is taken at once; with Timeout(0) it takes what is there, as [EventDef.Wait] does. With
// [Remind] the code does something each so often, until the wait is over.
//
// The error is [ErrCancelled] when the run is cancelled, [ErrNotFound] where the hook was disposed and all that came before is received,
// and [ErrInvalid] for a negative timeout. A payload that T cannot hold is set aside, and the next is waited for; with [PayloadErrors] the
// error is a [*PayloadError], and the hook goes on. A hook with a [HeartbeatTimeout] waits no longer than that behind the last heartbeat,
// either: the error is [ErrHeartbeat].
func (h *Hook[T]) Wait(ctx Context, opts ...WaitOption) (payload T, ok bool, err error) {
	o, name, err := h.options(opts)
	if err != nil {
		return payload, false, err
	}
	if h.attended(o) && o.remind == nil { // without a coroutine for it
		r, err := h.waitAttended(ctx, o)
		return r.Payload, r.OK, err
	}
	return waited(ctx, h.start(ctx, o), o, name)
}

// Start is [Hook.Wait] as a future, for [Select] and [Race].
func (h *Hook[T]) Start(ctx Context, opts ...WaitOption) *Future[Received[T]] {
	o, name, err := h.options(opts)
	if err != nil {
		return failedFuture[Received[T]](err)
	}
	return begun(ctx, o, name, func(ctx Context) *Future[Received[T]] { return h.start(ctx, o) })
}

func (h *Hook[T]) options(opts []WaitOption) (o *waitOptions, name string, err error) {
	if err := h.check(); err != nil {
		return nil, "", err
	}
	key, _ := h.f.Key()
	o = &waitOptions{}
	err = kit.Given(opts, func(opt WaitOption) { opt.eventOption(o) })
	if err = cmp.Or(err, o.check()); err != nil {
		return nil, "", fmt.Errorf("hook %q: %w", key, err)
	}
	return o, key.Name, nil
}

// attended reports whether heartbeats count for a wait.
func (h *Hook[T]) attended(o *waitOptions) bool {
	return h.heartbeat > 0 && (!o.timed || o.timeout > 0)
}

func (h *Hook[T]) start(ctx Context, o *waitOptions) *Future[Received[T]] {
	if h.attended(o) {
		return Go(ctx, func(ctx Context) (Received[T], error) { return h.waitAttended(ctx, o) })
	}
	key, _ := h.f.Key()
	in := &incoming[T]{kind: "hook", name: key.String()}
	var f *replay.Future
	if o.timed {
		f = ctx.x.ReceiveWithin(h.f, in.check(h.tell), o.timeout)
	} else {
		f = ctx.x.CheckedReceive(h.f, in.check(h.tell))
	}
	return &Future[Received[T]]{f: f, get: func(ctx Context) (r Received[T], err error) {
		r.Payload, err = in.result(ctx, f)
		if errors.Is(err, replay.ErrNoPayload) {
			return r, nil
		}
		r.OK = err == nil
		return r, err
	}}
}

// All ranges over payloads as they come. An error, as of [Hook.Wait], is the last that it yields, unless it is a [*PayloadError].
func (h *Hook[T]) All(ctx Context) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for {
			v, _, err := h.Wait(ctx)
			_, bad := err.(*PayloadError)
			if !yield(v, err) || err != nil && !bad {
				return
			}
		}
	}
}

// Dispose closes the hook: its token is free again, and whoever sends to it is refused. What came before can be received still.
// Twice is once.
func (h *Hook[T]) Dispose(ctx Context) error {
	if err := h.check(); err != nil {
		return err
	}
	return ctx.x.Dispose(h.f)
}

// SendHook sends a payload, as JSON, to the active hook with a token. It returns when the payload is durable.
//
// With a [DeliveryID] a repeated send is the same one, also when the hook or its run is over by then. But where another
// run has the token since then, what is sent goes to that run, as new: put into a chosen [Token] what only one run ever
// has, as its ID or the key of its business.
//
// Errors: [ErrNotFound] where no active hook has the token; [ErrTerminal] where the hook ended with its run;
// [ErrDeliveryUsed]; [ErrInboxFull]; an [*world.UnfitError] where the run's workflow says what its hooks take, see [Accepts];
// [ErrInvalid], also for the token of a webhook, which takes requests alone: see package webhook.
func (a *App) SendHook(ctx context.Context, token string, payload json.RawMessage, opts ...SendOption) error {
	if err := sendToHook(ctx, a, token, payload, opts); err != nil {
		return fmt.Errorf("send to hook %q: %w", world.ShownToken(token), err)
	}
	return nil
}

func sendToHook(ctx context.Context, a *App, token string, payload json.RawMessage, opts []SendOption) error {
	if err := world.CheckToken(token); err != nil {
		return err
	}
	if err := a.checkPayload(payload); err != nil {
		return err
	}
	d := &world.Delivery{Token: token, Events: []world.Event{{Type: world.HookReceived, Payload: payload}}}
	if strings.HasPrefix(token, world.WebhookToken) {
		if err := a.noWebhook(ctx, token); err != nil {
			return err
		}
	} else if !sendsIn(opts) {
		if err := hookAccepts(ctx, a, token, payload); err != nil {
			return unlessSent(ctx, a, err, d, opts)
		}
	}
	return a.deliverAs(ctx, d, opts)
}

// hookAccepts refuses what the hook with a token does not take, as far as its workflow says: see [Accepts].
func hookAccepts(ctx context.Context, a *App, token string, payload json.RawMessage) error {
	rows, err := a.world.Hooks(ctx, world.HookQuery{Token: token, Limit: 1})
	if err != nil || len(rows) == 0 {
		return nil // it is told by who delivers
	}
	return payloadFits(ctx, a, rows[0].Run, payload, hookFits)
}

// noWebhook refuses what is no request for a webhook.
func (a *App) noWebhook(ctx context.Context, token string) error {
	hooks, err := a.Hooks(ctx, "", token)
	for i := range hooks {
		var m struct {
			Webhook json.RawMessage `json:"$webhook"`
		}
		if json.Unmarshal(hooks[i].Metadata, &m) == nil && m.Webhook != nil && string(m.Webhook) != "null" {
			return fmt.Errorf("%w: the hook belongs to a webhook, which only takes requests: send one to its URL", ErrInvalid)
		}
	}
	return err
}

// EndedHook finds the last hook that had a token, where no active one has it, for as long as its run is kept. The
// error is [ErrNotFound] where none had it, or one has it now.
func (a *App) EndedHook(ctx context.Context, token string) (world.HookRow, error) {
	rows, err := a.hooks(ctx, world.HookQuery{Token: token, Ended: true, Limit: 1})
	switch {
	case err != nil:
		return world.HookRow{}, err
	case len(rows) == 0 || !rows[0].Ended:
		return world.HookRow{}, fmt.Errorf("hook: %w", ErrNotFound)
	}
	return rows[0], nil
}

// Hooks lists active hooks: of one run, with one token, or, with two empty strings, all; at most 1,000, and at most 2
// MiB of metadata. If the key of a run is missing, the metadata of its hooks is shown encrypted, and the row says which
// key it needs: see [world.HookRow].
func (a *App) Hooks(ctx context.Context, run, token string) ([]world.HookRow, error) {
	return a.hooks(ctx, world.HookQuery{Run: run, Token: token, Limit: 1000})
}

func (a *App) hooks(ctx context.Context, q world.HookQuery) ([]world.HookRow, error) {
	rows, err := a.world.Hooks(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("list hooks: %w", err)
	}
	if err := crypt.MarkHooks(ctx, a.world, rows); err != nil {
		return nil, fmt.Errorf("list hooks: %w", err)
	}
	for i := range rows {
		d, metadata := journal.Attendance(rows[i].Metadata)
		if rows[i].Metadata = metadata; d > 0 {
			rows[i].Heartbeat = human.SpanText(d)
		}
	}
	return rows, nil
}
