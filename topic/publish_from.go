package topic

// This file publishes from workflow code.

import (
	"fmt"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/codec"
	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/world"
)

// PublishFrom publishes a value from workflow code. It returns at once: the publication is part of
// the run's next commit, with its record in the log. So it is published exactly once if the run
// gets that far, and not again on replay. It is also published if the workflow ends directly
// afterwards.
//
// The options are those of [Topic.Publish], except [DeliveryID] and [stepwell.In], which it does
// not need, and [At]: use [Delay]. A restart or a fork of the run publishes again when it runs this
// code again.
//
// Errors: [stepwell.ErrInvalid], [stepwell.ErrTooLarge] for more than 1 MiB,
// [stepwell.ErrCancelled] if the run is cancelled, and encoding errors.
func (t *Topic[T]) PublishFrom(ctx stepwell.Context, payload T, opts ...Option) error {
	if t == nil {
		return fmt.Errorf("publish: %w", kit.Missing("the topic"))
	}
	if err := t.publishFrom(ctx, payload, opts); err != nil {
		return fmt.Errorf("publish to %.300s: %w", t.name, err)
	}
	return nil
}

func (t *Topic[T]) publishFrom(ctx stepwell.Context, payload T, opts []Option) error {
	like, in, err := t.like(opts)
	switch {
	case err != nil:
		return err
	case in != nil:
		return fmt.Errorf("%w: what a workflow publishes is part of the run's commit, so it cannot be part of another transaction", world.ErrInvalid)
	case like.Dedupe != "":
		return fmt.Errorf("%w: it has the delivery ID %.80q: a workflow publishes each item once and needs none", world.ErrInvalid, like.Dedupe)
	}
	code := kit.CodeOf(ctx).Ctx
	b, _, err := codec.RoundTrip(&payload, min(world.MaxMessage, code.MaxPayload()))
	if err != nil && (b == nil || !code.Recorded(world.KindPublication, t.name)) { // what the log has stands
		return err
	}
	like.Payload = b
	if err := world.CheckPublications([]world.Publication{like}); err != nil {
		return err
	}
	like.Payload = nil
	return kit.Record(ctx, world.KindPublication, t.name, b, &engine.PublicationSpec{Publication: like})
}
