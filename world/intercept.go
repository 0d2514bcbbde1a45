package world

// This file has all calls of a world go through one function.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Call is a call of a method of a [World], or of one of its groups.
type Call struct {
	Method string // such as "Commit", or "Messages.PauseQueue" of a group
	Args   []any  // all except the context
}

// Interceptor makes a call. next makes it on the wrapped World, and may be called more than once or
// not at all. The answer of a method with two results besides the error is a [Two]. A method that
// returns only an error has none. A nil answer is the zero value; one of another type panics.
type Interceptor func(ctx context.Context, c Call, next Next) (answer any, err error)

// Next makes an intercepted call on the wrapped World.
type Next func(ctx context.Context) (answer any, err error)

// Two is the answer of a method that has two results besides the error.
type Two[A, B any] struct {
	A A
	B B
}

// Intercept returns a World that makes each call of w by around. It passes Notify on as it is, and
// [Abilities] too, so that calls of a [Transactor] go past around.
func Intercept(w World, around Interceptor) World {
	return intercepted{via[World]{to: w, around: &around}}
}

// Unimplemented is a [World] to embed in a new store. Its methods return an error that matches
// [errors.ErrUnsupported] and names the method. Notify does nothing, and there are no [Abilities].
type Unimplemented struct{ intercepted }

// via makes the calls of a world, or of the interface of a group.
type via[I any] struct {
	group  string // such as "Messages."; "": of the world itself
	to     I
	around *Interceptor // nil: nothing is implemented
}

func call[I, T any](
	ctx context.Context, v via[I], method string, do func(context.Context) (T, error), args ...any,
) (answer T, err error) {
	method = v.group + method
	if v.around == nil {
		return answer, fmt.Errorf("%w: this store does not implement %s", errors.ErrUnsupported, method)
	}
	next := func(ctx context.Context) (any, error) { return do(ctx) }
	is, err := (*v.around)(ctx, Call{method, args}, next)
	if is != nil {
		answer = is.(T)
	}
	return answer, err
}

func get0[I, T any](
	ctx context.Context, v via[I], method string, f func(I, context.Context) (T, error),
) (T, error) {
	return call(ctx, v, method, func(ctx context.Context) (T, error) { return f(v.to, ctx) })
}

func get1[I, A, T any](
	ctx context.Context, v via[I], method string, f func(I, context.Context, A) (T, error), a A,
) (T, error) {
	return call(ctx, v, method, func(ctx context.Context) (T, error) { return f(v.to, ctx, a) }, a)
}

func get2[I, A, B, T any](
	ctx context.Context, v via[I], method string, f func(I, context.Context, A, B) (T, error),
	a A, b B,
) (T, error) {
	do := func(ctx context.Context) (T, error) { return f(v.to, ctx, a, b) }
	return call(ctx, v, method, do, a, b)
}

func get3[I, A, B, C, T any](
	ctx context.Context, v via[I], method string, f func(I, context.Context, A, B, C) (T, error),
	a A, b B, c C,
) (T, error) {
	do := func(ctx context.Context) (T, error) { return f(v.to, ctx, a, b, c) }
	return call(ctx, v, method, do, a, b, c)
}

func do1[I, A any](
	ctx context.Context, v via[I], method string, f func(I, context.Context, A) error, a A,
) error {
	do := func(ctx context.Context) (any, error) { return nil, f(v.to, ctx, a) }
	_, err := call(ctx, v, method, do, a)
	return err
}

func do2[I, A, B any](
	ctx context.Context, v via[I], method string, f func(I, context.Context, A, B) error, a A, b B,
) error {
	do := func(ctx context.Context) (any, error) { return nil, f(v.to, ctx, a, b) }
	_, err := call(ctx, v, method, do, a, b)
	return err
}

type intercepted struct{ via[World] }

func (w intercepted) Commit(ctx context.Context, c *Commit) (Committed, error) {
	return get1(ctx, w.via, "Commit", World.Commit, c)
}

func (w intercepted) Outcome(ctx context.Context, c *Commit) (Committed, error) {
	return get1(ctx, w.via, "Outcome", World.Outcome, c)
}

func (w intercepted) Deliver(ctx context.Context, d *Delivery) (Delivered, error) {
	return get1(ctx, w.via, "Deliver", World.Deliver, d)
}

