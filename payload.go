package stepwell

// Payloads from outside: what fits the code that waits for it is taken, the rest is set aside and stops nothing.

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/stepwell/stepwell/internal/codec"
	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// PayloadError means that a payload from outside does not fit the code's type: see [PayloadErrors].
type PayloadError struct {
	Of  string // event "approve", or hook "hook"
	Seq int64  // number of the log's event that brought the payload
	Err error  // what did not fit, and where
}

func (e *PayloadError) Error() string {
	return fmt.Sprintf("the payload of %s, event %d of the log, does not fit: %v", e.Of, e.Seq, e.Err)
}

// Unwrap returns Err.
func (e *PayloadError) Unwrap() error { return e.Err }

// payloadErrorsOption fits waits for events and hooks.
type payloadErrorsOption struct{}

// PayloadErrors makes a wait fail with a [*PayloadError] if its type cannot hold a payload. Without
// it such a payload is set aside: the log records it, [App.Why] and [App.Story] show it
// with the reason, the code never gets it, and the wait continues.
//
// On replay the log decides, even if the type or this option has changed since.
func PayloadErrors() interface {
	EventOption
	HookOption
} {
	return payloadErrorsOption{}
}

func (payloadErrorsOption) eventOption(o *waitOptions) { o.tell = true }
func (payloadErrorsOption) hookOption(o *hookOptions)  { o.tell = true }

// incoming is what one wait decodes payloads with. The one that fitted it keeps, so that it is decoded once.
type incoming[T any] struct {
	kind, name string // of what it came to: an event, a hook
	raw        []byte
	kept       T
}

func (in *incoming[T]) of() string { return in.kind + " " + strconv.Quote(in.name) }

func (in *incoming[T]) check(tell bool) *replay.Check {
	return &replay.Check{Fits: in.fits, Tell: tell}
}

// fits says why a payload does not fit; nil: it does, and is kept.
func (in *incoming[T]) fits(payload []byte) *world.Error {
	var v T
	if err := codec.Fits(payload, &v); err != nil {
		rec := codec.FromError(errors.New(err.Error()), nil)
		rec.Name, rec.Code, rec.Permanent = "", world.CodeDecode, true
		return rec
	}
	in.raw, in.kept = payload, v
	return nil
}

// result is what the wait came to, as the future has it. What replay finds taken fitted the type of that day: it is the run's own by now.
func (in *incoming[T]) result(ctx Context, f *replay.Future) (v T, err error) {
	if err := waitFor(ctx, f); err != nil {
		if bad, ok := err.(*replay.MisfitError); ok {
			err = &PayloadError{Of: in.of(), Seq: bad.Seq, Err: codec.ToError(bad.Reason, ctx.env.errors)}
		}
		return v, err
	}
	payload := f.Payload()
	if same(in.raw, payload) {
		v, in.raw = in.kept, nil // the next call decodes a value of its own
		return v, nil
	}
	if err := codec.Decode(payload, &v); err != nil {
		panic(engine.Block(world.CodeDecode, fmt.Errorf("the recorded payload of %s does not fit: %w", in.of(), err)))
	}
	return v, nil
}

// outgoing encodes what workflow code hands over. What would not come back as it is, or has more than limit bytes, is
// refused; what the log has already stands, whatever today's code computes.
func outgoing[T any](ctx Context, v *T, limit int, kind world.Kind, name string) ([]byte, error) {
	b, _, err := codec.RoundTrip(v, limit)
	if err != nil && b != nil && ctx.x.Recorded(kind, name) {
		return b, nil
	}
	return b, err
}

// sent encodes what a client or a step's body hands over.
func sent[T any](v *T, limit int) ([]byte, error) {
	b, _, err := codec.RoundTrip(v, limit)
	return b, err
}

// same reports whether two slices are one.
func same(a, b []byte) bool { return len(a) > 0 && len(a) == len(b) && &a[0] == &b[0] }
