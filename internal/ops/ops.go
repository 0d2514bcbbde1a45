// Package ops carries out the operations of package api on an App: each verb once, with its checks,
// for the REST API, the web UI and the command line.
package ops

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/acting"
	"github.com/stepwell/stepwell/api"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/internal/spread"
	"github.com/stepwell/stepwell/internal/timetable"
	"github.com/stepwell/stepwell/world"
)

// Options configure operations. The zero value is for a program on its own database.
type Options struct {
	// Endpoint refuses endpoints that this process would never post to. Nil: all are accepted.
	Endpoint func(*world.PostTarget) error
	// PageBytes limits the payloads of received messages, in bytes. 0: [world.PageBytes].
	PageBytes func() int
	// MaxWait is the longest that a receive waits. 0: 30 s.
	MaxWait time.Duration
	// Requests adds to an error about a missing queue or subscription the request that creates it.
	Requests bool
	// More reports whether an operation in pieces that began at a time may do another piece. Nil:
	// it does all.
	More func(began time.Time) bool
	// Now is the time that is recorded for acts. Nil: [world.Now].
	Now func() time.Time
}

// Ops are the operations of one App. Its methods are safe for concurrent use. Who acts is in the
// context: see package acting.
type Ops struct {
	app    *stepwell.App
	world  world.World
	queues world.Messenger
	by     world.Notifier
	topics *spread.Spreader
	times  *timetable.Keeper
	opt    Options
}

// New returns the operations of an App. It starts nothing.
func New(app *stepwell.App, o Options) *Ops {
	room := kit.AppOf(app)
	s := &Ops{
		app: app, world: app.World(), queues: app.World().Messages(), by: app.World(),
		topics: room.Courier.Spread, times: room.Timetable, opt: o,
	}
	if s.opt.PageBytes == nil {
		s.opt.PageBytes = func() int { return world.PageBytes }
	}
	if s.opt.MaxWait == 0 {
		s.opt.MaxWait = mostReceiveWait
	}
	if s.opt.Now == nil {
		s.opt.Now = world.Now
	}
	return s
}

// Call calls the operation of a row: see [api.Caller].
func (o *Ops) Call(ctx context.Context, row *api.Row, in, out any) error {
	call, ok := table[row]
	if !ok {
		return fmt.Errorf("operation %s: %w: only a server has it", row.ID, world.ErrInvalid)
	}
	return call(o, ctx, in, out)
}

// table has the function of each row.
var table = map[*api.Row]func(o *Ops, ctx context.Context, in, out any) error{}

// bind gives a row its function. It panics if the row has one.
func bind[In, Out any](op api.Op[In, Out], f func(*Ops, context.Context, In) (Out, error)) {
	if table[op.Row] != nil {
		panic("operation " + op.ID + " has two functions")
	}
	table[op.Row] = func(o *Ops, ctx context.Context, in, out any) (err error) {
		*out.(*Out), err = f(o, ctx, *in.(*In))
		return err
	}
}

