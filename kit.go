package stepwell

// What tests, and the rooms beside this package, reach of it; see internal/kit.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/internal/logs"
	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/keyring"
	"github.com/stepwell/stepwell/world"
)

func init() {
	kit.Set = func(config any, r kit.Overrides) { config.(*Config).overrides = r }
	kit.Code = func(definition any) (func([]byte) replay.Body, error) {
		r := &registrar{cfg: new(Config)}
		if err := r.cfg.defaults(); err != nil {
			return nil, err
		}
		definition.(Definition).register(r)
		if len(r.workflows) != 1 {
			return nil, fmt.Errorf("want a workflow, got %d", len(r.workflows))
		}
		return func(input []byte) replay.Body { return r.workflows[0].Body(input, "") }, nil
	}
	kit.AppOf = func(app any) kit.App {
		a := app.(*App)
		return kit.App{
			Limit:   a.cfg.MaxPayload,
			Hooks:   a.hooks,
			Deliver: func(ctx context.Context, d *world.Delivery) error { return a.deliverAs(ctx, d, nil) },
			Chunks: func(ctx context.Context, run, stream string, q world.ChunkQuery) (world.ChunkPage, error) {
				return (&streamReader{app: a, run: run, name: stream, q: q}).page(ctx)
			},
			Values: a.world.Values(), Messages: a.world.Messages(), Transactor: a.able.Transactor, Notifier: a.world, Logger: a.cfg.Logger, Drain: cmp.Or(a.cfg.Drain, engine.DefaultDrain), Poll: a.cfg.Poll,
			Courier: courierOf(a), Timetable: timetableOf(a), Starts: a.world.Starts(), By: a.by, Itself: a,
		}
	}
	kit.NewPart = func(p kit.Part) any { return part(p) }
	kit.CodeOf = func(ctx any) kit.Inside {
		c := ctx.(Context)
		return kit.Inside{Ctx: c.x, Base: c.env.base}
	}
	kit.Started = func(ctx any, name string) []byte { return replay.StartsWith(ctx.(Context).x, name) }
	kit.Wait = func(ctx any, f *replay.Future) error { return waitFor(ctx.(Context), f) }
	kit.Bind = func(hook any, f *replay.Future, tell bool) {
		hook.(interface {
			bind(f *replay.Future, tell bool)
		}).bind(f, tell)
	}
	kit.Ack = func(receipt string) any { return ackOption(receipt) }
	kit.Record = func(ctx any, kind world.Kind, name string, input []byte, spec any) error {
		return record(ctx.(Context), kind, name, input, spec)
	}
	kit.Answer = func(ctx any, stream string, chunk []byte) error { return answer(ctx.(Context), stream, chunk) }
	kit.StepRuleOf, kit.DeathsOf, kit.RestOf = stepRuleOf, engine.DeathsOf, engine.PauseOf
	kit.Checker = func(config any) (kit.Checking, error) {
		cfg := *config.(*Config)
		if cfg.Logger == nil { // what does not fit is reported otherwise
			cfg.Logger = logs.Discard()
		}
		if cfg.Encryption == nil {
			var err error
			if cfg.Encryption, err = keyring.FromEnv(os.Getenv); err != nil {
				return kit.Checking{}, err
			}
		}
		app, err := newApp(nil, cfg, nil)
		if err != nil {
			return kit.Checking{}, err
		}
		return kit.Checking{Knows: app.engine.Knows, Replay: app.replay}, nil
	}
}

// stepRuleOf is the rule that a remote step's definition gave to its task.
func stepRuleOf(options []byte) kit.StepRule {
	p := engine.PolicyOf(options)
	return kit.StepRule{Timeout: p.Timeout, Silence: p.Heartbeat, Next: func(f kit.FailedStep) (time.Duration, bool) {
		err := errAttempt
		switch {
		case f.Final:
			err = &engine.FatalError{Err: err}
		case f.After != nil:
			err = &engine.RetryError{Err: err, After: *f.After}
		}
		return p.Verdict(p.Ask(err), f.Failures, f.First, f.Now)
	}}
}

// errAttempt stands for whatever failed an attempt elsewhere.
var errAttempt = errors.New("the attempt failed")
