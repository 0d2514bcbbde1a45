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

// HookConflictError means that another run holds the chosen hook token.
type HookConflictError struct {
	Token  string `json:"-"` // not recorded with the error, because a token permits sending
	Holder string // ID of the run that holds it
}

func (e *HookConflictError) Error() string { return (*replay.ConflictError)(e).Error() }

// HookOption is an option of a hook: [Named], [Token], [Metadata], [PayloadErrors],
// [HeartbeatTimeout].
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

// Named names a hook in [App.Story], in [App.Why] and in the web UI, for example "approval". A name
// has 1 to 256 bytes of printable UTF-8; the default is "hook". The log records it, as it does the
// name of a step. It is not the token.
func Named(name string) HookOption { return namedOption(name) }

func (n namedOption) hookOption(o *hookOptions) { o.name = string(n) }

type tokenOption string

// Token chooses a hook's token. Anyone who knows the token can send to the hook. The default is an
// unguessable token of 26 characters.
func Token(token string) HookOption { return tokenOption(token) }

func (t tokenOption) hookOption(o *hookOptions) { o.token, o.chosen = string(t), true }

type metadataOption struct{ v any }

// Metadata stores a JSON value with a hook, for programs that look the hook up by its token.
func Metadata(v any) HookOption { return metadataOption{v} }

func (m metadataOption) hookOption(o *hookOptions) { o.metadata = m.v }

// Hook receives payloads from outside, under a token.
type Hook[T any] struct {
	f    *replay.Future
	tell bool // of payloads that do not fit

	heartbeat time.Duration // 0: it has no HeartbeatTimeout
}

// NewHook opens a hook. It stays open until it is disposed or the run ends. Payloads are kept, in
// order, until the code receives them. If this run already holds the token, NewHook returns the
// same hook.
//
// With a chosen [Token], NewHook waits until the store has decided. If another run holds the token,
// the error is a [*HookConflictError].
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

// Token returns the hook's token.
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

// Wait waits for the next payload. ok is false if the [Timeout], which counts from the call, passes
// first. The hook then stays open.
//
//	approval, ok, err := hook.Wait(ctx, stepwell.Timeout(72*time.Hour))
//	if err != nil {
//		return err
//	}
//	if !ok { // nobody answered
//		return escalate(ctx)
//	}
//
// An earlier payload is taken at once. Timeout(0) takes a payload only if it has already arrived:
// see [EventDef.Wait]. [Remind] calls a function at intervals until the wait ends.
//
// A payload that T cannot hold is set aside, and the wait continues. With [PayloadErrors] the error
// is a [*PayloadError], and the hook stays open.
//
// Errors: [ErrCancelled] if the run is cancelled; [ErrNotFound] if the hook was disposed and all
// earlier payloads are received; an error that matches both [ErrHeartbeat] and [ErrTimeout] if the
// hook's [HeartbeatTimeout] passed; [ErrInvalid] for a negative timeout.
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

// All ranges over payloads as they arrive. It ends after the first error of [Hook.Wait], which it
// yields; it continues after a [*PayloadError].
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

// Dispose closes the hook and frees its token. Later sends are refused. Payloads already received
// by the run stay readable. Calling Dispose twice is harmless.
func (h *Hook[T]) Dispose(ctx Context) error {
	if err := h.check(); err != nil {
		return err
	}
	return ctx.x.Dispose(h.f)
}

// SendHook sends a JSON payload to the active hook with a token. It returns once the payload is
// durable.
//
// With a [DeliveryID] a repeated send is delivered once, also after the hook or its run is over.
// But if another run has taken the token since, the repeat goes to that run as a new payload. So
// include something unique to the run in a chosen [Token], such as its ID.
//
// Errors: [ErrNotFound] if no active hook has the token; [ErrTerminal] if the hook ended with its
// run; [ErrDeliveryUsed]; [ErrInboxFull]; an [*world.UnfitError] if the workflow declares its hook
// payloads (see [Accepts]) and this one does not fit; [ErrInvalid], also for the token of a
// webhook, which takes only HTTP requests: see package webhook.
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

// EndedHook returns the last hook that had a token, for as long as its run is kept. The error is
// [ErrNotFound] if no hook had the token, or if an active hook has it.
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

// Hooks returns active hooks of a run, or with a token; with two empty strings it returns all. It
// returns at most 1,000 hooks and 2 MiB of metadata. Without the run's key the metadata stays
// encrypted, and the row names the key: see [world.HookRow].
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