func (w intercepted) Events(ctx context.Context, run string, q EventQuery) (EventPage, error) {
	return get2(ctx, w.via, "Events", World.Events, run, q)
}

func (w intercepted) Join(ctx context.Context, k Worker) (Heartbeat, error) {
	return get1(ctx, w.via, "Join", World.Join, k)
}

func (w intercepted) Claim(ctx context.Context, q ClaimQuery) (Claimed, error) {
	return get1(ctx, w.via, "Claim", World.Claim, q)
}

func (w intercepted) Heartbeat(ctx context.Context, q HeartbeatQuery) (Heartbeat, error) {
	return get1(ctx, w.via, "Heartbeat", World.Heartbeat, q)
}

func (w intercepted) Leave(ctx context.Context, worker string) error {
	return do1(ctx, w.via, "Leave", World.Leave, worker)
}

func (w intercepted) Held(ctx context.Context, worker string) (Account, error) {
	return get1(ctx, w.via, "Held", World.Held, worker)
}

func (w intercepted) Append(ctx context.Context, a *Append) (Appended, error) {
	return get1(ctx, w.via, "Append", World.Append, a)
}

func (w intercepted) Chunks(
	ctx context.Context, run, stream string, q ChunkQuery,
) (ChunkPage, error) {
	return get3(ctx, w.via, "Chunks", World.Chunks, run, stream, q)
}

func (w intercepted) StreamsOf(ctx context.Context, run string) ([]StreamRow, error) {
	return get1(ctx, w.via, "StreamsOf", World.StreamsOf, run)
}

func (w intercepted) Run(ctx context.Context, id string) (Run, error) {
	return get1(ctx, w.via, "Run", World.Run, id)
}

func (w intercepted) Runs(ctx context.Context, q RunQuery) (RunPage, error) {
	return get1(ctx, w.via, "Runs", World.Runs, q)
}

func (w intercepted) Tasks(ctx context.Context, run string) ([]Task, error) {
	return get1(ctx, w.via, "Tasks", World.Tasks, run)
}

func (w intercepted) Ready(ctx context.Context, q ReadyQuery) (Ready, error) {
	return get1(ctx, w.via, "Ready", World.Ready, q)
}

func (w intercepted) Hooks(ctx context.Context, q HookQuery) ([]HookRow, error) {
	return get1(ctx, w.via, "Hooks", World.Hooks, q)
}

func (w intercepted) Stats(ctx context.Context) (Stats, error) {
	return get0(ctx, w.via, "Stats", World.Stats)
}

func (w intercepted) Sweep(ctx context.Context, limit int) (int, error) {
	return get1(ctx, w.via, "Sweep", World.Sweep, limit)
}

func (w intercepted) Close() error {
	do := func(context.Context) (any, error) { return nil, w.to.Close() }
	_, err := call(context.Background(), w.via, "Close", do)
	return err
}

func (w intercepted) Notify(fn func(Notice)) (stop func()) {
	if w.to == nil {
		return func() {}
	}
	return w.to.Notify(fn)
}

func (w intercepted) BindKey(
	ctx context.Context, id string, print []byte,
) (bound []byte, err error) {
	return get2(ctx, w.via, "BindKey", World.BindKey, id, print)
}

func (w intercepted) Define(ctx context.Context, all []Definition) error {
	return do1(ctx, w.via, "Define", World.Define, all)
}

func (w intercepted) Defined(ctx context.Context, workflows []string) (Defined, error) {
	return get1(ctx, w.via, "Defined", World.Defined, workflows)
}

func (w intercepted) Schemas(ctx context.Context, of Class) (json.RawMessage, error) {
	return get1(ctx, w.via, "Schemas", World.Schemas, of)
}

func (w intercepted) LimitRetention(
	ctx context.Context, limit time.Duration, raise bool,
) (before, now time.Duration, err error) {
	two := func(ctx context.Context) (is Two[time.Duration, time.Duration], err error) {
		is.A, is.B, err = w.to.LimitRetention(ctx, limit, raise)
		return is, err
	}
	is, err := call(ctx, w.via, "LimitRetention", two, limit, raise)
	return is.A, is.B, err
}

func (w intercepted) KeepMetrics(ctx context.Context, m *ProcessMetrics) error {
	return do1(ctx, w.via, "KeepMetrics", World.KeepMetrics, m)
}

