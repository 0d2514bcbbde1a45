package server

// This file has the routes of a world over HTTP, and what of them a limited key may call.

import (
	"context"
	"fmt"
	"reflect"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

// wireRoutes are the rows of package wire, each with the function that answers it.
func wireRoutes() []route {
	hello := route{method: "GET", path: wire.Prefix, scope: Viewer, handle: atDoors((*doors).hello), wire: &wire.Row{Name: "hello", Out: reflect.TypeFor[wire.HelloOut]()}, op: operation{
		id: "worldHello", summary: "Say which protocol this is, and what the key may do",
	}}
	notices := route{method: "GET", path: wire.Prefix + "/notices", scope: Viewer, handle: atDoors((*doors).notices), wire: &wire.Row{Name: "notices"}, op: operation{
		id: "worldNotices", summary: "Hear what happens to all runs, over server-sent events",
	}}
	return []route{
		hello,
		notices,
		answers(wire.Commit, (*doors).commit),
		answers(wire.Outcome, (*doors).outcome),
		answers(wire.Deliver, (*doors).deliver),
		answers(wire.Events, (*doors).events),

		answers(wire.Join, (*doors).join),
		answers(wire.Claim, (*doors).claim),
		answers(wire.Heartbeat, (*doors).heartbeat),
		answers(wire.Held, (*doors).held),
		answers(wire.Leave, (*doors).leave),

		answers(wire.Append, (*doors).append),
		passes(wire.Chunks, storeOf, func(w world.World, ctx context.Context, in wire.ChunksIn) (world.ChunkPage, error) {
			return w.Chunks(ctx, in.Run, in.Stream, in.ChunkQuery)
		}),
		passes(wire.Streams, storeOf, func(w world.World, ctx context.Context, in wire.RunID) ([]world.StreamRow, error) {
			return w.StreamsOf(ctx, in.Run)
		}),

		passes(wire.Run, storeOf, func(w world.World, ctx context.Context, in wire.RunID) (world.Run, error) { return w.Run(ctx, in.Run) }),
		answers(wire.Runs, (*doors).runs),
		answers(wire.Hooks, (*doors).hooks),
		answers(wire.Tasks, (*doors).tasks),
		answers(wire.Ready, (*doors).ready),
		answers(wire.Stats, (*doors).stats),
		answers(wire.Sweep, (*doors).sweep),
		passes(wire.Examine, doctorOf, func(w world.Doctor, ctx context.Context, _ wire.Nothing) ([]world.Finding, error) {
			return world.Findings(ctx, w)
		}),
		answers(wire.BindKey, (*doors).bindKey),

		answers(wire.Define, (*doors).define),
		passes(wire.Defined, storeOf, func(of world.World, ctx context.Context, in wire.DefinedIn) (world.Defined, error) {
			return of.Defined(ctx, in.Workflows)
		}),
		passes(wire.Schemas, storeOf, wireSchemas),
		answers(wire.LimitRetention, (*doors).limitRetention),
		answers(wire.KeepMetrics, (*doors).keepMetrics),
		answers(wire.Metrics, (*doors).metrics),

		passes(wire.KeepPiece, valuesOf, only(func(of world.Values, ctx context.Context, in world.Piece) error { return of.KeepPiece(ctx, &in) })),
		passes(wire.Piece, valuesOf, func(of world.Values, ctx context.Context, in wire.PieceIn) ([]byte, error) {
			return of.Piece(ctx, in.Run, in.Value, in.Number)
		}),
		passes(wire.DropValue, valuesOf, only(func(of world.Values, ctx context.Context, in wire.ValueIn) error {
			return of.DropValue(ctx, in.Run, in.Value)
		})),
		passes(wire.ValueKeys, valuesOf, plainly(world.Values.ValueKeys)),

		onQueue(wire.DeclareQueue, declared, only(world.Messenger.DeclareQueue)),
		onQueue(wire.PauseQueue, paused, only(func(k world.Messenger, ctx context.Context, in wire.PauseIn) error {
			return k.PauseQueue(ctx, in.Queue, in.Pause)
		})),
		onQueue(wire.DropQueue, dropped, only(func(k world.Messenger, ctx context.Context, in wire.QueueName) error {
			return k.DropQueue(ctx, in.Queue)
		})),
		passes(wire.Queues, messengerOf, wireQueues),
		answers(wire.SendMessages, (*doors).sendMessages),
		answers(wire.ReceiveMessages, (*doors).receiveMessages),
		passes(wire.SettleMessages, messengerOf, func(k world.Messenger, ctx context.Context, in wire.SettleIn) ([]bool, error) {
			return k.SettleMessages(ctx, in.Settlements)
		}),
		passes(wire.PeekMessages, messengerOf, world.Messenger.PeekMessages),
		onQueue(wire.PurgeMessages, purged, func(k world.Messenger, ctx context.Context, in wire.PurgeIn) (out wire.MovedOut, err error) {
			out.Messages, out.More, err = k.PurgeMessages(ctx, in.Queue, in.Dead)
			return out, err
		}),
		onQueue(wire.RedriveMessages, redriven, func(k world.Messenger, ctx context.Context, in wire.RedriveIn) (out wire.MovedOut, err error) {
			out.Messages, out.More, err = k.RedriveMessages(ctx, in.Queue, in.IDs...)
			return out, err
		}),

		passes(wire.Publish, publisherOf, func(k world.Publisher, ctx context.Context, in wire.PublishIn) ([]world.Sent, error) {
			return k.Publish(ctx, in.Publications)
		}),
		answers(wire.Spread, (*doors).spread),
		answers(wire.Subscriptions, (*doors).subscriptions),
		answers(wire.Due, (*doors).due),
		passes(wire.ListPublications, publisherOf, world.Publisher.Publications),
		passes(wire.Shapes, publisherOf, wireShapes),
		passes(wire.Listeners, publisherOf, wireListeners),

		passes(wire.Schedules, schedulerOf, world.Scheduler.Schedules),
		passes(wire.DueSchedules, schedulerOf, wireDueSchedules),
		answers(wire.PutSchedule, (*doors).putSchedule),
		answers(wire.DeleteSchedule, (*doors).deleteSchedule),
		answers(wire.Hold, (*doors).hold),
		answers(wire.Release, (*doors).release),
		answers(wire.Holds, (*doors).holds),
		passes(wire.ListLimits, limiterOf, plainly(world.Limiter.ListLimits)),
		audited(passes(wire.SetLimit, limiterOf, only(func(k world.Limiter, ctx context.Context, in wire.SetLimitIn) error {
			return k.SetLimit(ctx, in.Limit, in.Number)
		}))),
		passes(wire.ListLimitKeys, limiterOf, func(k world.Limiter, ctx context.Context, in wire.LimitKeysIn) ([]world.LimitKey, error) {
			if err := checkMost(in.Most); err != nil {
				return nil, err
			}
			return k.ListLimitKeys(ctx, in.Limit, in.After, in.Most)
		}),
		passes(wire.ListHolders, limiterOf, func(k world.Limiter, ctx context.Context, in wire.HoldersIn) ([]world.LimitHolder, error) {
			if err := checkMost(in.Most); err != nil {
				return nil, err
			}
			return k.ListHolders(ctx, in.Limit, in.Key, in.Most)
		}),
		passes(wire.InLine, limiterOf, func(k world.Limiter, ctx context.Context, in wire.InLineIn) (out wire.InLineOut, err error) {
			out.InLine, err = k.InLine(ctx, in.Run, in.Step)
			return out, err
		}),
	}
}

func checkMost(most int) error {
	if most < 1 || most > mostEvents {
		return invalid("body: most %d: want 1 to %d", most, mostEvents)
	}
	return nil
}

// plainly makes a method without a query one with an empty query.
func plainly[Part, Out any](f func(Part, context.Context) (Out, error)) func(Part, context.Context, wire.Nothing) (Out, error) {
	return func(of Part, ctx context.Context, _ wire.Nothing) (Out, error) { return f(of, ctx) }
}

// audited makes an act one that is in the audit log, whoever asks.
func audited(rt route) route {
	rt.audit = true
	return rt
}

// The parts of the store below. A server whose database cannot be examined answers [world.ErrNotFound].
func storeOf(d *doors) (world.World, error)         { return d.below, nil }
func valuesOf(d *doors) (world.Values, error)       { return d.below.Values(), nil }
func messengerOf(d *doors) (world.Messenger, error) { return d.below.Messages(), nil }
func publisherOf(d *doors) (world.Publisher, error) { return d.below.Topics(), nil }
func schedulerOf(d *doors) (world.Scheduler, error) { return d.below.Schedules(), nil }
func startsOf(d *doors) (world.Starter, error)      { return d.below.Starts(), nil }
func limiterOf(d *doors) (world.Limiter, error)     { return d.below.Limits(), nil }

func doctorOf(d *doors) (world.Doctor, error) {
	if d.able.Doctor == nil {
		return nil, fmt.Errorf("an examination of the server's database: %w", world.ErrNotFound)
	}
	return d.able.Doctor, nil
}

// guardOf makes the guard of a row a function of its message, and panics if the message does not
// say what the guard asks for.
func guardOf[In any](which wire.Guard) func(g *guard, r *request, in *In) error {
	runOf := func(in *In) string {
		if p, ok := any(in).(*world.Piece); ok {
			return p.Run
		}
		return any(in).(interface{ OfRun() string }).OfRun()
	}
	var zero In
	switch which {
	case wire.Own:
		return func(*guard, *request, *In) error { return nil }
	case wire.Refused:
		return func(_ *guard, r *request, _ *In) error {
			if r.limited() != nil {
				return errLimited
			}
			return nil
		}
	case wire.OfRun:
		runOf(&zero)
		return func(g *guard, r *request, in *In) error { return g.mayRun(r, runOf(in)) }
	case wire.OfKept:
		runOf(&zero)
		return func(g *guard, r *request, in *In) error { return g.mayKeep(r, runOf(in)) }
	case wire.OfValue:
		return func(g *guard, r *request, in *In) error {
			p := any(in).(*wire.PieceIn)
			return g.mayReadValue(r, p.Run, p.Value)
		}
	case wire.OfWorker:
		workerOf := func(in *In) string { return any(in).(interface{ OfWorker() string }).OfWorker() }
		workerOf(&zero)
		return func(g *guard, r *request, in *In) error { return g.mayActFor(r, workerOf(in)) }
	case wire.OfWorkflows:
		workflowsOf := func(in *In) []string { return any(in).(interface{ OfWorkflows() []string }).OfWorkflows() }
		workflowsOf(&zero)
		return func(_ *guard, r *request, in *In) error {
			for _, name := range workflowsOf(in) {
				if err := r.mayWorkflow(name); err != nil {
					return err
				}
			}
			return nil
		}
	case wire.OfClasses:
		return func(_ *guard, r *request, in *In) error {
			switch in := any(in).(type) {
			case *world.Worker:
				return r.mayHave(in.Classes, in.Steps)
			case *world.ReadyQuery:
				return r.mayHave(in.Classes, in.Steps)
			}
			return errLimited
		}
	}
	panic("the wire has a guard " + string(which))
}

// errLimited refuses a limited key what all workflows share.
var errLimited = fmt.Errorf("%w: it is limited to some workflows and steps, and this is about what all share", errScope)
