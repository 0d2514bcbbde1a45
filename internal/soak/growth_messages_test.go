//go:build unix

package soak

// This file is what messages are in the proof that a process does not grow: queues that are handled and received from,
// and a topic with a subscription of each kind.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/queue"
	"github.com/stepwell/stepwell/topic"
)

// sack is what is sent and published.
type sack struct {
	N int64 `json:"n"`
}

// carrier sends and publishes on a world, and counts what became of it.
type carrier struct {
	app   *stepwell.App
	grain *queue.Queue[sack] // its handlers succeed, succeed at the second time, or never
	chaff *queue.Queue[sack] // it is received from
	flour *topic.Topic[sack]
	ears  *stepwell.Workflow[sack, bool]

	sent, handled, dead, booked, shipped, posted atomic.Int64
	posts                                        bool // there is a server, which posts
}

// endpoint is one that counts what it gets for a carrier.
func (c *carrier) endpoint(t *testing.T) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if c.posted.Add(1)%5 == 0 { // it is posted again
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// definitions are what an App has of it.
func (c *carrier) definitions(t *testing.T) []stepwell.Definition {
	c.grain, c.chaff, c.flour = queue.Define[sack]("grain", queue.MaxReceives(2)), queue.Define[sack]("chaff"), topic.Of[sack]("flour.ground")
	heard := stepwell.Event[sack]("flour.*")
	book := queue.Define[sack]("book")
	ship := stepwell.Define("ship", func(ctx stepwell.Context, s sack) (bool, error) {
		return stepwell.Step(ctx, "count", func(context.Context) (bool, error) { c.shipped.Add(1); return true, nil })
	})
	c.ears = stepwell.Define("ears", func(ctx stepwell.Context, s sack) (bool, error) {
		_, ok, err := heard.Wait(ctx, stepwell.Match{"n": s.N}, stepwell.Since(time.Minute), stepwell.Timeout(time.Minute))
		return ok, err
	})
	all := []stepwell.Definition{
		ship, c.ears,
		c.grain.Handle(func(_ context.Context, m *queue.Message[sack]) error {
			switch {
			case m.Payload.N%3 == 0 || m.Payload.N%3 == 1 && m.Receives == 2:
				c.handled.Add(1)
				return nil
			case m.Receives == 2:
				c.dead.Add(1)
			}
			return errors.New("not now")
		}, queue.Retry(stepwell.Retry{Base: time.Millisecond, Cap: time.Millisecond})),
		book.Handle(func(context.Context, *queue.Message[sack]) error { c.booked.Add(1); return nil }),
		topic.ToQueue("book", "flour.#", book), topic.ToWorkflow("ship", "flour.ground", ship),
	}
	if c.posts {
		all = append(all, topic.ToEndpoint("post", "flour.*", c.endpoint(t), topic.AllowPrivate()))
	}
	return all
}

// stand waits until the subscriptions stand: what is published before goes to nobody.
func (c *carrier) stand(t *testing.T) {
	want := 2
	if c.posts {
		want = 3
	}
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for end := time.Now().Add(time.Minute); ; <-poll.C {
		switch all, err := topic.Subscriptions(t.Context(), c.app); {
		case err == nil && len(all) == want:
			return
		case time.Now().After(end):
			t.Fatalf("after a minute %d subscriptions stand, want %d (%v)", len(all), want, err)
		}
	}
}

// carry sends one message to each queue, receives, publishes, and waits for who heard of it.
func (c *carrier) carry(ctx context.Context) error {
	n := sack{c.sent.Add(1)}
	if _, err := c.grain.Send(ctx, c.app, n); err != nil {
		return fmt.Errorf("send: %w", err)
	}
	if _, err := c.chaff.Send(ctx, c.app, n); err != nil {
		return fmt.Errorf("send: %w", err)
	}
	got, err := c.chaff.Receive(ctx, c.app, queue.Wait(time.Second))
	for _, m := range got {
		switch {
		case m.Payload.N%3 == 0 && m.Receives == 1:
			err = errors.Join(err, m.Extend(ctx, time.Minute), m.Nack(ctx, 0, "again"))
		case m.Payload.N%3 == 1:
			err = errors.Join(err, m.Bury(ctx, "no good"))
		default:
			err = errors.Join(err, m.Ack(ctx))
		}
	}
	if err != nil {
		return fmt.Errorf("receive: %w", err)
	}
	run, err := c.ears.Start(ctx, c.app, n)
	if err == nil {
		_, err = c.flour.Publish(ctx, c.app, n)
	}
	if err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	if ok, err := run.Result(ctx); err != nil || !ok {
		return fmt.Errorf("what was published was not heard of: %v, %w", ok, err)
	}
	return nil
}

// rest waits until all that was sent has arrived.
func (c *carrier) rest(t *testing.T) {
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for end := time.Now().Add(time.Minute); ; <-poll.C {
		n := c.sent.Load()
		if c.handled.Load() >= n-(n+1)/3 && c.dead.Load() >= (n+1)/3 && c.booked.Load() >= n && c.shipped.Load() >= n && (!c.posts || c.posted.Load() >= n) {
			return
		}
		if time.Now().After(end) {
			t.Errorf("of %d that were sent %d were handled and %d never; of as many that were published %d were booked, %d shipped and %d posted",
				n, c.handled.Load(), c.dead.Load(), c.booked.Load(), c.shipped.Load(), c.posted.Load())
			return
		}
	}
}

// quiet is for handlers that fail on purpose.
var quiet = slog.New(slog.DiscardHandler)
