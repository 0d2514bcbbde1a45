//go:build unix

package soak

// This file is the application of the second proof: counters that continue as new after every second number, so that whatever a run must remember has
// to outlive its segments.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/stepwell/stepwell"
	_ "github.com/stepwell/stepwell/world/postgres"
	_ "github.com/stepwell/stepwell/world/sqlite"
)

// perSegment is how many numbers a counter takes before it continues as new.
const perSegment = 2

// counter is the state of one, carried from segment to segment.
type counter struct {
	Run     string `json:"run"`
	Hooked  bool   `json:"hooked"` // numbers come to its hook, not as events
	Segment int    `json:"segment"`
	Total   int64  `json:"total"`
}

// number is what is sent to a counter.
type number struct {
	Amount int64 `json:"amount"`
	Last   bool  `json:"last"`
}

// feed is the input of a run whose steps send one each to a counter.
type feed struct {
	To    counter `json:"to"`
	Times int     `json:"times"`
}

var (
	numbers     = stepwell.Event[number]("number")
	counterFlow = stepwell.Define("counter", count)
	echoFlow    = stepwell.Define("echo", func(_ stepwell.Context, s string) (string, error) { return s, nil })
	feederFlow  = stepwell.Define("feeder", func(stepwell.Context, feed) (int64, error) { return 0, errors.New("not here") })
)

func (c *counter) token() string           { return "to-" + c.Run }
func (c *counter) echo(segment int) string { return fmt.Sprintf("%s-echo-%d", c.Run, segment) }

// count adds up what comes, and starts a detached child in the last turn of each segment.
func count(ctx stepwell.Context, c counter) (int64, error) {
	next := func() (number, error) {
		n, _, err := numbers.Wait(ctx)
		return n, err
	}
	if c.Hooked {
		hook, err := stepwell.NewHook[number](ctx, stepwell.Token(c.token()))
		if err != nil {
			return 0, err
		}
		next = func() (number, error) { return hook.Receive(ctx) }
	}
	last := false
	for i := 0; i < perSegment && !last; i++ {
		n, err := next()
		if err != nil {
			return 0, err
		}
		c.Total, last = c.Total+n.Amount, n.Last
	}
	echoFlow.Child(stepwell.ChildOptions{ID: c.echo(c.Segment), Detached: true}).Start(ctx, c.Run)
	if last {
		return c.Total, nil
	}
	c.Segment++
	return 0, stepwell.ContinueAsNew(ctx, c)
}

// send sends a number to a counter, under a name that makes it the same one again.
func (c *counter) send(ctx context.Context, app *stepwell.App, n number, id string) error {
	if c.Hooked {
		return app.SendHook(ctx, c.token(), fmt.Appendf(nil, `{"amount":%d,"last":%t}`, n.Amount, n.Last), stepwell.DeliveryID(id))
	}
	return numbers.Send(ctx, app, c.Run, n, stepwell.DeliveryID(id))
}

// sendWrong sends what is no number.
func (c *counter) sendWrong(ctx context.Context, app *stepwell.App, id string) error {
	const wrong = `{"amount":"many"}`
	if c.Hooked {
		return app.SendHook(ctx, c.token(), []byte(wrong), stepwell.DeliveryID(id))
	}
	return app.Signal(ctx, c.Run, numbers.Name(), []byte(wrong), stepwell.DeliveryID(id))
}

// count works on counters until ctx ends.
func (o *orders) count(ctx context.Context) (err error) {
	w, err := stepwell.Open(ctx, o.URL)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	var app *stepwell.App
	feeder := stepwell.Define("feeder", func(ctx stepwell.Context, f feed) (int64, error) {
		for range f.Times {
			err := stepwell.Do(ctx, "one", func(ctx context.Context) error {
				return f.To.send(ctx, app, number{Amount: 1}, stepwell.Info(ctx).IdempotencyKey)
			}, persistent)
			if err != nil {
				return 0, err
			}
		}
		return int64(f.Times), nil
	})
	app, err = stepwell.New(w, stepwell.Config{
		Definitions: []stepwell.Definition{counterFlow, echoFlow, feeder, stormFlow}, Name: o.Name, Build: "soak", Lease: o.Lease, Poll: o.Poll, Drain: 5 * time.Second,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return err
	}
	return app.Run(ctx)
}