func (w intercepted) Metrics(ctx context.Context) ([]ProcessMetrics, error) {
	return get0(ctx, w.via, "Metrics", World.Metrics)
}

func (w intercepted) Messages() Messenger {
	return messagesVia{groupOf(w, "Messages.", World.Messages)}
}

func (w intercepted) Topics() Publisher { return topicsVia{groupOf(w, "Topics.", World.Topics)} }

func (w intercepted) Schedules() Scheduler {
	return schedulesVia{groupOf(w, "Schedules.", World.Schedules)}
}

func (w intercepted) Starts() Starter { return startsVia{groupOf(w, "Starts.", World.Starts)} }

func (w intercepted) Limits() Limiter { return limitsVia{groupOf(w, "Limits.", World.Limits)} }

func (w intercepted) Values() Values { return valuesVia{groupOf(w, "Values.", World.Values)} }

func (w intercepted) Abilities() Abilities {
	if w.to == nil {
		return Abilities{}
	}
	return w.to.Abilities()
}

// groupOf returns a group of a world. It equals the group that the next call returns.
func groupOf[I any](w intercepted, name string, of func(World) I) (g via[I]) {
	if w.to != nil {
		g.to = of(w.to)
	}
	g.group, g.around = name, w.around
	return g
}

type messagesVia struct{ via[Messenger] }

func (m messagesVia) DeclareQueue(ctx context.Context, q MessageQueue) error {
	return do1(ctx, m.via, "DeclareQueue", Messenger.DeclareQueue, q)
}

func (m messagesVia) PauseQueue(ctx context.Context, queue string, pause *QueuePause) error {
	return do2(ctx, m.via, "PauseQueue", Messenger.PauseQueue, queue, pause)
}

func (m messagesVia) DropQueue(ctx context.Context, queue string) error {
	return do1(ctx, m.via, "DropQueue", Messenger.DropQueue, queue)
}

func (m messagesVia) Queues(ctx context.Context, names ...string) ([]QueueStats, error) {
	do := func(ctx context.Context) ([]QueueStats, error) { return m.to.Queues(ctx, names...) }
	return call(ctx, m.via, "Queues", do, names)
}

func (m messagesVia) SendMessages(ctx context.Context, all []Message) ([]Sent, error) {
	return get1(ctx, m.via, "SendMessages", Messenger.SendMessages, all)
}

func (m messagesVia) ReceiveMessages(ctx context.Context, q ReceiveQuery) (Received, error) {
	return get1(ctx, m.via, "ReceiveMessages", Messenger.ReceiveMessages, q)
}

func (m messagesVia) SettleMessages(ctx context.Context, all []Settlement) ([]bool, error) {
	return get1(ctx, m.via, "SettleMessages", Messenger.SettleMessages, all)
}

func (m messagesVia) PeekMessages(ctx context.Context, q PeekQuery) (MessagePage, error) {
	return get1(ctx, m.via, "PeekMessages", Messenger.PeekMessages, q)
}

func (m messagesVia) PurgeMessages(
	ctx context.Context, queue string, dead bool,
) (n int, more bool, err error) {
	two := func(ctx context.Context) (is Two[int, bool], err error) {
		is.A, is.B, err = m.to.PurgeMessages(ctx, queue, dead)
		return is, err
	}
	is, err := call(ctx, m.via, "PurgeMessages", two, queue, dead)
	return is.A, is.B, err
}

func (m messagesVia) RedriveMessages(
	ctx context.Context, queue string, ids ...string,
) (n int, more bool, err error) {
	two := func(ctx context.Context) (is Two[int, bool], err error) {
		is.A, is.B, err = m.to.RedriveMessages(ctx, queue, ids...)
		return is, err
	}
	is, err := call(ctx, m.via, "RedriveMessages", two, queue, ids)
	return is.A, is.B, err
}

type topicsVia struct{ via[Publisher] }

func (t topicsVia) Publish(ctx context.Context, all []Publication) ([]Sent, error) {
	return get1(ctx, t.via, "Publish", Publisher.Publish, all)
}

func (t topicsVia) Subscriptions(ctx context.Context, names ...string) ([]Subscription, error) {
	do := func(ctx context.Context) ([]Subscription, error) {
		return t.to.Subscriptions(ctx, names...)
	}
	return call(ctx, t.via, "Subscriptions", do, names)
}

