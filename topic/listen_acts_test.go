package topic_test

// What is done to a run that listens: its waits do as other waits do.

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/stepwelltest"
	"github.com/stepwell/stepwell/topic"
	"github.com/stepwell/stepwell/world"
)

// listens waits for an hour until an order is paid; -1: it was not.
func listens(ctx stepwell.Context, order int, options ...stepwell.EventOption) (float64, error) {
	options = append(options, stepwell.Match{"order": order}, stepwell.Timeout(time.Hour))
	got, ok, err := stepwell.Event[paid]("order.paid").Wait(ctx, options...)
	if err != nil || !ok {
		return -1, err
	}
	return got.Cents, nil
}

// looker is a waiter that looks back.
var looker = stepwell.Define("looker", func(ctx stepwell.Context, order int) (float64, error) {
	return listens(ctx, order, stepwell.Since(time.Hour))
})

// chain waits in two segments; one that looks back gets in the second what it had in the first.
var chain = stepwell.Define("chain", func(ctx stepwell.Context, c link) (float64, error) {
	listen := stepwell.Listen()
	if c.Back {
		listen = stepwell.Since(time.Hour)
	}
	got, err := listens(ctx, c.Order, listen)
	if c.Total += got; err != nil || c.Second {
		return c.Total, err
	}
	c.Second = true
	return 0, stepwell.ContinueAsNew(ctx, c)
})

type link struct {
	Order        int
	Back, Second bool
	Total        float64
}

// acting is a test of what is done to runs.
type acting struct {
	*testing.T
	*stepwelltest.Env
}

func (a *acting) pay(order int, cents float64) {
	a.do(func(ctx context.Context, app *stepwell.App) error { return publishPaid(ctx, app, paid{order, cents}) })
	a.Advance(time.Minute)
}

func publishPaid(ctx context.Context, app *stepwell.App, p paid, opts ...topic.Option) error {
	_, err := paidTopic.Publish(ctx, app, p, opts...)
	return err
}

func (a *acting) do(f func(ctx context.Context, app *stepwell.App) error) {
	a.Helper()
	a.Env.Do(f)
}

// gives fails where a run that the test did not start by itself comes to something else.
func (a *acting) gives(run string, want float64) {
	a.Helper()
	a.do(func(ctx context.Context, app *stepwell.App) error {
		got, err := waiter.Get(app, run).Result(ctx)
		if err != nil || got != want {
			a.Errorf("run %s: got %v, %v, want %v", run, got, err, want)
		}
		return nil
	})
}

func (a *acting) pause(run string) {
	a.do(func(ctx context.Context, app *stepwell.App) error { return app.Pause(ctx, run, "a look") })
	a.Advance(time.Minute)
}

func (a *acting) resume(run string) {
	a.do(func(ctx context.Context, app *stepwell.App) error { return app.Resume(ctx, run) })
}

func (a *acting) fork(run, fork string, at int64) {
	a.do(func(ctx context.Context, app *stepwell.App) error {
		_, err := app.Fork(ctx, run, stepwell.ForkOptions{ID: fork, At: at})
		return err
	})
	a.Advance(time.Minute)
}

// silent fails where anybody listens yet, or anything came to a run.
func (a *acting) silent(run string) {
	a.Helper()
	a.do(func(ctx context.Context, app *stepwell.App) error {
		shapes, err := kit.AppOf(app).Courier.Spread.Topics.Shapes(ctx)
		if err != nil || len(shapes) > 0 {
			a.Errorf("somebody listens: %v, %v", shapes, err)
		}
		info, err := app.Get(ctx, run)
		if err == nil && info.Queue != nil && info.Queue.Mail > 0 {
			a.Errorf("run %s has mail", run)
		}
		for e, err := range app.Events(ctx, run, stepwell.EventFilter{}) {
			if err != nil || e.Type == world.SignalReceived {
				a.Errorf("run %s: %+v, %v", run, e, err)
			}
		}
		return err
	})
}

// TestListenActs: pauses, cancels, continuations, retries, forks and timeouts of runs that listen.
func TestListenActs(t *testing.T) {
	for _, kind := range sample.OneKey(t, stores) {
		for name, test := range map[string]func(a *acting){
			"paused": pausedListens, "cancelled": cancelledListens, "continued": continuedListens, "retried": retriedListens, "forked": forkedListens, "timed out": lateListens,
		} {
			t.Run(kind+"/"+name, func(t *testing.T) {
				t.Parallel()
				test(&acting{t, newEnv(t, kind, waiter, looker, chain, stubborn, fragile)})
			})
		}
	}
}

// While it is paused nothing is given to it; then what came before its deadline is, and what came later is not.
func pausedListens(a *acting) {
	early, late := stepwelltest.Start(a.Env, waiter, 1), stepwelltest.Start(a.Env, waiter, 2)
	a.pause(early.ID())
	a.pause(late.ID())
	a.pay(1, 490)
	if got := early.Events(); got[len(got)-1].Type == world.WaitCompleted {
		a.Errorf("a paused run went on: %v", got)
	}
	early.WantWaiting(stepwell.WhyPaused)
	a.Advance(2 * time.Hour)
	a.pay(2, 500)
	a.resume(early.ID())
	a.resume(late.ID())
	if got := early.MustComplete(); got != 490 {
		a.Errorf("paid before its deadline, resumed behind it: got %v", got)
	}
	if got := late.MustComplete(); got != -1 {
		a.Errorf("paid behind its deadline: got %v", got)
	}
}

