package behaviour_test

// This file holds the clients of the simulation: they start the plan's runs, send events and payloads to whatever waits for some, and operators
// pause, resume, wake and cancel. Whose answer is lost asks again.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/faults"
	"github.com/stepwell/stepwell/world"
)

// client is an App of somebody: outside, where all goes well; behind a line that fails; or in the process of a worker, as long as it lives.
func (s *simulation) client(rnd *rand.Rand) *stepwell.App {
	switch rnd.IntN(3) {
	case 0:
		if app := s.anyApp(); app != nil {
			return app
		}
	case 1:
		cfg := s.withDefinitions(stepwell.Config{Name: "client", Encryption: s.ring})
		app, err := stepwell.New(faults.New(&simClock{s.below, s}, faults.Random(rnd.Uint64(), s.rates, func() {}, func() {})), cfg)
		if err != nil {
			s.t.Error(err)
			break
		}
		return app
	}
	return s.outside()
}

// insist repeats a request until it is answered: nil, or one of the errors that are an answer.
func (s *simulation) insist(ctx context.Context, rnd *rand.Rand, do func(*stepwell.App) error, answers ...error) error {
	by := s.client(rnd)
	for {
		err := do(by)
		if err == nil || ctx.Err() != nil {
			return err
		}
		for _, a := range append(answers, stepwell.ErrTerminal) {
			if errors.Is(err, a) {
				return a
			}
		}
		if errors.Is(err, world.ErrClosed) || errors.Is(err, context.Canceled) && s.died(by) {
			by = s.outside()
		} else if !errors.Is(err, world.ErrStorage) && !errors.Is(err, world.ErrUnknownOutcome) {
			s.problem("a client got %v", err)
			return err
		}
		<-time.After(time.Second / s.haste)
	}
}

// start begins a run of the plan.
func (s *simulation) start(ctx context.Context, r *simStart, rnd *rand.Rand) {
	defer s.started.Add(1)
	input, err := json.Marshal(r.Program)
	if err != nil {
		s.t.Error(err)
		return
	}
	if !s.pass(ctx, r.At) {
		return
	}
	err = s.insist(ctx, rnd, func(app *stepwell.App) error {
		opts := []stepwell.StartOption{stepwell.RunID(r.ID), stepwell.Version(1)}
		if r.Timeout != 0 {
			opts = append(opts, stepwell.Timeout(r.Timeout))
		}
		if r.Delay != 0 {
			opts = append(opts, stepwell.Delay(r.Delay))
		}
		if r.TTL != 0 {
			opts = append(opts, stepwell.StartTTL(r.TTL))
		}
		_, err := app.Start(ctx, "sim", input, opts...)
		return err
	}, stepwell.ErrRunExists)
	if err != nil && !errors.Is(err, stepwell.ErrRunExists) {
		s.problem("start of run %s: %v", r.ID, err)
	}
}

// attend looks after each run that appears, until all are over. It is generous: virtual time costs little.
func (s *simulation) attend(ctx context.Context) {
	known := map[string]bool{}
	sent := map[string]int{}
	rnd := rand.New(rand.NewPCG(s.seed, 4))
	for {
		s.last.Store(true)                                                        // no retry is created beside the list, else it may not be in it
		open := int(s.started.Load()) < len(s.plan.Runs) || s.creating.Load() > 0 // before the list, which may be older than a start
		runs := s.runs()
		for _, r := range runs {
			open = open || !r.Status.Terminal()
			if !known[r.ID] {
				known[r.ID] = true
				s.attendRun(ctx, &r)
			}
		}
		if !open {
			return
		}
		s.holdLimit(ctx, runs, false)
		s.holdSteps(ctx, runs, false)
		s.last.Store(false)
		s.payloads(ctx, sent, rnd)
		if !s.pass(ctx, time.Second/s.haste) {
			break
		}
	}
	for _, r := range s.runs() {
		if !r.Status.Terminal() {
			s.problem("law 6: run %s is %s, and time is up: queue %+v", r.ID, r.Status, r.Queue)
			if r.Queue != nil && r.Queue.Blocked != nil {
				s.problem("it is blocked: %+v", *r.Queue.Blocked)
			}
		}
	}
	stats, err := s.below.Stats(context.Background())
	s.problem("workers: %+v, %v", stats.Workers, err)
}