func (t topicsVia) Due(ctx context.Context, q DueQuery) (Due, error) {
	return get1(ctx, t.via, "Due", Publisher.Due, q)
}

func (t topicsVia) Spread(ctx context.Context, s Spread) (bool, error) {
	return get1(ctx, t.via, "Spread", Publisher.Spread, s)
}

func (t topicsVia) Shapes(ctx context.Context) ([]Shape, error) {
	return get0(ctx, t.via, "Shapes", Publisher.Shapes)
}

func (t topicsVia) Listeners(ctx context.Context, q ListenerQuery) ([]Listener, error) {
	return get1(ctx, t.via, "Listeners", Publisher.Listeners, q)
}

func (t topicsVia) Publications(ctx context.Context, q PublicationQuery) (PublicationPage, error) {
	return get1(ctx, t.via, "Publications", Publisher.Publications, q)
}

type schedulesVia struct{ via[Scheduler] }

func (s schedulesVia) Schedules(ctx context.Context, q ScheduleQuery) ([]Schedule, error) {
	return get1(ctx, s.via, "Schedules", Scheduler.Schedules, q)
}

func (s schedulesVia) DueSchedules(
	ctx context.Context, code string, limit int, hold time.Duration,
) (DueSchedules, error) {
	return get3(ctx, s.via, "DueSchedules", Scheduler.DueSchedules, code, limit, hold)
}

func (s schedulesVia) PutSchedule(ctx context.Context, row Schedule) (bool, error) {
	return get1(ctx, s.via, "PutSchedule", Scheduler.PutSchedule, row)
}

func (s schedulesVia) DeleteSchedule(ctx context.Context, name string) error {
	return do1(ctx, s.via, "DeleteSchedule", Scheduler.DeleteSchedule, name)
}

type startsVia struct{ via[Starter] }

func (s startsVia) Hold(ctx context.Context, h Hold) error {
	return do1(ctx, s.via, "Hold", Starter.Hold, h)
}

func (s startsVia) Release(ctx context.Context, workflow string) error {
	return do1(ctx, s.via, "Release", Starter.Release, workflow)
}

func (s startsVia) Holds(ctx context.Context) ([]Hold, error) {
	return get0(ctx, s.via, "Holds", Starter.Holds)
}

func (s startsVia) Settle(ctx context.Context) (next time.Duration, err error) {
	return get0(ctx, s.via, "Settle", Starter.Settle)
}

func (s startsVia) Lapsing(ctx context.Context) (Lapsing, error) {
	return get0(ctx, s.via, "Lapsing", Starter.Lapsing)
}

type limitsVia struct{ via[Limiter] }

func (l limitsVia) ListLimits(ctx context.Context) ([]Limit, error) {
	return get0(ctx, l.via, "ListLimits", Limiter.ListLimits)
}

func (l limitsVia) SetLimit(ctx context.Context, name string, number *int) error {
	return do2(ctx, l.via, "SetLimit", Limiter.SetLimit, name, number)
}

func (l limitsVia) ListLimitKeys(
	ctx context.Context, limit, behind string, most int,
) ([]LimitKey, error) {
	return get3(ctx, l.via, "ListLimitKeys", Limiter.ListLimitKeys, limit, behind, most)
}

func (l limitsVia) ListHolders(
	ctx context.Context, limit, key string, most int,
) ([]LimitHolder, error) {
	return get3(ctx, l.via, "ListHolders", Limiter.ListHolders, limit, key, most)
}

func (l limitsVia) InLine(ctx context.Context, run, step string) (*InLine, error) {
	return get2(ctx, l.via, "InLine", Limiter.InLine, run, step)
}

type valuesVia struct{ via[Values] }

func (v valuesVia) KeepPiece(ctx context.Context, p *Piece) error {
	return do1(ctx, v.via, "KeepPiece", Values.KeepPiece, p)
}

func (v valuesVia) Piece(ctx context.Context, run, value string, number int) ([]byte, error) {
	return get3(ctx, v.via, "Piece", Values.Piece, run, value, number)
}

func (v valuesVia) DropValue(ctx context.Context, run, value string) error {
	return do2(ctx, v.via, "DropValue", Values.DropValue, run, value)
}

func (v valuesVia) ValueKeys(ctx context.Context) ([]ValueKey, error) {
	return get0(ctx, v.via, "ValueKeys", Values.ValueKeys)
}
