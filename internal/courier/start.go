package courier

// This file starts runs for what was published.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/world"
)

// Start is a run that is to be started for a message.
type Start struct {
	Workflow   string
	Version    int
	Key        string // idempotency key
	Attributes map[string]any
	Headers    map[string]string // kept with the run as its context
	Input      []byte
	Receipt    string // of the message, which is acknowledged with the start
}

// ErrNobody: no worker has told of the workflow, or of its version.
var ErrNobody = errors.New("no worker has told of this workflow yet: it is started when one has")

// unknownPause is how long a message rests whose workflow nobody knows.
const unknownPause = 15 * time.Second

var startPolicy = engine.Policy{Attempts: -1, Backoff: engine.Exponential, Base: time.Second, Cap: time.Minute, Jitter: 0.25}

// Starts has a run started for each message of a subscription, by start.
func Starts(s *world.Subscription, log *slog.Logger, start func(ctx context.Context, s *Start) error) *Work {
	target, name := *s.Workflow, s.Name
	var said atomic.Int64 // when the log was told last that it waits
	var blind keyless
	return &Work{Room: blind.room, Do: func(ctx context.Context, m *world.Message) world.Settlement {
		err := startFor(ctx, &target, m, start)
		why := ""
		if err != nil {
			why = err.Error()
		}
		switch {
		case err == nil, errors.Is(err, world.ErrReceipt): // it is gone, or somebody else's
			return m.End("", 0, "")
		case errors.Is(err, world.ErrNoKey): // another program may have it
			return m.End(world.Unread, blind.rest(m.Error == why), why)
		case errors.Is(err, ErrNobody):
			if now := time.Now().Unix(); now-said.Load() >= 60 {
				said.Store(now)
				log.Warn("a subscription waits for a worker", "subscription", name, "workflow.name", target.Name, "error", err)
			}
			return m.End(world.Unread, unknownPause, why)
		case errors.Is(context.Cause(ctx), world.ErrReceipt):
			return m.End("", 0, "")
		case errors.Is(context.Cause(ctx), engine.ErrDraining):
			return Unread(m, 0)
		case errors.Is(err, world.ErrInvalid), errors.Is(err, world.ErrTooLarge), errors.Is(err, world.ErrCorrupt):
			return m.End(world.Bury, 0, why)
		}
		after, _ := startPolicy.Verdict(startPolicy.Ask(err), m.Receives, time.Time{}, time.Time{})
		return m.End(world.Nack, after, why)
	}}
}

func startFor(ctx context.Context, t *world.StartTarget, m *world.Message, start func(ctx context.Context, s *Start) error) error {
	s, err := startOf(t, m)
	if err != nil {
		return err
	}
	return start(ctx, s)
}

// startOf is what a message asks for. The error is [world.ErrInvalid] where it has not what a template names.
func startOf(t *world.StartTarget, m *world.Message) (*Start, error) {
	switch {
	case m.Damage != "":
		return nil, fmt.Errorf("%w: %s", world.ErrCorrupt, m.Damage)
	case m.Encrypted != "":
		return nil, fmt.Errorf("message %s: %w: it is encrypted with the key %q", m.ID, world.ErrNoKey, m.Encrypted)
	}
	// The message's ID is the key where the subscription says none: so one that is received twice starts one run.
	s := &Start{Workflow: t.Name, Version: t.Version, Key: m.ID, Input: m.Payload, Headers: m.Headers, Receipt: m.Receipt}
	var err error
	if t.Key != "" {
		if s.Key, err = world.FillTemplate(t.Key, m); err != nil {
			return nil, fmt.Errorf("the key: %w", err)
		}
		if s.Key == "" {
			return nil, fmt.Errorf("%w: the key: the template %q came to nothing", world.ErrInvalid, t.Key)
		}
	}
	for name, template := range t.Attributes {
		text, err := world.FillTemplate(template, m)
		if err != nil {
			return nil, fmt.Errorf("the attribute %s: %w", name, err)
		}
		if s.Attributes == nil {
			s.Attributes = make(map[string]any, len(t.Attributes))
		}
		s.Attributes[name] = text
	}
	return s, nil
}