// attendRun plans what happens to one run from outside. It depends on its program alone.
func (s *simulation) attendRun(ctx context.Context, r *world.Run) {
	if r.Workflow == simBatch || r.Workflow == simDebounce {
		s.attendGather(ctx, r)
		return
	}
	var p simNode
	if err := json.Unmarshal(s.value(r.ID, r.Input, r.InputApart), &p); err != nil {
		s.problem("input of run %s: %v", r.ID, err)
		return
	}
	h := fnv.New64()
	_, _ = h.Write([]byte(p.Name))
	rnd := rand.New(rand.NewPCG(s.seed, h.Sum64()))
	p.walk(func(n *simNode) {
		if n.Op == "event" {
			s.signal(ctx, r.ID, n, rand.New(rand.NewPCG(rnd.Uint64(), 1)))
		}
	})
	s.operate(ctx, r.ID, rnd, r.Origin == nil, r.Parent == nil, 30*time.Second/s.haste)
}

// signal sends an event that the run can wait for, at a time of its own, with a delivery ID.
func (s *simulation) signal(ctx context.Context, run string, n *simNode, rnd *rand.Rand) {
	at := time.Duration(rnd.IntN(40_000)) * time.Millisecond / s.haste
	payload := json.RawMessage(fmt.Sprint(n.Value))
	s.others.Go(func() {
		if s.pass(ctx, at) {
			_ = s.insist(ctx, rnd, func(app *stepwell.App) error {
				return app.Signal(ctx, run, n.Name, payload, stepwell.DeliveryID("d-"+n.Name))
			})
		}
	})
}

// payloads sends to hooks that are open, now and then: each token's payloads are numbered.
func (s *simulation) payloads(ctx context.Context, sent map[string]int, rnd *rand.Rand) {
	hooks, err := s.below.Hooks(context.Background(), world.HookQuery{Limit: 1000})
	if err != nil {
		s.problem("hooks: %v", err)
	}
	for _, h := range hooks {
		if rnd.IntN(3) == 0 {
			continue
		}
		if n := s.attends(h, rnd); n != nil {
			_ = s.insist(ctx, rnd, n, stepwell.ErrNotFound, stepwell.ErrInvalid)
			continue
		}
		sent[h.Token]++
		n := sent[h.Token]
		_ = s.insist(ctx, rnd, func(app *stepwell.App) error {
			return app.SendHook(ctx, h.Token, json.RawMessage(fmt.Sprint(n)), stepwell.DeliveryID(fmt.Sprintf("p-%s-%d", h.Token, n)))
		}, stepwell.ErrNotFound)
	}
}

// operate has operators pause and resume, wake and cancel a run, and retry it where it is no retry. Each pause ends.
// Where it has no parent it is restarted, too: that has none, and nobody would end what waits for ever.
func (s *simulation) operate(ctx context.Context, run string, rnd *rand.Rand, first, root bool, within time.Duration) {
	at := func() time.Duration { return time.Duration(rnd.Int64N(int64(within))).Truncate(time.Microsecond) }
	act := func(after time.Duration, do func(*stepwell.App) error, then ...func()) {
		own := rand.New(rand.NewPCG(rnd.Uint64(), 1))
		s.others.Go(func() {
			if s.pass(ctx, after) && s.insist(ctx, own, do, stepwell.ErrInvalid, stepwell.ErrRunExists) == nil {
				for _, next := range then {
					next()
				}
			}
		})
	}
	for range max(rnd.IntN(5)-2, 0) {
		pause, resume := at(), rnd.IntN(15_000)
		own := rand.New(rand.NewPCG(rnd.Uint64(), 1))
		act(pause, func(app *stepwell.App) error { return app.Pause(ctx, run, "a test") }, func() {
			<-time.After(time.Duration(resume) * time.Millisecond / s.haste)
			_ = s.insist(ctx, own, func(app *stepwell.App) error { return app.Resume(ctx, run) })
		})
	}
	for range max(rnd.IntN(5)-2, 0) {
		act(at(), func(app *stepwell.App) error {
			s.acts.ask(s, run, simWake)
			_, err := app.Wake(ctx, run, stepwell.WakeRetries, stepwell.WakeStarts, stepwell.WakeSleeps)
			return err
		})
	}
	if rnd.IntN(6) == 0 {
		act(at(), func(app *stepwell.App) error { s.acts.ask(s, run, simCancel); return app.Cancel(ctx, run, "a test") })
	}
	if rnd.IntN(16) == 0 {
		act(at(), func(app *stepwell.App) error {
			s.acts.ask(s, run, simCancel)
			return app.ForceCancel(ctx, run, "a test")
		})
	}
	if rnd.IntN(2) == 0 && first { // now and then: most times it did not fail yet, or is refused
		for i := range 8 {
			act(at(), func(app *stepwell.App) error {
				s.creating.Add(1)
				defer s.creating.Add(-1)
				if s.last.Load() {
					return nil
				}
				if root && i%3 == 2 {
					return s.restart(ctx, app, run)
				}
				_, err := app.Retry(ctx, run)
				return err
			})
		}
	}
}
