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
	"github.com/stepwell/stepwell/keyring"
	"github.com/stepwell/stepwell/server"
	"github.com/stepwell/stepwell/world"
	_ "github.com/stepwell/stepwell/world/postgres"
	_ "github.com/stepwell/stepwell/world/remote"
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
		next = func() (number, error) { n, _, err := hook.Wait(ctx); return n, err }
	}
	last := false
	for i := 0; i < perSegment && !last; i++ {
		n, err := next()
		if err != nil {
			return 0, err
		}
		c.Total, last = c.Total+n.Amount, n.Last
	}
	echoFlow.Child(stepwell.RunID(c.echo(c.Segment)), stepwell.Detached()).Start(ctx, c.Run)
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
	w, err := openSoon(ctx, o.URL)
	if err != nil || ctx.Err() != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	ring, err := keys(o.Keys)
	if err != nil {
		return err
	}
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
		Definitions: []stepwell.Definition{counterFlow, echoFlow, feeder, stormFlow}, Name: o.Name, Build: "soak", Lease: o.Lease, Poll: o.Poll, Drain: 5 * time.Second, Encryption: ring,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return err
	}
	return app.Run(ctx)
}

// openSoon opens a world, and waits for a server that is away. It is nil when ctx ends.
func openSoon(ctx context.Context, url string) (world.World, error) {
	for {
		w, err := stepwell.Open(ctx, url)
		if err != nil && ctx.Err() != nil {
			return nil, nil
		}
		if err == nil || !errors.Is(err, world.ErrStorage) {
			return w, err
		}
		if dawdle(ctx, 50) != nil {
			return nil, nil
		}
	}
}

// keys are those of a text; nil: none.
func keys(text string) (*keyring.Ring, error) {
	if text == "" {
		return nil, nil
	}
	return keyring.Parse(text)
}

// front serves the database to remote workers until ctx ends. It has no key: what it passes on it cannot read.
func (o *orders) front(ctx context.Context) (err error) {
	w, err := stepwell.Open(ctx, o.URL)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	app, err := stepwell.New(w, stepwell.Config{Name: o.Name})
	if err != nil {
		return err
	}
	s, err := server.New(app, server.Options{})
	if err != nil {
		return err
	}
	l, err := s.Listen(ctx, o.Serve)
	if err != nil {
		return err
	}
	return s.Serve(ctx, l, server.Serving{SweepInterval: -1})
}