// stubborn listens again when it is cancelled, to clean up.
var stubborn = stepwell.Define("stubborn", func(ctx stepwell.Context, order int) (float64, error) {
	got, err := listens(ctx, order, stepwell.Listen())
	if !errors.Is(err, stepwell.ErrCancelled) {
		return got, err
	}
	last := ctx.Uncancelled()
	if got, err = listens(last, order, stepwell.Listen()); err == nil && got > 0 {
		_, err = stepwell.Step(last, "heard", func(context.Context) (float64, error) { return got, nil })
	}
	return got, err
})

// A cancelled wait listens no more; one of the clean-up does.
func cancelledListens(a *acting) {
	plain, cleaning := stepwelltest.Start(a.Env, waiter, 1), stepwelltest.Start(a.Env, stubborn, 2)
	plain.Cancel("enough")
	cleaning.Cancel("enough")
	plain.MustBeCancelled()
	a.Advance(time.Minute)
	a.pay(1, 490)
	a.pay(2, 500)
	cleaning.MustBeCancelled()
	cleaning.WantSteps("heard")
	a.silent(plain.ID())
}

// What a wait did not take is not carried over; a wait of the new segment that looks back has what is there.
func continuedListens(a *acting) {
	on, back := stepwelltest.Start(a.Env, chain, link{Order: 1}), stepwelltest.Start(a.Env, chain, link{Order: 2, Back: true})
	for _, order := range []int{1, 2} { // two at once: they come to the same wait
		a.do(func(ctx context.Context, app *stepwell.App) error {
			var all []world.Publication
			for cents := range 2 {
				all = append(all, world.Publication{Topic: paidTopic.Name(), Payload: fmt.Appendf(nil, `{"order":%d,"cents":%d}`, order, cents+1)})
			}
			_, err := kit.AppOf(app).Courier.Spread.Topics.Publish(ctx, all)
			return err
		})
		a.Advance(time.Minute)
		a.pay(order, 4)
	}
	if got := on.MustComplete(); got != 5 {
		a.Errorf("got %v, want what came when each segment waited: 1 and 4", got)
	}
	if got := back.MustComplete(); got != 2 {
		a.Errorf("looks back: got %v, want 1 and 1", got)
	}
}

// fragile fails between two waits, in the run that is not a retry.
var fragile = stepwell.Define("fragile", func(ctx stepwell.Context, order int) (float64, error) {
	first, err := listens(ctx, order, stepwell.Listen())
	if err != nil {
		return 0, err
	}
	if err := stepwell.Do(ctx, "book", func(ctx context.Context) error {
		if stepwell.Info(ctx).Run == "run-1" {
			return stepwell.Fatal(errors.New("broken"))
		}
		return nil
	}); err != nil {
		return 0, err
	}
	second, err := listens(ctx, order, stepwell.Listen())
	return first + second, err
})

// A retry has what its source had heard, and listens from then on; nobody does meanwhile.
func retriedListens(a *acting) {
	run := stepwelltest.Start(a.Env, fragile, 1)
	a.pay(1, 1)
	run.MustFail()
	a.pay(1, 2)
	retried := ""
	a.do(func(ctx context.Context, app *stepwell.App) error {
		r, err := app.Retry(ctx, run.ID())
		if err == nil {
			retried = r.ID()
		}
		return err
	})
	a.Advance(time.Minute)
	a.pay(1, 4)
	a.gives(retried, 5)
}

// A fork listens for itself, until the deadline of its source; one that looks back does so from where its source did.
func forkedListens(a *acting) {
	both := stepwelltest.Start(a.Env, waiter, 1)
	a.fork(both.ID(), "both", 0)
	a.pay(1, 490)
	a.gives("both", 490)
	if got := both.MustComplete(); got != 490 {
		a.Errorf("the source: got %v", got)
	}
	a.fork(both.ID(), "behind", 3) // at its wait, when it was paid
	back := stepwelltest.Start(a.Env, looker, 2)
	a.pay(2, 500)
	if got := back.MustComplete(); got != 500 {
		a.Errorf("looks back: got %v", got)
	}
	a.Advance(30 * time.Minute)
	a.fork(back.ID(), "again", 3)
	a.gives("again", 500)
	ends := a.Now().Add(time.Hour)
	a.gives("behind", -1)
	if !a.Now().Before(ends) {
		a.Error("a fork has an hour of its own")
	}
	a.do(func(ctx context.Context, app *stepwell.App) error {
		shapes, err := kit.AppOf(app).Courier.Spread.Topics.Shapes(ctx)
		if len(shapes) > 0 {
			a.Errorf("somebody listens: %v", shapes)
		}
		return err
	})
}

// Who has waited long enough gets nothing more.
func lateListens(a *acting) {
	run := stepwelltest.Start(a.Env, waiter, 1)
	a.do(func(ctx context.Context, app *stepwell.App) error {
		return publishPaid(ctx, app, paid{1, 490}, topic.Delay(time.Hour+time.Minute))
	})
	a.Advance(2 * time.Hour)
	if got := run.MustComplete(); got != -1 {
		a.Errorf("got %v", got)
	}
	a.pay(1, 500)
	a.silent(run.ID())
}