func init() {
	bind(api.StartRunOp, (*Ops).StartRun)
	bind(api.CancelRunOp, (*Ops).CancelRun)
	bind(api.SignalRunOp, (*Ops).SignalRun)
	bind(api.PauseRunOp, (*Ops).PauseRun)
	bind(api.ResumeRunOp, (*Ops).ResumeRun)
	bind(api.WakeRunOp, (*Ops).WakeRun)
	bind(api.RestartRunOp, (*Ops).RestartRun)
	bind(api.ForkRunOp, (*Ops).ForkRun)
	bind(api.RetryRunOp, (*Ops).RetryRun)

	bind(api.ListQueuesOp, (*Ops).ListQueues)
	bind(api.GetQueueOp, (*Ops).GetQueue)
	bind(api.DeclareQueueOp, (*Ops).DeclareQueue)
	bind(api.DropQueueOp, (*Ops).DropQueue)
	bind(api.PauseQueueOp, (*Ops).PauseQueue)
	bind(api.ResumeQueueOp, (*Ops).ResumeQueue)
	bind(api.PurgeQueueOp, (*Ops).PurgeQueue)
	bind(api.RedriveQueueOp, (*Ops).RedriveQueue)

	bind(api.SendMessagesOp, (*Ops).SendMessages)
	bind(api.PeekMessagesOp, (*Ops).PeekMessages)
	bind(api.ReceiveMessagesOp, (*Ops).ReceiveMessages)
	bind(api.AckMessagesOp, (*Ops).AckMessages)
	bind(api.NackMessagesOp, (*Ops).NackMessages)
	bind(api.ExtendMessagesOp, (*Ops).ExtendMessages)
	bind(api.BuryMessagesOp, (*Ops).BuryMessages)

	bind(api.PublishOp, (*Ops).Publish)
	bind(api.ListPublicationsOp, (*Ops).ListPublications)
	bind(api.ListSubscriptionsOp, (*Ops).ListSubscriptions)
	bind(api.GetSubscriptionOp, (*Ops).GetSubscription)
	bind(api.SubscribeOp, (*Ops).Subscribe)
	bind(api.UnsubscribeOp, (*Ops).Unsubscribe)
	bind(api.PauseSubscriptionOp, (*Ops).PauseSubscription)
	bind(api.ResumeSubscriptionOp, (*Ops).ResumeSubscription)
	bind(api.RedeliverOp, (*Ops).Redeliver)
	bind(api.RotateSecretOp, (*Ops).RotateSecret)

	bind(api.ListSchedulesOp, (*Ops).ListSchedules)
	bind(api.GetScheduleOp, (*Ops).GetSchedule)
	bind(api.PutScheduleOp, (*Ops).PutSchedule)
	bind(api.DeleteScheduleOp, (*Ops).DeleteSchedule)
	bind(api.PauseScheduleOp, (*Ops).PauseSchedule)
	bind(api.ResumeScheduleOp, (*Ops).ResumeSchedule)
	bind(api.TriggerScheduleOp, (*Ops).TriggerSchedule)
	bind(api.BackfillScheduleOp, (*Ops).BackfillSchedule)

	bind(api.ListLimitsOp, (*Ops).ListLimits)
	bind(api.GetLimitOp, (*Ops).GetLimit)
	bind(api.ListLimitHoldersOp, (*Ops).ListLimitHolders)
	bind(api.SetLimitOp, (*Ops).SetLimit)

	bind(api.HoldWorkflowOp, (*Ops).HoldWorkflow)
	bind(api.ReleaseWorkflowOp, (*Ops).ReleaseWorkflow)
	bind(api.ListHoldsOp, (*Ops).ListHolds)
}

// pause is a pause by who acts, from now on.
func (o *Ops) pause(ctx context.Context, reason string) *world.QueuePause {
	return &world.QueuePause{By: acting.Who(ctx), Reason: reason, Since: o.opt.Now()}
}

// invalid is an error about the input.
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", world.ErrInvalid, fmt.Sprintf(format, args...))
}

// create adds to [world.ErrNotFound] how to create what is missing.
func (o *Ops) create(err error, row *api.Row, name string) error {
	if o.opt.Requests && errors.Is(err, world.ErrNotFound) {
		return fmt.Errorf("%w: %s %s", err, row.Method, api.PathWith(row, url.PathEscape(name)))
	}
	return err
}

// size returns the size of a page: what an input asks for, or the default of its row.
func size(row *api.Row, asked int) (int, error) {
	for _, f := range row.Fields {
		if f.Name != "limit" || f.Place != api.InQuery {
			continue
		}
		if asked == 0 {
			return f.Default, nil
		}
		if asked < f.Min || asked > f.Max {
			return 0, invalid("limit is %d: want %d to %d", asked, f.Min, f.Max)
		}
		return asked, nil
	}
	panic("operation " + row.ID + " has no parameter limit")
}
